"""Noise on the first state: how alike the states stay, by size and by depth, and the radius."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.perturbation import (
    OFF,
    TENTH,
    Spread,
    nearest_size,
    perturbation_radius,
    spread,
)
from coupling_core.base.curves import Curves
from coupling_core.base.results import PerturbationResult
from coupling_core.base.results.perturbation import WAYS
from coupling_core.figures import style
from coupling_core.figures.curves import COLORS, Series, curves, lines

_TINTS = ("rgba(228, 87, 46, 0.18)", "rgba(42, 157, 143, 0.18)", style.BAND)
_NAMES = {
    "isotropic": "isotropic",
    "leading": "along what block 1 reads most",
    "random": "along random directions",
}
BY_SIZE = Curves(
    x="Size of the noise",
    y="Cosine with the undisturbed state",
    caption="Noise is added to the embedding of the measured token, in units of its norm. 1 is the "
    "undisturbed state. Bands: 95\u00a0% of the draws; dashed: the product of the linear blocks.",
    at="size ",
    hover=".4g",
    height=420,
)
BY_DEPTH = Curves(
    x="Behind block l",
    y="Distance, relative",
    caption="The norm of the change in units of the state's own norm; state 0 is the embedding. "
    "Bands: 95\u00a0% of the draws; dashed: the product of the linear blocks. Random directions "
    "are drawn four times, as many as there are leading ones.",
    log=True,
    at="block ",
    hover=".4g",
    height=420,
)
RADIUS = Curves(
    x="Behind block l",
    y="Size of the noise",
    caption=f"Size of noise at which half of the draws are off by {100 * OFF:.0f}\u00a0% of the "
    "true change: below it the Jacobians predict the effect of noise on the embedding behind "
    "block l, above it they do not. A block without a point lies beyond the sizes measured.",
    zero=True,
    at="block ",
    hover=".4g",
    height=380,
)


def noise_by_size(
    result: PerturbationResult, *, twin: PerturbationResult | None = None
) -> go.Figure:
    """How alike the disturbed state is to the model's own, by size: the preprint's Figure 34."""
    x, ends = result.noise_sizes, {"block 1": 1, f"block {result.n_blocks}": result.n_blocks}
    own, linear = spread(result.cosine[0]), spread(result.linear_cosine[0])
    series = []
    for color, (name, at) in enumerate(ends.items()):
        series += _both(x, own, linear, name, color, at)
    if twin is not None:
        of_twin = spread(twin.cosine[0]).median
        untrained = lines(twin.noise_sizes, {name: of_twin[:, at] for name, at in ends.items()})
        series += [one.untrained for one in untrained]
    return curves(series, BY_SIZE, result.subject, xaxis=style.log_axis(x))


def noise_by_depth(
    result: PerturbationResult, *, size: float = TENTH, twin: PerturbationResult | None = None
) -> go.Figure:
    """How far the states are from the model's own behind each block, at the nearest size."""
    states, series, at = np.arange(result.n_blocks + 1), [], nearest_size(result, size)
    for way, name in enumerate(WAYS):
        own, linear = spread(result.distance[way, at]), spread(result.linear_distance[way, at])
        series += _both(states, own, linear, _NAMES[name], way)
    if twin is not None:
        beside = spread(twin.distance[0, at]).median
        series.append(Series("isotropic", states, beside, style.ACCENT).untrained)
    noise = f"noise of {result.noise_sizes[at]:g} of the embedding"
    return curves(series, BY_DEPTH, f"{noise}, {result.subject}")


def noise_radius(
    result: PerturbationResult, *, twin: PerturbationResult | None = None
) -> go.Figure:
    """Up to which size of noise the product of the linear blocks predicts what happens."""
    states = np.arange(1, result.n_blocks + 1)
    named = dict(zip(_NAMES.values(), _radii(result), strict=True))
    series = lines(states, named, marks=6)
    if twin is not None:
        series.append(Series("isotropic", states, _radii(twin)[0], style.ACCENT).untrained)
    return curves(series, RADIUS, result.subject)


def _radii(result: PerturbationResult) -> Float[np.ndarray, "way block"]:
    """Radii behind the blocks, as far as they are numbers within the sizes measured."""
    found = perturbation_radius(result)[:, 1:]
    return np.where(np.isfinite(found) & (found > 0), found, np.nan)


def _both(
    x: np.ndarray, own: Spread, linear: Spread, name: str, color: int, at: Any = slice(None)
) -> list[Series]:
    """Median and band of the draws, and what first order says; of one state, or of all."""
    band = own.low[..., at], own.high[..., at]
    drawn = Series(name, x, own.median[..., at], COLORS[color], band=band, tint=_TINTS[color])
    first = linear.median[..., at]
    return [drawn, Series(f"{name}, first order", x, first, COLORS[color], dash="dash")]
