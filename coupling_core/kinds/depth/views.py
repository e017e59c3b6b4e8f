"""How a depth-wise result is looked at from Python: scores, their figure, a sentence."""

from functools import partial
from typing import TYPE_CHECKING

from coupling_core.analysis.scores import score_pairs
from coupling_core.base.drawing import Drawing
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Scores

if TYPE_CHECKING:
    import xarray


def scores(result: DepthResult, view: View) -> Scores:
    """The scores of all pairs of the viewed blocks.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return score_pairs(result, view)


def dataset(result: DepthResult, view: View) -> "xarray.Dataset":
    """The same over their named dimensions."""
    return score_pairs(result, view).to_xarray()


def plot(result: DepthResult, view: View, *, corrected: bool = True) -> Drawing:
    """The map of scores of the page Depth."""
    from coupling_core import figures

    figure = figures.scores(result, view, corrected=corrected)
    return Drawing(figure, partial(figures.render, figure, result=result, view=view))


def verdict(result: DepthResult, view: View) -> str:
    """The means over pairs of blocks, and how far they were checked."""
    from coupling_core.figures import words

    return f"{words.mean_words(score_pairs(result, view))} {words.provenance(result, view)}"
