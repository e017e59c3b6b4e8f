"""How a comparison of tokens is looked at from Python: scores, their figure, a sentence."""

from functools import partial
from typing import TYPE_CHECKING

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.drawing import Drawing
from coupling_core.base.records import View
from coupling_core.base.results import PositionScores, TokenMeansResult, TokensResult

if TYPE_CHECKING:
    import xarray

Compared = TokensResult | TokenMeansResult


def scores(result: Compared, view: View) -> PositionScores:
    """The scores of all pairs of tokens.

    Raises:
        InputError: where K is not in the result.
    """
    return score_positions(result, view)


def dataset(result: Compared, view: View) -> "xarray.Dataset":
    """The same over their named dimensions."""
    return score_positions(result, view).to_xarray()


def plot(result: Compared, view: View, *, corrected: bool = True) -> Drawing:
    """The map of scores of the page Tokens."""
    from coupling_core.figures import render, tokens

    figure = tokens.grid(result, view, corrected=corrected)
    return Drawing(figure, partial(render, figure, result=result, view=view))


def verdict(result: Compared, view: View) -> str:
    """The mean over pairs of tokens, and how far it was checked."""
    from coupling_core.figures.tokens import words
    from coupling_core.figures.words import provenance

    return f"{words.mean_words(score_positions(result, view))} {provenance(result, view)}"
