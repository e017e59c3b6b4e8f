"""Sentences of the square maps and of one pair: templates, and the numbers that fill them."""

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Scores, TokenMeansResult, TokensResult
from coupling_core.base.results.scores import MEASURES
from coupling_core.base.units import counted, rounded
from coupling_core.base.wording import paragraph
from coupling_core.figures import style, words
from coupling_core.figures.score_squares import ITSELF, ScoreSquare
from coupling_core.figures.squares import FORBIDDEN

SCORES_ALT = "Heatmap of the {score} ({terms}) for {size} of {subject}: {axes}"
MOSAIC_ALT = "Mosaic of the matrices {matrix}, {leading}, for {size} of {subject}: {axes}"
AXES = "row {letter} is the Jacobian, column {letter}' the basis."
WINDOW = "Shown are tokens {0} to {1} by {2} to {3}."
HIGHEST = "The highest is {value}, of {noun} {row} in the basis of {noun} {column}."
HATCHED = "Hatched: {} that causality forbids."
GREY = "Grey: {} without a value."

COMPARED = {
    "self": "Token t's Jacobian is from its state to the same token.",
    "fixed-input": "Token t's Jacobian is from the fixed input to token t.",
    "fixed-output": "Token t's Jacobian is from token t to the fixed output.",
}
SCORES_READ = (
    "How well the top {vectors} of {noun} {letter}' (column) diagonalise the Jacobian of {noun} "
    "{letter} (row): 1 is coupled, {zero}."
)
ITSELF_READ = "The diagonal is a Jacobian in its own basis: 1 by construction, and grey."
MEANS_READ = (
    "Each cell is the mean over all pairs of blocks. Between different tokens a block with itself "
    "counts too, whose weights are the same at each: there even an untrained model is above chance."
)
MOSAIC_READ = (
    "Each square is the Jacobian of {noun} {letter} (row) in the leading {vectors} of {noun} "
    "{letter}' (column): a visible diagonal on a quiet square means that the two are coupled."
)
DIAGONAL_READ = "Where l = l' it is diagonal by construction."
BEYOND = "Entries beyond the colour bar are drawn in the colour at its end."

MATRIX_ALT = "Heatmap of {matrix}, {leading}: {pair}, {subject}. {score}"
MATRIX_READ = "T{pair}: diagonal where the two are coupled. {score}"
CORNER = "The leading {side} by {side} entries are stored; the score counts all {k}."
BY_K_ALT = "Score against K from 1 to {k_max} with its chance floor: {pair}, {subject}. {score}"
BY_K_READ = (
    "Coupling of {noun} {row} in the basis of {noun} {column} as more singular triplets are "
    "counted. Only what lies above the chance line is coupling."
)
SCORE = "Score c = {raw} with chance floor {floor}, chance-corrected {corrected} ({terms})."
NO_SCORE = "The pair has no score: {why}."


def scores_alt(shown: ScoreSquare, subject: str, view: View, *, corrected: bool) -> str:
    """What a map of scores shows, with its main numbers."""
    values = shown.colored(corrected=corrected)
    highest = ""
    if not np.isnan(values).all():
        row, column = np.unravel_index(np.nanargmax(values), values.shape)
        highest = HIGHEST.format(
            value=rounded(float(values[row, column])),
            noun=shown.noun,
            row=shown.rows[row],
            column=shown.columns[column],
        )
    opening = SCORES_ALT.format(
        score=style.score_name(corrected).lower(),
        terms=style.score_terms(view),
        **_frame(shown, subject),
    )
    return paragraph(opening, _window(shown), shown.found.verdict, highest, _empty(shown, values))


def mosaic_alt(shown: ScoreSquare, subject: str, view: View, *, magnitude: bool) -> str:
    """What a mosaic shows, with its main number."""
    opening = MOSAIC_ALT.format(
        matrix=style.matrix_name(view, magnitude),
        leading=words.leading(view.k, shown.side),
        **_frame(shown, subject),
    )
    empty = _empty(shown, shown.take(shown.found.coupling))
    return paragraph(opening, _window(shown), shown.found.verdict, empty)


def scores_caption(
    result: DepthResult | TokensResult | TokenMeansResult,
    shown: ScoreSquare,
    view: View,
    *,
    corrected: bool,
) -> str:
    """How a map of scores is read, and why its last row stands out."""
    read = SCORES_READ.format(
        vectors=counted(view.k, "singular vector"),
        zero=words.zero_words(corrected, shown.found.mean().chance),
        **_letters(shown),
    )
    itself = (ITSELF[shown.noun] in shown.why, ITSELF_READ)
    if isinstance(result, DepthResult) and isinstance(shown.found, Scores):
        last = words.last_row(result.final_norm_words, result.n_blocks, shown.found, corrected)
        return paragraph(read, itself, last.strip(), words.arbitrary_told(result, view))
    means = (isinstance(result, TokenMeansResult), MEANS_READ)
    return paragraph(COMPARED[result.request.kind], read, means, itself)


def mosaic_caption(result: DepthResult | TokensResult, shown: ScoreSquare) -> str:
    """How a mosaic is read."""
    read = MOSAIC_READ.format(vectors=counted(shown.side, "singular vector"), **_letters(shown))
    diagonal = (isinstance(result, DepthResult), DIAGONAL_READ)
    return paragraph(COMPARED.get(result.request.kind, ""), read, diagonal, BEYOND)


def score(raw: float, floor: float, corrected: float, view: View) -> str:
    """The score of one pair as a sentence."""
    c, chance, above = map(rounded, (raw, floor, corrected))
    terms = style.score_terms(view)
    return SCORE.format(raw=c, floor=chance, corrected=above, terms=terms)


def cell_words(result: TokenMeansResult, token: int, other: int, view: View) -> str:
    """The mean score of one pair of tokens as a sentence, with the number of its pairs."""
    found, at = score_positions(result, view), (token - 1, other - 1)
    if np.isnan(found.coupling[at]):
        return f"Tokens {token} and {other} have no score."
    count = int(result.pairs[at][list(result.k_grid).index(view.k)])
    mean = f"Tokens {token} and {other}, mean over {counted(count, 'pair')} of blocks."
    raw, floor, above = (float(getattr(found, name)[at]) for name in MEASURES)
    return f"{mean} {score(raw, floor, above, view)}"


def _frame(shown: ScoreSquare, subject: str) -> dict[str, str]:
    size = f"{len(shown.rows)} by {counted(len(shown.columns), shown.noun)}"
    return {"size": size, "subject": subject, "axes": AXES.format(**_letters(shown))}


def _letters(shown: ScoreSquare) -> dict[str, str]:
    return {"noun": shown.noun, "letter": "t" if shown.texts else "l"}


def _window(shown: ScoreSquare) -> str:
    """Which part of a long prompt is shown."""
    if len(shown.texts) <= min(len(shown.rows), len(shown.columns)):
        return ""
    return WINDOW.format(shown.rows[0], shown.rows[-1], shown.columns[0], shown.columns[-1])


def _empty(shown: ScoreSquare, values: Float[np.ndarray, "row column"]) -> str:
    """How many cells have no value, and why."""
    forbidden = shown.why == FORBIDDEN
    without = np.isnan(values) & ~forbidden & (shown.why != ITSELF[shown.noun])
    return paragraph(
        *(
            template.format(counted(int(cells.sum()), "cell"))
            for template, cells in ((HATCHED, forbidden), (GREY, without))
            if cells.any()
        )
    )
