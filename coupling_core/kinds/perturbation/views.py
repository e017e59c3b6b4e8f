"""How noise is looked at from Python: its numbers by name, its figures, a sentence."""

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from coupling_core.analysis.exports.forms import numbered
from coupling_core.analysis.perturbation import nearest_size, perturbation_radius, spread
from coupling_core.base.drawing import Drawing, Maker, drawn_with, known_figure
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult
from coupling_core.base.results.perturbation import WAYS
from coupling_core.base.units import counted
from coupling_core.kinds.perturbation.export import arrays, axes

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray

FigureName = Literal["cosine", "depth", "radius"]
"""The figures of `coupling perturbation`."""
TENTH = 0.1
"""The size at which noise is drawn over depth where nobody says one."""


def dataset(result: PerturbationResult, view: AnyView) -> "xarray.Dataset":
    """Its numbers over their named dimensions: those of `export.arrays`."""
    import xarray

    named, dims = arrays(result, view), axes(result)
    left_out = ("tokens", "token_ids", "noise_sizes", "ways")
    found = {name: (dims[name], values) for name, values in named.items() if name not in left_out}
    along = {
        "way": list(WAYS),
        "size": result.noise_sizes,
        "state": np.arange(result.n_blocks + 1),
        "token": np.arange(1, len(result.tokens) + 1),
        "text": ("token", named["tokens"]),
        "token_id": ("token", result.token_ids),
    }
    return numbered(xarray.Dataset(found, coords=along, attrs=result.attributes()))


def maker(result: PerturbationResult, figure: FigureName, size: float = TENTH) -> Maker:
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
    return maker(result, figure, size)()


def plot(
    result: PerturbationResult, view: AnyView, figure: str = "cosine", **options: Any
) -> Drawing:
    """The figure of that name; cosines by size, the preprint's Figure 34, where none is named.

    Raises:
        InputError: where there is no such figure, or it has no such option.
    """
    from coupling_core.figures import render

    make = maker(result, known_figure(figure, get_args(FigureName)))
    drawn = drawn_with(make, figure, options)
    return Drawing(drawn, partial(render, drawn, result=result, view=view))


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
