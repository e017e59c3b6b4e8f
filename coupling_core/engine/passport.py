"""What a model itself computed, in a few numbers that travel with each result.

A result of last year rests on what its model gave last year. Its passport has a hash and a sketch
of the final states and of the logits, so that the forward pass of today can be held against that
one: the hash tells whether they agree to the last bit, the sketch how far they are apart.

The sketch of x adds up its entries in `SUMS` groups, each entry with a sign of its own; groups and
signs are drawn once for all. It is linear in x, and the expected square of the sketch's norm is
that of x (a count sketch: Charikar, Chen and Farach-Colton, 2002), so that the norm of the
difference of two sketches estimates that of x - x', with a standard deviation of an eighth.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.errors import InputError

SUMS = 32

ROUNDING = 2e-5
"""Up to this part of its norm, what a model gives is the same but for rounding: about ten times
what other threads, processors, products and implementations of attention were seen to change."""

_SEED = 0
_AT_ONCE = 2**20


@dataclass(frozen=True)
class Sketch:
    """A few numbers of an array.

    Args:
        digest: sha256 of its shape and its float32 entries.
        norm: its Euclidean norm.
        sums: of its entries with their signs, by groups.
    """

    digest: str
    norm: float
    sums: tuple[float, ...]


@dataclass(frozen=True)
class Passport:
    """What a model gave, and by what it was computed besides what the provenance says.

    Args:
        states: of the last block's output at all tokens (token d).
        logits: those of the last token, or of the classes of an image; None without a head.
        attention: implementation of attention, by its name in transformers; "" where it has none.
        experts: that of experts; "" where it has none.
        instructions: the processor's vectors that torch computes with, such as AVX2.
        products: the library that multiplied large matrices.
    """

    states: Sketch
    logits: Sketch | None
    attention: str
    experts: str
    instructions: str
    products: str


def sketch(array: Float[np.ndarray, "..."]) -> Sketch:
    """Sketch an array; entries that are not finite count in its digest alone."""
    exact = np.ascontiguousarray(array, "<f4")
    digest = hashlib.sha256(repr(exact.shape).encode() + exact.tobytes()).hexdigest()
    entries = np.nan_to_num(exact.ravel().astype(np.float64), posinf=0.0, neginf=0.0)
    bits, sums = np.random.PCG64(_SEED), np.zeros(SUMS)  # whose stream NumPy promises to keep
    for start in range(0, len(entries), _AT_ONCE):
        part = entries[start : start + _AT_ONCE]
        drawn = bits.random_raw(len(part))
        signed = np.where(drawn >> np.uint64(63), part, -part)
        groups = (drawn & np.uint64(SUMS - 1)).astype(np.intp)
        sums += np.bincount(groups, signed, SUMS)
    return Sketch(digest, float(np.linalg.norm(entries)), tuple(sums.tolist()))


def change(before: Passport, now: Passport) -> float:
    """How far apart what two passports sketch is: the larger of states and logits.

    Relative to the norm that it had before; 0 where both agree to the last bit.
    """
    pairs = [(before.states, now.states)]
    if before.logits and now.logits:
        pairs.append((before.logits, now.logits))
    return max(_apart(*pair) for pair in pairs)


def is_same(before: Passport, now: Passport) -> bool:
    """Whether states and logits agree to the last bit."""
    digests = [
        (each.states.digest, each.logits.digest if each.logits else "") for each in (before, now)
    ]
    return digests[0] == digests[1]


def plain(passport: Passport) -> dict[str, Any]:
    """A passport as it comes back from a file: JSON has lists and no tuples."""
    return json.loads(json.dumps(asdict(passport)))


def passport_of(provenance: Mapping[str, Any]) -> Passport | None:
    """The passport of a result; None of one that was made before there were any."""
    found = provenance.get("passport")
    if found is None:
        return None
    from pydantic import TypeAdapter  # takes a while, for a list of results

    try:
        passport = TypeAdapter(Passport).validate_python(found)
        for part in filter(None, (passport.states, passport.logits)):
            if len(part.sums) != SUMS or not all(map(math.isfinite, (part.norm, *part.sums))):
                raise ValueError
    except ValueError as error:
        raise InputError(
            f"its passport is damaged: expected sketches of {SUMS} finite sums and a norm"
        ) from error
    return passport


def _apart(before: Sketch, now: Sketch) -> float:
    if before.digest == now.digest:
        return 0.0
    difference = float(np.linalg.norm(np.subtract(now.sums, before.sums)))
    return difference / before.norm if before.norm else float("inf")
