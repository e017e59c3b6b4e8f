"""How noise is looked at from Python: its numbers by name, its figures, a sentence."""

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coupling_core.analysis.perturbation import nearest_size, perturbation_radius, spread
from coupling_core.base.drawing import Drawing, Maker
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult
from coupling_core.base.units import counted
from coupling_core.kinds.perturbation.numbers import TENTH
from coupling_core.kinds.plots import plotted

if TYPE_CHECKING:
    import plotly.graph_objects as go

FigureName = Literal["cosine", "depth", "radius"]
"""The figures of `coupling perturbation`."""


def maker(
    result: PerturbationResult, view: AnyView, figure: FigureName, size: float = TENTH
) -> Maker:
    """What draws the figure of that name; over depth at the size that is nearest."""
    from coupling_core import figures

    match figure:
        case "cosine":
            return partial(figures.noise_by_size, result)
        case "depth":
            return partial(figures.noise_by_depth, result, nearest_size(result, size))
        case "radius":
            return partial(figures.noise_radius, result)


def draw(result: PerturbationResult, figure: FigureName, size: float = TENTH) -> "go.Figure":
    """The figure of that name; over depth at the size that is nearest."""
    return maker(result, AnyView(), figure, size)()


def plot(
    result: PerturbationResult, view: AnyView, figure: str = "cosine", **options: Any
) -> Drawing:
    """The figure of that name; cosines by size, the preprint's Figure 34, where none is named."""
    return plotted(result, view, maker, FigureName, figure, options)


def verdict(result: PerturbationResult, view: AnyView) -> str:
    """How alike the states stay, and up to which size of noise a Jacobian says what happens."""
    from coupling_core.figures import words

    if not result.complete:
        return f"Not all is measured yet. {words.provenance(result, view)}"
    at, last = nearest_size(result, TENTH), result.n_blocks
    cosine = spread(result.cosine[0]).median[at]
    found = perturbation_radius(result)[0, -1]
    return (
        f"Noise of {_percent(result.noise_sizes[at])} of the embedding leaves a cosine of "
        f"{cosine[1]:.4f} behind block 1 and {cosine[last]:.4f} behind the last, in the median of "
        f"{result.cosine.shape[2]} draws. {_told(result, found)} {words.provenance(result, view)}"
    )


def _told(result: PerturbationResult, found: float) -> str:
    if np.isnan(found):
        return "How far the product of the linear blocks is off is hidden by rounding."
    least, most = result.noise_sizes[0], result.noise_sizes[-1]
    size, how = (least, "more") if found == 0 else (min(found, most), "less")
    return (
        f"{'Even at' if found == 0 else 'Up to'} {_percent(size)} the product of the linear blocks "
        f"is off by {how} than 10\u00a0% of the change at the last block."
    )


def radius_words(result: PerturbationResult, found: float) -> str:
    """A radius in words, relative to the embedding."""
    if np.isnan(found):
        return "not known: rounding hides it"
    if found == 0:
        return f"below {_percent(result.noise_sizes[0])} of the embedding"
    if np.isinf(found):
        return f"above {_percent(result.noise_sizes[-1])} of the embedding"
    return f"at {_percent(found)} of the embedding"


def _percent(size: float) -> str:
    return f"{100 * size:.3g}\u00a0%"


def way_words(result: PerturbationResult, way: int) -> str:
    """Where the noise lies, in words."""
    k = result.directions
    return (
        "isotropic noise",
        f"noise along the {counted(k, 'leading direction')} of block 1",
        f"noise along {counted(k, 'random direction')}",
    )[way]
