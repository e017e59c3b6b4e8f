"""How long a measurement takes, estimated before it runs, also of a model never measured before.

    seconds = sum_i c_i F_i / rate_i  +  sum_j c_j N_j

F are the operations of a measurement's parts, by formulas of the model's shape; N is how often
things are done at all; rate is what a large matrix product reaches on this machine, by the library
that does most of a part's products. The c were fitted by non-negative least squares to measured
times, for each sort of measurement apart (`coupling bench cost`, which also says how far off they
are). They are those of a CPU.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_K, Request
from coupling_core.engine.matrix_products import product
from coupling_core.engine.pairs.square import CHANCE_FRAMES
from coupling_core.engine.pairs.svd import DENSE_FRACTION
from coupling_core.measuring.forecast import Probe

FITTED = Path(__file__).with_name("cost.json")
"""The coefficients, by sort of measurement and part."""

COUNTED = ("measurement", "block", "step", "jacobian", "row")
"""Parts that are counted: they run no faster where products do."""

CHOSEN = ("attention", "gram", "frames", "pairs", "replays", "tails")
"""Parts whose products go to the faster of two libraries (see `engine.matrix_products`); the others
go to torch's own, or wait for memory, which is no faster where that other library is."""

ASSUMED = {"float64": 1.0}
"""Coefficients of parts that are not fitted: what is done only where rounding asks for it, which no
shape tells, and hardly ever with random weights."""

PRODUCT = 1024
"""Side of the matrices by whose product a machine's rate is told."""
TRIES = 5
LOOK = 60.0
"""Seconds between two looks at a machine's rate at least."""


class Rates(NamedTuple):
    """Floating-point operations a second of a large float32 product on a machine's CPU.

    Args:
        own: by torch's own library.
        chosen: by the faster one of two.
    """

    own: float
    chosen: float


_seen: list[Rates] = []


def predict_seconds(request: Request, found: Probe, tokens: int, rates: Rates) -> float | None:
    """Seconds of computing, the model's load apart; None for a sort that was not fitted.

    The model's `rates` are those of the machine, as `product_rates` gives them.
    """
    fitted = coefficients().get(request.sort)
    if fitted is None:
        return None
    known = fitted | ASSUMED
    return sum(
        known[name] * taken
        for name, taken in at_rates(parts(request, found, tokens), rates).items()
    )


def operations(request: Request, found: Probe, tokens: int) -> float:
    """Operations in all, by which measurements of a sort that was not fitted compare."""
    found_parts = parts(request, found, tokens).items()
    return sum(amount for name, amount in found_parts if name not in COUNTED)


def at_rates(amounts: dict[str, float], rates: Rates) -> dict[str, float]:
    """Seconds of each part's operations at a machine's rates; what is counted stays as it is."""
    return {
        name: amount
        if name in COUNTED
        else amount / (rates.chosen if name in CHOSEN else rates.own)
        for name, amount in amounts.items()
    }


def shorter(
    request: Request, found: Probe, tokens: int, rates: Rates, longest: float
) -> tuple[dict[str, int], int]:
    """What would take no longer than so many seconds: a change of the request, or of its prompt.

    Returns:
        the change, empty where it does not help; and how many tokens of the prompt would do, 0
        where that does not help either.
    """

    def fits(asked: Request, n: int) -> bool:
        seconds = predict_seconds(asked, found, n, rates)
        return seconds is not None and seconds <= longest

    if request.k_max > DEFAULT_K and fits(replace(request, k=DEFAULT_K), tokens):
        return {"k": DEFAULT_K}, 0
    return {}, max((n for n in range(1, tokens) if fits(request, n)), default=0)


@cache
def coefficients() -> dict[str, dict[str, float]]:
    """Those that were fitted."""
    return json.loads(FITTED.read_text())["coefficients"]


def product_rates(clock: Callable[[], float] = time.perf_counter) -> Rates:
    """Those of this machine, with as many threads as torch has now."""
    a = torch.randn(PRODUCT, PRODUCT, generator=torch.Generator().manual_seed(0))

    def rate(multiply: Callable[[Tensor, Tensor], Tensor]) -> float:
        took = []
        for _ in range(1 + TRIES):
            start = clock()
            multiply(a, a)
            took.append(clock() - start)
        return 2 * PRODUCT**3 / min(took[1:])

    return Rates(rate(torch.matmul), rate(product))


def machine_rates() -> Rates:
    """The same, the best that were seen: other programs can only make them less.

    They are looked at once a minute at most.
    """
    return best(_rates(int(time.monotonic() // LOOK)))


def best(seen: Iterable[Rates]) -> Rates:
    """The best of each library."""
    return Rates(*map(max, zip(*seen, strict=True)))


@lru_cache(maxsize=1)
def _rates(minute: int) -> list[Rates]:
    _seen.append(product_rates())
    return _seen


def parts(request: Request, found: Probe, tokens: int) -> dict[str, float]:
    """What a measurement consists of: operations of each part, and how often things are done."""
    of_all = {"measurement": 1.0, "block": float(found.blocks or 0)}
    of_all |= {"forward": 2.0 * tokens * found.parameters}
    return of_all | kind_of(request.kind).part("cost").operations(request, found, tokens)


def runs_of_a_token(request: Request, found: Probe, tokens: int) -> int:
    """Tokens over which a block runs for the sake of one: between tokens that read both ways, all.

    A token's own row is run alone, also where it reads both ways (see `engine.jacobians.one_row`).
    """
    return tokens if found.causal is False and is_between(request) else 1


def is_between(request: Request) -> bool:
    """Whether Jacobians join a token with others."""
    return kind_of(request.kind).token == "fixed"


def jacobians(
    request: Request, found: Probe, n: int, differentiated: int, count: int, pairs: int, rows: int
) -> dict[str, float]:
    """What Jacobians take: their making, their decompositions, and their pairs.

    Args:
        request: what is to be measured.
        found: what its model is.
        n: length of the prompt.
        differentiated: replays of a block that are differentiated.
        count: Jacobians that are decomposed.
        pairs: products of a Jacobian with a basis, in both roles.
        rows: Jacobians that are multiplied with bases.
    """
    d, again = found.width or 0, runs_of_a_token(request, found, n)
    k = min(request.k_max, d)
    is_dense = (min(k + 1, d)) * DENSE_FRACTION > d
    product = 2.0 * (d * d * k + d * k * k)
    return {
        "gradients": 2.0 * d * found.block_parameters * differentiated * again,
        "attention": 2.0 * d * d * n * differentiated,
        "context": 2.0 * d * d * (found.heads or 1) * count,
        "gram": 2.0 * d**3 * count,
        "arpack": 0.0 if is_dense else 2.0 * d * d * k * count,
        "svd": 2.0 * d**3 * count if is_dense else 0.0,
        "frames": CHANCE_FRAMES * product * count,
        "pairs": 2.0 * product * pairs,
        "entries": float(k * k * pairs),
        "angles": float(k**3 * pairs),
        "jacobian": float(count),
        "row": float(rows),
    }


def jacobians_alone(request: Request, found: Probe, n: int) -> dict[str, float]:
    """The same of a Jacobian of each block, none of which is compared with another."""
    n_blocks = found.blocks or 0
    taken = jacobians(request, found, n, n_blocks, n_blocks, 0, 0)
    compared = ("frames", "pairs", "entries", "angles", "row")
    return {name: value for name, value in taken.items() if name not in compared}
