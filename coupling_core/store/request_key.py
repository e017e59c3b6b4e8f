"""The name of a result: a hash of what determines it, and how much of it was measured.

    <32 hexadecimal digits>-k<Kmax asked for>-v<side of the stored matrices>

Results that differ only in how much was measured share the hash, so that a larger one, which
answers a smaller request too, is found by its name.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from coupling_core.base.errors import InputError, reason
from coupling_core.base.records import SCHEMA, Request
from coupling_core.sources.identity_form import lacked

_KEY = re.compile(r"([0-9a-f]{32})-k([1-9]\d{0,99})-v([1-9]\d{0,99})")
_SIZES = ("k", "k_view")
# The identity stands for these: a path, an alias and a hub id may lead to the same weights.
_WAYS_TO_A_MODEL = ("model", "revision")
_DISPLAYED = ("name",)

UNSAID: Mapping[str, Any] = {
    "token": -1,
    "final_norm": "include",
    "untrained": None,
    "dtype": "float32",
    "quantize": None,
    "stack": None,
    "kind": "depth",
    "block": None,
    "other_block": None,
}
"""What a key means by a field that it leaves out, and a stored request by one that it does not
have: what there was before the field. It stays, whatever the field's default becomes."""


@dataclass(frozen=True)
class Key:
    """A key in its parts.

    Args:
        digest: hash of the request without its sizes, the model's identity and the schema.
        k_max: singular triplets asked for; a narrow model holds fewer.
        k_view: side of the stored corner of each matrix.
    """

    digest: str
    k_max: int
    k_view: int

    def __str__(self) -> str:
        return f"{self.digest}-k{self.k_max}-v{self.k_view}"

    def answers(self, request: Request) -> bool:
        """Whether a result of this size holds all that a request with the same digest asks for."""
        return self.k_max >= request.k_max and self.k_view >= (request.k_view or 1)


def make_key(request: Request, identity: Mapping[str, Any]) -> Key:
    """Name the result of a request to a model."""
    # Every field counts. What a result of before would not have said is left out, so that a field
    # that is added renames nothing, and a default that changes answers no other question.
    values = {item.name: getattr(request, item.name) for item in fields(request)}
    asked = {
        name: value
        for name, value in values.items()
        if name not in _SIZES + _WAYS_TO_A_MODEL and not (name in UNSAID and UNSAID[name] == value)
    }
    who = {name: value for name, value in identity.items() if name not in _DISPLAYED}
    text = _canonical_json({"schema": SCHEMA, "request": asked, "identity": who})
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return Key(digest, request.k_max, request.corner)


def is_key_of(text: str, request: Request, identity: Mapping[str, Any]) -> bool:
    """Whether a stored result of this request may have this key.

    Where nobody said how large a corner to keep, earlier versions kept none larger than the K that
    was asked for: what they stored stays good.
    """
    made = make_key(request, identity)
    if request.k is None or request.k_view is not None:
        return text == str(made)
    former = replace(made, k_view=min(made.k_view, request.k))
    return text in (str(made), str(former))


def outdated(request: Request, identity: Mapping[str, Any]) -> str:
    """Why a stored result answers no request any more; "" where it does."""
    what = "" if identity.get("form") else lacked(request, str(identity.get("kind")))
    return what and f"its key does not tell {what}: measure it again"


def parse_key(text: str) -> Key | None:
    """Take a key apart; None where the text is no key."""
    match = _KEY.fullmatch(text)
    return Key(match[1], int(match[2]), int(match[3])) if match else None


def _canonical_json(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (RecursionError, TypeError, ValueError) as error:
        raise InputError(
            f"this request has no key, for it is not JSON ({reason(error)}): expected text, "
            "integers, finite numbers, lists and mappings"
        ) from error
