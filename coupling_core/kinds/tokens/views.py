"""How a comparison of tokens is looked at from Python: scores, their figure, a sentence."""

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.drawing import Figure
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult

Compared = TokensResult | TokenMeansResult


def _of_a_pair(result: Compared | None) -> str:
    """Why the mean over all pairs of blocks has no such figure."""
    why = "is of one pair of blocks: choose a block, or draw the grid or the distance"
    return why * (not isinstance(result, TokensResult))


FIGURES = {
    "grid": Figure("maps.scores"),
    "mosaic": Figure("maps.mosaic", lacks=_of_a_pair),
    "distance": Figure("distances.distance"),
    "spectrum": Figure("spectrum.spectrum", lacks=_of_a_pair),
}


def verdict(result: Compared, view: View) -> str:
    """The mean over pairs of tokens, and how far it was checked."""
    return score_positions(result, view).verdict
