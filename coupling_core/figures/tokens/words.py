"""Captions and alternative texts of the figures of tokens."""

import numpy as np

from coupling_core.analysis.token_scores import PositionScores, score_positions
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.base.results.scores import MEASURES
from coupling_core.base.units import counted, rounded
from coupling_core.figures import style
from coupling_core.figures.words import leading, subject, zero_words

Compared = TokensResult | TokenMeansResult

_COMPARED = {
    "self": "Token t's Jacobian is from its state to the same token",
    "fixed-input": "Token t's Jacobian is from the fixed input to token t",
    "fixed-output": "Token t's Jacobian is from token t to the fixed output",
}


def grid_alt(
    result: Compared,
    view: View,
    found: PositionScores,
    is_corrected: bool,
    shown: tuple[tuple[int, ...], tuple[int, ...]],
) -> str:
    """What the map of scores shows, with its main numbers."""
    rows, columns = shown
    part = (
        f" Shown are tokens {rows[0]} to {rows[-1]} by {columns[0]} to {columns[-1]}."
        if len(result.tokens) > min(map(len, shown))
        else ""
    )
    return (
        f"Heatmap of the {style.score_name(is_corrected).lower()} ({style.score_terms(view)}) for "
        f"{len(result.tokens)} by {counted(len(result.tokens), 'token')} of {subject(result)}: "
        f"row t is the Jacobian, column t' the basis.{part} "
        f"{found.verdict}{_without(result, found)}"
    )


def _without(result: Compared, found: PositionScores) -> str:
    """What has no score, and why."""
    allowed = result.allowed
    forbidden = int((~(allowed[:, None] & allowed)).sum())
    other = int(np.isnan(found.coupling).sum()) - forbidden
    return f" Hatched: {counted(forbidden, 'cell')} that causality forbids." * (forbidden > 0) + (
        f" Grey: {counted(other, 'cell')} without a value." * (other > 0)
    )


def grid_caption(result: Compared, view: View, found: PositionScores, is_corrected: bool) -> str:
    """How the map is read."""
    zero = zero_words(is_corrected, found.mean().chance)
    mean = (
        " Each cell is the mean over all pairs of blocks; between different tokens a block with "
        "itself counts too, whose weights are the same at each, so that even an untrained network "
        "is above chance there."
        if isinstance(result, TokenMeansResult)
        else ""
    )
    itself = (
        " The diagonal is a Jacobian in its own basis: 1 by construction."
        if isinstance(result, TokensResult) and len(set(result.blocks)) == 1
        else ""
    )
    return (
        f"{_COMPARED[result.request.kind]}. How well the top "
        f"{counted(view.k, 'singular vector')} of token t' "
        f"(column) diagonalise the Jacobian of token t (row): 1 is coupled, {zero}.{mean}{itself}"
    )


def mosaic_alt(
    result: TokensResult, view: View, found: PositionScores, side: int, magnitude: bool
) -> str:
    """What the mosaic shows, with its main number."""
    return (
        f"Mosaic of the matrices {style.matrix_name(view, magnitude)}, {leading(view.k, side)}, "
        f"between the tokens of {subject(result)}: row t is the Jacobian, column t' the basis. "
        f"{found.verdict}{_without(result, found)}"
    )


def mosaic_caption(result: TokensResult, side: int) -> str:
    """How the mosaic is read."""
    return (
        f"{_COMPARED[result.request.kind]}. Each square is the Jacobian of token t (row) in the "
        f"leading {counted(side, 'singular vector')} of token t' (column): a visible diagonal on "
        "a quiet square means that the two are coupled. Entries beyond the colour bar are drawn "
        "in the colour at its end."
    )


def cell_words(result: TokenMeansResult, token: int, other: int, view: View) -> str:
    """The mean score of one pair of tokens as a sentence, with the number of its pairs."""
    found, at = score_positions(result, view), (token - 1, other - 1)
    if np.isnan(found.coupling[at]):
        return f"Tokens {token} and {other} have no score."
    count = int(result.pairs[at][list(result.k_grid).index(view.k)])
    c, floor, above = (rounded(getattr(found, name)[at]) for name in MEASURES)
    return (
        f"Tokens {token} and {other}, over {counted(count, 'pair')} of blocks: c = {c}, chance "
        f"floor {floor}, "
        f"chance-corrected {above}."
    )
