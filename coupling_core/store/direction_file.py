"""One direction as a safetensors file that says whose it is, for other programs and other prompts.

The file has one tensor, `direction` (d), of length 1 in float32. Its metadata, texts as safetensors
has them, say in `about` (JSON) all that somebody needs to use it: model and identity, block, site,
token, gauge, norm, operation, and how far it was checked.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load, save

from coupling_core.analysis.directions import gaps, tied
from coupling_core.base.errors import InputError, reason
from coupling_core.base.reading import read_bytes
from coupling_core.base.records import resolve_block
from coupling_core.base.results import DirectionsResult
from coupling_core.base.writing import write_whole, writing

FORMAT = "coupling-direction-1"
GAUGE = "the largest entry of v is positive, and u has the sign that goes with it"
OPERATION = "x + e * norm(x) * direction"
_MOST = 2**24
"""Bytes of a file: a direction of a million entries, and what is said of it."""
_NEEDED = ("model", "identity", "block", "side", "state", "component", "width")


@dataclass(frozen=True)
class Direction:
    """A direction, and whose it is.

    Args:
        vector: of length 1.
        about: what its file says of it.
    """

    vector: Float[np.ndarray, " d"]
    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Whose direction it is, in a phrase."""
        about = self.about
        return f"{about['side']}_{about['component']} of block {about['block']} of {about['model']}"


def direction_of(result: DirectionsResult, block: int, component: int, side: str) -> Direction:
    """One direction of a result."""
    number = resolve_block(block, result.n_blocks)
    at, rank = number - 1, int(result.rank[number - 1])
    if not 1 <= component <= min(rank, result.count):
        raise InputError(
            f"direction {component} is out of range: block {number} has {min(rank, result.count)}"
        )
    k = component - 1
    certificate = result.certificates[at]
    about = {
        "model": result.model_name,
        "identity": dict(result.identity),
        "untrained": result.request.untrained,
        "block": number,
        "side": side,
        "state": number if side == "u" else number - 1,
        "site": f"residual stream, {'output' if side == 'u' else 'input'} of block {number}",
        "component": component,
        "token": result.token,
        "prompt": result.prompt_text,
        "final_norm": result.final_norm_words,
        "width": result.width,
        "gauge": GAUGE,
        "norm": 1.0,
        "operation": OPERATION,
        "singular_value": float(result.singular_values[at, k]),
        "gap": _number(gaps(result)[at, k]),
        "tied": bool(tied(result)[at, k]),
        "rounding_degrees": float(result.rounding[at, "uv".index(side)]),
        "certificate": vars(certificate),
        "key": result.key,
    }
    return Direction(result.basis(number, side)[:, k].astype(np.float32), about)


def write_direction(direction: Direction, path: Path) -> None:
    """Write a direction, whole or not at all."""
    metadata = {"format": FORMAT, "about": json.dumps(direction.about)}
    with writing(path, "choose a folder that exists and that you may write to"):
        write_whole(path, save({"direction": direction.vector}, metadata))


def read_direction(path: Path) -> Direction:
    """Read a direction."""
    try:
        return _parsed(read_bytes(path, _MOST))
    except (OSError, LookupError, TypeError, ValueError, RecursionError, SafetensorError) as error:
        raise InputError(
            f"{path} holds no direction: expected a safetensors file as `coupling directions "
            f"--export` writes it ({reason(error)})"
        ) from error


def require_fits(direction: Direction, result: DirectionsResult) -> None:
    """Refuse a direction of another model than a result's."""
    if len(direction.vector) != result.width:
        raise InputError(
            f"{direction.name} has {len(direction.vector)} entries, and the states of "
            f"{result.model_name} have {result.width}: import it into its own model"
        )
    named = ("name",)
    who = [
        {key: value for key, value in identity.items() if key not in named}
        for identity in (direction.about["identity"], result.identity)
    ]
    twins = direction.about.get("untrained") != result.request.untrained
    if json.loads(json.dumps(who[0])) != json.loads(json.dumps(who[1])) or twins:
        raise InputError(
            f"{direction.name} is of other weights than {result.model_name}: its axes mean "
            "something else there. Import it into its own model"
        )


def _parsed(data: bytes) -> Direction:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    told = header["__metadata__"]
    if told.get("format") != FORMAT:
        raise ValueError(f"its format is {told.get('format')!r}")
    about = json.loads(told["about"])
    if lacking := [name for name in _NEEDED if name not in about]:
        raise ValueError(f"it does not say its {lacking[0]}")
    vector = load(data)["direction"]
    if vector.dtype != np.float32 or vector.shape != (about["width"],):
        raise ValueError(f"its tensor is {vector.dtype} of shape {vector.shape}")
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not abs(length - 1) < 1e-3:
        raise ValueError(f"its length is {length:.4g}, and not 1")
    if about["side"] not in ("u", "v") or not isinstance(about["block"], int):
        raise ValueError("its side or its block is none")
    if not isinstance(about["identity"], dict):
        raise ValueError("its identity is none")
    return Direction(vector, about)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
