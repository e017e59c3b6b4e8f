"""How spectra are looked at from Python: their numbers by name, their figure, a sentence."""

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from coupling_core.analysis.exports.forms import numbered
from coupling_core.analysis.spectra import effective_rank, spectrum_numbers
from coupling_core.base.drawing import Drawing, Maker, drawn_with, known_figure
from coupling_core.base.records import AnyView
from coupling_core.base.results import SpectrumResult
from coupling_core.kinds.spectrum.export import arrays, axes

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray

FigureName = Literal["eigenvalues", "maps", "products"]
"""The figures of `coupling spectrum`."""


def dataset(result: SpectrumResult, view: AnyView) -> "xarray.Dataset":
    """Its numbers over their named dimensions: those of `export.arrays`."""
    import xarray

    named, dims = arrays(result, view), axes(result)
    found = {
        name: (dims[name], values)
        for name, values in named.items()
        if name not in ("tokens", "token_ids", "blocks")
    }
    along = {
        **dict.fromkeys(("block", "first", "last"), named["blocks"]),
        "part": np.array(["real", "imaginary"]),
        "token": np.arange(1, len(result.tokens) + 1),
        "text": ("token", named["tokens"]),
        "token_id": ("token", result.token_ids),
    }
    return numbered(xarray.Dataset(found, coords=along, attrs=result.attributes()))


def maker(result: SpectrumResult, figure: FigureName) -> Maker:
    """What draws the figure of that name."""
    from coupling_core import figures

    match figure:
        case "eigenvalues":
            return partial(figures.eigenvalues, result)
        case "maps":
            return partial(figures.linear_maps, result)
        case "products":
            return partial(figures.products_over_depth, result)


def draw(result: SpectrumResult, figure: FigureName) -> "go.Figure":
    """The figure of that name."""
    return maker(result, figure)()


def plot(
    result: SpectrumResult, view: AnyView, figure: str = "eigenvalues", **options: Any
) -> Drawing:
    """The figure of that name; the eigenvalues of all blocks in the plane where none is named.

    Raises:
        InputError: where there is no such figure, or it has no such option.
    """
    from coupling_core.figures import render

    make = maker(result, known_figure(figure, get_args(FigureName)))
    drawn = drawn_with(make, figure, options)
    return Drawing(drawn, partial(render, drawn, result=result, view=view))


def verdict(result: SpectrumResult, view: AnyView) -> str:
    """How far the blocks are from normal, and how few directions are left at the end."""
    from coupling_core.figures import words

    found = spectrum_numbers(result)
    if not result.complete:
        return f"Not all is measured yet. {words.provenance(result, view)}"
    left, shuffled = found.effective_rank[-1], np.median(effective_rank(result.shuffled_values))
    return (
        f"The maps of the blocks depart from normal ones by {np.median(found.departure):.2f} in "
        f"the median (0 is normal, 1 the most there can be). All blocks together let about "
        f"{left:.1f} of the {result.width} directions of the state at token {result.token} through "
        f"(the effective rank of the product), and {shuffled:.1f} with the blocks in random order. "
        f"{words.provenance(result, view)}"
    )
