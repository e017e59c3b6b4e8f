"""Curves of directions: their readouts, one over depth, what blocks share, what steering does."""

from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.directions import (
    DONE,
    HELD,
    Shared,
    counts,
    held,
    track,
    track_chance,
    viewed,
)
from coupling_core.base.curves import Curves
from coupling_core.base.records import DirectionsView, resolve_block
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS
from coupling_core.base.trials import UNITS, Steering
from coupling_core.figures import style
from coupling_core.figures.curves import COLORS, Series, chance, curves, lines

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

LABELS = {
    "writes": "what it writes",
    "reads": "what it reads",
    "reads_embedding": "what it reads, by the embedding",
}
LEAST = 5
"""Directions that the axis reaches at least, so that one or two look as few as they are."""
READOUT_COUNTS = Curves(
    y="Readouts beyond chance, of {k}",
    caption="Of the {k} leading directions of each block, how many have a readout more peaked than "
    "99 of 100 random directions. The top tokens of the others mean nothing.",
    at="l = ",
    hover="g",
)
TRACK = Curves(
    x="Block l (Jacobian)",
    y="Gain",
    caption="How much the Jacobian of each block l moves what block {block} reads along its "
    "direction {k} towards what it writes there: u · J v, with k = {k}. Unrelated directions lie "
    "in the band 95 times of 100. In its own block the gain is the singular value.",
    at="l = ",
    height=340,
)
ELSEWHERE = Curves(
    x="Block",
    y="Part of the direction",
    caption="The length of the projection of direction {k} of block {block} onto the span of each "
    "block's {count} leading directions: 1 lies in it, {chance:.2f} is that of a random direction.",
    y_range=(0, 1.02),
    at="block ",
    hover=".2f",
    height=340,
)
SHARED = Curves(
    x="Shared direction",
    y="Share of the blocks",
    caption="Directions that blocks {first} to {last} {done}, the most shared first. A direction "
    "whose share is 1 lies among the leading {n} of every one of these blocks. Independent "
    "subspaces practically never share a direction above the dotted line.",
    y_range=(0, 1.02),
    at="direction ",
    hover=".2f",
    height=340,
)
STEERING = Curves(
    x="Size e (norms of the state)",
    y="Change ({unit})",
    caption="How far the output moves when a direction is added to {where}, by the size of what is "
    "added. The grey band is the range of {n} random directions: a direction has an effect of its "
    "own only where its curve lies above that band.",
    zero=True,
    hover=".3g",
    height=380,
)


def readouts(
    result: DirectionsResult, view: DirectionsView, *, twin: DirectionsResult | None = None
) -> go.Figure:
    """Readouts of each block that are more peaked than those of random directions."""
    blocks, k = viewed(result, view)
    at = np.array(blocks)
    shown = [n for n, name in enumerate(READOUTS) if name not in result.missing]

    def series(of: DirectionsResult) -> list[Series]:
        found, widths = counts(of, k)[:, at - 1], (3.5, 2, 1.5)
        return [Series(LABELS[READOUTS[n]], at, found[n], COLORS[n], widths[n]) for n in shown]

    drawn, faint = series(result), {"opacity": 0.6, "showlegend": False}
    for one in [] if twin is None else series(twin):
        drawn.append(replace(one.untrained, width=1, more=faint))
    level = chance(at, k / 100, "by chance, on average", width=1)
    most = max(float(one.y.max()) for one in [*drawn, level] if one.y is not None)
    reach = {"range": [0, min(k, max(LEAST, 1.1 * most))]}
    return curves([*drawn, level], READOUT_COUNTS, result.subject, {"k": k}, yaxis=reach)


def direction_track(result: DirectionsResult, block: int, component: int) -> go.Figure:
    """What every block's Jacobian makes of one pair of directions of a block: u_k . J^l v_k."""
    number = resolve_block(block, result.n_blocks)
    values, level = track(result, number, component), track_chance(result)
    x, own = np.arange(1, result.n_blocks + 1), slice(number - 1, number)
    name, itself = f"direction {component}", f"block {number} itself"
    series = [
        Series("by chance", x, None, band=(-level, level), band_name="by chance"),
        Series(name, x, values, style.ACCENT),
        Series(itself, x[own], values[own], style.ACCENT, 0, marks=9, symbol="circle-open"),
    ]
    of = f"along {name} of block {number}, {result.subject}"
    return curves(series, TRACK, of, {"block": number, "k": component})


def direction_elsewhere(result: DirectionsResult, block: int, component: int) -> go.Figure:
    """How much of a block's pair of directions lies in the subspaces of every block."""
    number = resolve_block(block, result.n_blocks)
    named, level = _held(result, number, component)
    x, of = np.arange(1, result.n_blocks + 1), f"direction {component} of block {number}"
    words = {"block": number, "k": component, "count": result.count, "chance": level}
    series = [*lines(x, named), chance(x, level, "a random direction", "dot", 1)]
    return curves(series, ELSEWHERE, f"{of}, {result.subject}", words)


def direction_table(result: DirectionsResult, block: int, component: int) -> "DataFrame":
    """A row a block: the gain along the pair with its chance, and how much of each is held."""
    from pandas import DataFrame

    number = resolve_block(block, result.n_blocks)
    named, level = _held(result, number, component)
    return DataFrame(
        {
            "block": np.arange(1, result.n_blocks + 1),
            "gain": track(result, number, component),
            "gain_by_chance": track_chance(result),
            **{f"{does}_held": values for does, values in named.items()},
            "held_by_chance": level,
        }
    )


def shared_directions(found: Shared) -> go.Figure:
    """The eigenvalues of the blocks' mean projection, beside what independent subspaces give."""
    numbers, level = np.arange(1, len(found.share) + 1), float(found.chance)
    series = Series("shared direction", numbers, found.share, style.ACCENT)
    words = {"first": found.blocks[0], "last": found.blocks[-1], "done": DONE[found.side]}
    return curves(
        [series, chance(numbers, level, "by chance, at most", "dot", 1)],
        SHARED,
        found.result.subject,
        words | {"n": len(numbers)},
        also=f" Beyond chance: {found.count}.",
    )


def steering(found: Steering) -> go.Figure:
    """The change of each direction at each size, beside random directions of the same sizes."""
    order = np.argsort(found.sizes)
    sizes, random = np.array(found.sizes)[order], found.by_chance[:, order]
    n, level = len(random), chance(sizes, np.median(random, 0), "random, median")
    band = (random.min(0), random.max(0))
    series = [replace(level, band=band, band_name=f"{n} random directions")]
    drawn = zip(found.names, found.divergence, cycle(style.CATEGORIES), strict=False)
    series += [Series(name, sizes, y[order], color, marks=6) for name, y, color in drawn]
    words = {"unit": UNITS[found.measured_of], "where": found.where, "n": n}
    return curves(series, STEERING, found.where, words, also=f" {found.verdict}")


def _held(result: DirectionsResult, block: int, k: int) -> tuple[dict[str, np.ndarray], float]:
    """How much of each of the pair every block's subspace holds, and of a random direction."""
    of_pair = {
        name: held(result, result.basis(block, side)[:, k - 1], side) for side, name in HELD.items()
    }
    return of_pair, float(np.sqrt(result.count / result.width))
