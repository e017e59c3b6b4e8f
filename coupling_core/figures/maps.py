"""The maps of all pairs of blocks, or of tokens: a score a cell, or a matrix a cell.

One stitched heatmap with gaps shows all matrices: for a plot a pair, a browser takes minutes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import arbitrary_told, last_row
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import DepthResult, Scores, TokenMeansResult, TokensResult
from coupling_core.base.units import counted, rounded
from coupling_core.base.wording import paragraph
from coupling_core.figures import style, words
from coupling_core.figures.score_squares import ITSELF, Numbers, ScoreSquare, score_look, scores_of
from coupling_core.figures.squares import BEYOND, matrix_look

MOST_PIXELS = 600  # side of a whole mosaic: one array cell then has at least a pixel on the screen
GAP = 2
COMPARED = {
    "self": "Token t's Jacobian is from its state to the same token.",
    "fixed-input": "Token t's Jacobian is from the fixed input to token t.",
    "fixed-output": "Token t's Jacobian is from token t to the fixed output.",
}
ITSELF_READ = "The diagonal is a Jacobian in its own basis: 1 by construction, and grey."
MEANS_READ = (
    "Each cell is the mean over all pairs of blocks. Between different tokens a block with itself "
    "counts too, whose weights are the same at each: there even an untrained model is above chance."
)


def scores(
    result: DepthResult | TokensResult | TokenMeansResult,
    view: View,
    *,
    rows: Numbers = None,
    columns: Numbers = None,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
    limit: float = style.CORRECTED_COLORS[1],
) -> go.Figure:
    """Map of the score of every pair of the viewed blocks, or of tokens with their texts.

    Rows and columns are numbers of tokens, 1..n, or the first that fit. Colours have a fixed range,
    whose end is `limit` for corrected scores, unless `auto_range` stretches it over what is drawn.
    """
    shown = ScoreSquare.of(scores_of(result, view), rows, columns)
    itself = (ITSELF[shown.noun] in shown.why, ITSELF_READ)
    read = (
        f"How well the top {counted(view.k, 'singular vector')} of {shown.noun} {shown.letter}' "
        f"(column) diagonalise the Jacobian of {shown.noun} {shown.letter} (row): 1 is coupled, "
        f"{words.zero_words(corrected, shown.found.mean().chance)}."
    )
    if isinstance(result, DepthResult) and isinstance(shown.found, Scores):
        last = last_row(result.final_norm_words, result.n_blocks, shown.found, corrected)
        caption = paragraph(read, itself, last, arbitrary_told(result, view))
    else:
        means = (isinstance(result, TokenMeansResult), MEANS_READ)
        caption = paragraph(COMPARED[result.request.kind], read, means, itself)
    look: dict[str, Any] = {"auto_range": auto_range, "selected": selected, "limit": limit}
    return score_map(shown, view, result.subject, caption, corrected=corrected, **look)


def score_map(
    shown: ScoreSquare,
    view: View,
    subject: str,
    caption: str,
    told: Mapping[str, object] | None = None,
    *,
    corrected: bool,
    selected: tuple[int, int] | None = None,
    **look: Any,
) -> go.Figure:
    """The map of scores, such as means over prompts, under its own caption; `look` is its range."""
    z, highest = shown.colored(corrected=corrected), ""
    if not np.isnan(z).all():
        row, column = np.unravel_index(np.nanargmax(z), z.shape)
        highest = (
            f"The highest is {rounded(float(z[row, column]))}, of {shown.noun} {shown.rows[row]} "
            f"in the basis of {shown.noun} {shown.columns[column]}."
        )
    name = f"Heatmap of the {style.score_name(corrected).lower()} ({style.score_terms(view)})"
    colors = shown.heatmap(z, **score_look(z, view, corrected=corrected, **look))
    return shown.figure(
        shown.alt(name, subject, z, highest),
        caption,
        shown.traces(colors, shown.why, shown.hover_texts()),
        height=640 if shown.texts else 600,
        selected=selected,
        told=told,
    )


def mosaic(
    result: DepthResult | TokensResult,
    view: View,
    *,
    rows: Numbers = None,
    columns: Numbers = None,
    magnitude: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Leading corner of A (or B) of every pair, in units of s_1 of its row's Jacobian."""
    shown = ScoreSquare.of(scores_of(result, view), rows, columns)
    fits = (MOST_PIXELS + GAP) // max(shown.why.shape) - GAP
    shown = replace(shown, side=max(1, min(view.k, result.k_view, fits)), gap=GAP)
    z = _stitched(result, shown, view.role)
    z = np.abs(z) if magnitude else z
    is_depth, leading = isinstance(result, DepthResult), words.leading(view.k, shown.side)
    unit = f"in units of s₁ of {'block l' if is_depth else 'the row'}"
    terms = f"{leading}; {unit}{style.AUTO * auto_range}"
    look = matrix_look(z, view, terms, magnitude=magnitude, auto_range=auto_range)
    matrices = go.Heatmap(z=z, **look, hoverinfo="skip", name="matrices")
    values = shown.take(shown.found.coupling)
    why = np.where(np.isnan(values), shown.why, "")  # a Jacobian in its own basis has a matrix too
    caption = paragraph(
        COMPARED.get(result.request.kind, ""),
        f"Each square is the Jacobian of {shown.noun} {shown.letter} (row) in the leading "
        f"{counted(shown.side, 'singular vector')} of {shown.noun} {shown.letter}' (column): a "
        "visible diagonal on a quiet square means that the two are coupled.",
        (is_depth, "Where l = l' it is diagonal by construction."),
        BEYOND,
    )
    name = f"Mosaic of the matrices {style.matrix_name(view, magnitude)}, {leading},"
    return shown.figure(
        shown.alt(name, result.subject, values),
        caption,
        shown.traces(matrices, why, shown.hover_texts()),
        height=640 if shown.texts else 760,
        selected=selected,
    )


def _stitched(result: DepthResult | TokensResult, shown: ScoreSquare, role: str) -> np.ndarray:
    """The corners of all cells side by side in one array, NaN between them."""
    at = np.ix_(np.array(shown.rows) - 1, np.array(shown.columns) - 1)
    side, pitch, (n_rows, n_columns) = shown.side, shown.pitch, shown.why.shape
    corners = result.matrices[ROLES.index(role)][at][..., :side, :side]
    tiles = np.full((n_rows, pitch, n_columns, pitch), np.nan, np.float32)
    tiles[:, :side, :, :side] = corners.transpose(0, 2, 1, 3)  # (row, u, column, v)
    return tiles.reshape(n_rows * pitch, n_columns * pitch)[:-GAP, :-GAP]
