"""How spectra are looked at from Python: their figures, a sentence."""

from functools import partial
from typing import Any, Literal

import numpy as np

from coupling_core.analysis.spectra import effective_rank, spectrum_numbers
from coupling_core.base.drawing import Drawing, Maker
from coupling_core.base.records import AnyView
from coupling_core.base.results import SpectrumResult
from coupling_core.kinds.plots import plotted

FigureName = Literal["eigenvalues", "maps", "products"]
"""The figures of `coupling spectrum`."""


def maker(result: SpectrumResult, view: AnyView, figure: FigureName) -> Maker:
    """What draws the figure of that name."""
    from coupling_core import figures

    match figure:
        case "eigenvalues":
            return partial(figures.eigenvalues, result)
        case "maps":
            return partial(figures.linear_maps, result)
        case "products":
            return partial(figures.products_over_depth, result)


def plot(
    result: SpectrumResult, view: AnyView, figure: str = "eigenvalues", **options: Any
) -> Drawing:
    """The figure of that name; the eigenvalues of all blocks in the plane where none is named."""
    return plotted(result, view, maker, FigureName, figure, options)


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
