"""How a comparison of tokens is looked at from Python: scores, their figure, a sentence."""

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from coupling_core.analysis.compare import TokenComparison
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.drawing import Drawing, Maker, options_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import View
from coupling_core.base.results import PositionScores, TokenMeansResult, TokensResult
from coupling_core.kinds.plots import drawing, plotted

if TYPE_CHECKING:
    import plotly.graph_objects as go

FigureName = Literal["grid", "mosaic", "distance", "spectrum"]
OF_A_PAIR = ("mosaic", "spectrum")
"""The figures that a mean over all pairs of blocks does not have."""
Compared = TokensResult | TokenMeansResult


def scores(result: Compared, view: View) -> PositionScores:
    """The scores of all pairs of tokens.

    Raises:
        InputError: where K is not in the result.
    """
    return score_positions(result, view)


def maker(result: Compared, view: View, figure: FigureName) -> Maker:
    """What draws the figure of that name.

    Raises:
        InputError: where it is of a pair of blocks, and the result of all pairs.
    """
    from coupling_core import figures

    match figure:
        case "grid":
            return partial(figures.scores, result, view)
        case "distance":
            return partial(figures.distance, result, view)
        case "mosaic" | "spectrum":
            if isinstance(result, TokensResult):
                draw_pair = figures.mosaic if figure == "mosaic" else figures.token_spectrum
                return partial(draw_pair, result, view)
            raise of_a_pair(figure)


def draw(
    result: Compared, view: View, figure: FigureName, *, corrected: bool = True
) -> "go.Figure":
    """The figure of that name, of the raw score where it is of scores and that is wanted.

    Raises:
        InputError: where it is of a pair of blocks, and the result of all pairs.
    """
    make = maker(result, view, figure)
    return make(corrected=corrected) if "corrected" in options_of(make) else make()


def of_a_pair(figure: str) -> InputError:
    """What to say of a figure that the mean over all pairs of blocks does not have."""
    return InputError(
        f"the figure {figure} is of one pair of blocks: choose a block, or draw the grid or the "
        "distance"
    )


def plot(result: Compared, view: View, figure: str = "grid", **options: Any) -> Drawing:
    """The figure of that name; the map of scores of the page Tokens where none is named.

    Raises:
        InputError: where there is no such figure.
    """
    return plotted(result, view, maker, FigureName, figure, options)


def verdict(result: Compared, view: View) -> str:
    """The mean over pairs of tokens, and how far it was checked."""
    from coupling_core.figures.words import provenance

    return f"{score_positions(result, view).verdict} {provenance(result, view)}"


def compared(found: TokenComparison) -> Drawing:
    """The map of the difference of two results."""
    from coupling_core import figures

    return drawing(partial(figures.difference, found), result=found.a, view=found.view)
