"""The form of an identity: models of which what was measured under an earlier one does not count.

Either an earlier identity did not tell enough to name the model, or the model's Jacobians were
wrong then. A mixture of experts lost the gradient of its router's weights; one token alone, over a
cache, was taken for the whole sequence where positions depend on the length, are counted from the
cache, or a window is cut one token shorter by it. Such an identity says that it is a new one, so
that results from before are never found, and are measured again.
"""

from collections.abc import Mapping
from typing import Any

from coupling_core.base.records import Request

FORM = 2
"""Version of the identities of those models of which an earlier version noted too little to tell
them apart. An identity with it meets no key of one without: what was stored then stays readable,
and answers nothing."""

_TYPES = ("m2m_100", "moshi", "fsmt", "cpmant")
_BY_LENGTH = ("longrope", "dynamic", "yarn")


def lacked(request: Request, kind: str) -> str:
    """What the first identities of such a model did not tell; "" where they told all."""
    if kind == "object":
        return "a module's configuration and tokenizer"
    if kind == "folder":
        return "some of the files that a tokenizer is read from"
    if request.dtype != Request.dtype and request.untrained is None:
        return "whether the constants beside the weights were rounded too"
    return ""


def is_corrected(config: Mapping[str, Any]) -> bool:
    """Whether a model of this config was measured wrongly before."""
    if config.get("model_type") in _TYPES or _rope_type(config) in _BY_LENGTH:
        return True
    if any(value and ("expert" in name or "moe" in name) for name, value in config.items()):
        return True
    return any(is_corrected(part) for part in config.values() if isinstance(part, Mapping))


def _rope_type(config: Mapping[str, Any]) -> Any:
    for name in ("rope_parameters", "rope_scaling"):
        if isinstance(rope := config.get(name), Mapping):
            return rope.get("rope_type", rope.get("type"))
    return None
