"""How near the predicted seconds of a measurement are to what it takes.

Models of four families, of many shapes with random weights, are measured in every sort, loaded, on
one thread; some are as large as what an app takes on at most. CPU time is fitted, beside large
products that tell the machine's rates. A quarter of the shapes is held out of the fit, and tells
the errors. The coefficients are written into `coupling_core/measuring/cost.json`.
"""

import json
import random
import time
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks import common
from coupling_core import Request, measure
from coupling_core.base.kinds import kind_of, kinds
from coupling_core.measuring.cost import (
    ASSUMED,
    COUNTED,
    FITTED,
    Rates,
    at_rates,
    best,
    parts,
    product_rates,
)
from coupling_core.measuring.probe import Probe

SHAPES = {"depth": 48, "trajectory": 24}
OTHERS = 20
"""How many shapes a sort has."""
HELD_OUT = 4
"""One shape in so many."""
LARGE = 10
"""How many more are large."""
WIDTHS = (64, 96, 128, 192, 256, 384, 512, 768, 1024)
BLOCKS = (2, 3, 4, 6, 8, 12)
LENGTHS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
KS = (8, 16, 50, 64, 80, 256)
SMALL_WORK, LARGE_WORK = (0.0, 1.5e10), (2e11, 6e12)
"""Operations of a shape, so that all of them take three quarters of an hour."""
QUICK_WIDTHS, QUICK_LENGTHS = (64,), (4, 6)
VOCABULARIES = (1000, 8000, 32000)
"""The first one where no state is turned into logits but the last."""

SORTS: tuple[dict[str, Any], ...] = (
    *({"kind": kind} for kind in kinds()),
    *({"kind": name, "block": 1, "other_block": 2} for name, kind in kinds().items() if kind.means),
)


def shapes(
    sort: dict[str, Any], count: int, work: tuple[float, float], quick: bool
) -> Iterator[tuple[str, Request, Probe]]:
    """Family, request and model of random shapes whose operations are within bounds."""
    chosen = random.Random(str(sort))  # nosec B311  # the same shapes in every run
    least, most = work
    widths, lengths = (QUICK_WIDTHS, QUICK_LENGTHS) if quick else (WIDTHS, LENGTHS)
    while count:
        d, L, n = chosen.choice(widths), chosen.choice(BLOCKS), chosen.choice(lengths)
        ids, family = tuple(range(1, n + 1)), chosen.choice(tuple(FAMILIES))
        k = {"k": min(d, chosen.choice(KS))} if kind_of(sort["kind"]).has_k else {}
        is_fixed = kind_of(sort["kind"]).token == "fixed"
        token = {"token": chosen.choice((1, (n + 1) // 2, n))} if is_fixed else {}
        request = Request(ids, **sort, **k, **token)
        every_logit = sort["kind"] in ("trajectory", "what-if")
        vocabulary = chosen.choice(VOCABULARIES) if every_logit else VOCABULARIES[0]
        block = 12 * d * d
        found = Probe(
            family, family, L * block + 2 * vocabulary * d, "float32", None, max(1, d // 64),
            blocks=L, width=d, block_parameters=block, widest=4 * d, causal=family != "bert",
        )  # fmt: skip
        took = parts(request, found, n)
        if quick or least < sum(t for name, t in took.items() if name not in COUNTED) < most:
            count -= 1
            yield family, request, found


FAMILIES = {
    "llama": ("LlamaForCausalLM", 8 / 3),
    "gpt2": ("GPT2LMHeadModel", 4),
    "neox": ("GPTNeoXForCausalLM", 4),
    "bert": ("BertForMaskedLM", 4),
}
"""Class, and how many times the width its MLP has."""


def built(family: str, d: int, blocks: int, vocabulary: int) -> Any:
    """A model of a family with random weights."""
    name, wide = FAMILIES[family]
    return common.random_model(
        name, hidden_size=d, intermediate_size=int(wide * d), num_hidden_layers=blocks,
        num_attention_heads=max(1, d // 64), vocab_size=vocabulary,
    )  # fmt: skip


def point(family: str, request: Request, found: Probe) -> common.Results:
    """One measurement: its sort and shape, its parts, its seconds, and the rates beside it."""
    outside = found.parameters - found.blocks * found.block_parameters
    model = built(family, found.width, found.blocks, outside // (2 * found.width))
    rates = product_rates(time.process_time)
    _, cpu = common.timed(partial(measure, request, model=model))
    return {
        "sort": request.sort,
        "family": family,
        "blocks": found.blocks,
        "width": found.width,
        "tokens": len(request.prompt),
        "token": request.token,
        "k": request.k_max,
        "parts": parts(request, found, len(request.prompt)),
        "rates": rates,
        "seconds": cpu,
    }


def fit(points: list[common.Results]) -> dict[str, float]:
    """Coefficients of one sort's parts, none negative, for least relative errors."""
    names = [name for name in points[0]["parts"] if name not in ASSUMED]
    rows = np.array([_amounts(one) for one in points])
    seconds = np.array([one["seconds"] for one in points])
    found, _ = nnls(rows / seconds[:, None], np.ones(len(points)))
    return dict(zip(names, found.tolist(), strict=True))


def predicted(one: common.Results, fitted: dict[str, float]) -> float:
    """Seconds of a point by coefficients."""
    return float(np.dot(_amounts(one), list(fitted.values())))


def _amounts(one: common.Results) -> list[float]:
    fitted = {name: size for name, size in one["parts"].items() if name not in ASSUMED}
    return list(at_rates(fitted, Rates(*one["rates"])).values())


def errors(points: list[common.Results], fitted: dict[str, float]) -> common.Results:
    """Relative errors of predictions: their median, and that which nine in ten stay below."""
    off = [abs(predicted(one, fitted) / one["seconds"] - 1) for one in points]
    return {"points": len(off), "median": median(off), "most": float(np.quantile(off, 0.9))}


def collect(quick: bool) -> common.Results:
    """Every sort on one thread; the coefficients are written where they are read."""
    points: list[common.Results] = []
    with common.threads(1):
        measure(Request((1, 2, 3), k=4), model=built("llama", 64, 2, 1000))  # warm-up
        for sort in SORTS:
            count = HELD_OUT if quick else SHAPES.get(sort["kind"], OTHERS)
            points += [point(*shape) for shape in shapes(sort, count, SMALL_WORK, quick)]
            large = 0 if quick else LARGE
            points += [point(*shape) for shape in shapes(sort, large, LARGE_WORK, quick)]
    rates = best(one["rates"] for one in points)  # other programs can only make them less
    points = [one | {"rates": rates} for one in points]
    fits, found = {}, {}
    for name in dict.fromkeys(one["sort"] for one in points):
        of_sort = [one for one in points if one["sort"] == name]
        kept = [one for at, one in enumerate(of_sort) if at % HELD_OUT]
        found[name] = errors(of_sort[::HELD_OUT], fit(kept))
        fits[name] = fit(of_sort)
    if not quick:
        FITTED.write_text(json.dumps({"coefficients": fits}, indent=1) + "\n")
    return {"rates": rates, "errors": found, "points": points}


def summary(results: common.Results) -> common.Rows:
    """How far off the predictions are, sort by sort, for shapes that were not fitted."""
    return [
        (
            f"predicted seconds of a measurement, {name}",
            f"off by {off['median']:.0%} in the median, {off['most']:.0%} at the 90th percentile, "
            f"over {off['points']} shapes held out of the fit (CPU time, one thread)",
        )
        for name, off in results["errors"].items()
    ]
