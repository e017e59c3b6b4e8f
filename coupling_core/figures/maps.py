"""The maps of all pairs of blocks, or of tokens: a score a cell, or a matrix a cell.

One stitched heatmap with gaps shows all matrices: for a plot a pair, a browser takes minutes.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float32

from coupling_core.analysis.scores import score_pairs
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import DepthResult, TokenMeansResult, TokensResult
from coupling_core.figures import square_words, style
from coupling_core.figures.score_squares import ScoreSquare, score_look
from coupling_core.figures.squares import matrix_look
from coupling_core.figures.words import leading, subject

MOST_PIXELS = 600
"""Side of a whole mosaic: one array cell then has at least a pixel on the screen."""
GAP = 2


def scores(
    result: DepthResult,
    view: View,
    *,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
    limit: float = style.CORRECTED_RANGE[1],
) -> go.Figure:
    """Map of the score of every pair of the viewed blocks.

    Args:
        result: may be partial; cells that wait are grey.
        view: K, definition, role and blocks.
        corrected: draw the chance-corrected score (in a fixed range), else c (0..1).
        auto_range: stretch the colours over what is drawn, and say so on the colour bar.
        selected: the pair (l, l') to outline.
        limit: end of the fixed range of the chance-corrected score, which begins at 0.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [l, l'].

    Raises:
        InputError: where K or a block is not in the result.
    """
    shown = ScoreSquare.of(score_pairs(result, view))
    return score_map(
        shown,
        view,
        subject(result),
        square_words.scores_caption(result, shown, view, corrected=corrected),
        corrected=corrected,
        auto_range=auto_range,
        selected=selected,
        limit=limit,
    )


def grid(
    result: TokensResult | TokenMeansResult,
    view: View,
    *,
    rows: Iterable[int] | int | None = None,
    columns: Iterable[int] | int | None = None,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Map of the score of every pair of tokens, with their texts on the axes.

    Its options are those of `scores`, where a pair is (t, t'), and `rows` and `columns`: numbers of
    the tokens shown, 1..n; None shows the first that fit.

    Raises:
        InputError: where K or a token is not in the result.
    """
    shown = ScoreSquare.of(score_positions(result, view), rows, columns)
    return score_map(
        shown,
        view,
        subject(result),
        square_words.scores_caption(result, shown, view, corrected=corrected),
        height=640,
        corrected=corrected,
        auto_range=auto_range,
        selected=selected,
    )


def score_map(
    shown: ScoreSquare,
    view: View,
    subject: str,
    caption: str,
    told: dict[str, object] | None = None,
    *,
    height: int = 600,
    corrected: bool,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
    limit: float = style.CORRECTED_RANGE[1],
) -> go.Figure:
    """The map of scores, such as means over prompts, under its own caption."""
    z = shown.colored(corrected=corrected)
    look = score_look(z, view, corrected=corrected, auto_range=auto_range, limit=limit)
    return shown.figure(
        square_words.scores_alt(shown, subject, view, corrected=corrected),
        caption,
        shown.traces(shown.heatmap(z, **look), shown.why, shown.hover_texts()),
        height=height,
        selected=selected,
        told=told,
    )


def mosaic(
    result: DepthResult, view: View, *, magnitude: bool = True, auto_range: bool = False
) -> go.Figure:
    """Leading corner of A (or B) of every pair of blocks, in units of s_1 of its row's Jacobian.

    Args:
        result: may be partial; cells that wait are grey.
        view: K, role and blocks; the definition only enters the hover texts.
        magnitude: draw abs(A), else A with its signs.
        auto_range: stretch the colours over what is drawn, and say so on the colour bar.

    Returns:
        a figure whose first trace is the picture and whose trace "pairs" takes clicks, with
        customdata [l, l'].

    Raises:
        InputError: where K or a block is not in the result.
    """
    shown = ScoreSquare.of(score_pairs(result, view))
    return _mosaic(result, shown, view, magnitude, auto_range, None)


def token_mosaic(
    result: TokensResult,
    view: View,
    *,
    rows: Iterable[int] | int | None = None,
    columns: Iterable[int] | int | None = None,
    magnitude: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Leading corner of A (or B) of every pair of tokens, in units of s_1 of its row's Jacobian.

    Its options are those of `mosaic` and of `grid`.

    Raises:
        InputError: where K or a token is not in the result.
    """
    shown = ScoreSquare.of(score_positions(result, view), rows, columns)
    return _mosaic(result, shown, view, magnitude, auto_range, selected)


def _mosaic(
    result: DepthResult | TokensResult,
    shown: ScoreSquare,
    view: View,
    magnitude: bool,
    auto_range: bool,
    selected: tuple[int, int] | None,
) -> go.Figure:
    fits = (MOST_PIXELS + GAP) // max(shown.why.shape) - GAP
    shown = replace(shown, side=max(1, min(view.k, result.k_view, fits)), gap=GAP)
    z = _stitched(result, shown, view.role)
    z = np.abs(z) if magnitude else z
    row = "block l" if isinstance(result, DepthResult) else "the row"
    terms = f"{leading(view.k, shown.side)}; in units of s₁ of {row}{style.AUTO * auto_range}"
    look = matrix_look(z, view, terms, magnitude=magnitude, auto_range=auto_range)
    matrices = go.Heatmap(z=z, **look, hoverinfo="skip", name="matrices")
    no_score = np.isnan(shown.take(shown.found.coupling))
    why = np.where(no_score, shown.why, "")  # a Jacobian in its own basis has a matrix too
    return shown.figure(
        square_words.mosaic_alt(shown, subject(result), view, magnitude=magnitude),
        square_words.mosaic_caption(result, shown),
        shown.traces(matrices, why, shown.hover_texts()),
        height=640 if shown.texts else 760,
        selected=selected,
    )


def _stitched(
    result: DepthResult | TokensResult, shown: ScoreSquare, role: str
) -> Float32[np.ndarray, "row_pixel column_pixel"]:
    """The corners of all cells side by side in one array, NaN between them."""
    at = np.ix_(np.array(shown.rows) - 1, np.array(shown.columns) - 1)
    side, pitch, (n_rows, n_columns) = shown.side, shown.pitch, shown.why.shape
    corners = result.matrices[ROLES.index(role)][at][..., :side, :side]
    tiles = np.full((n_rows, pitch, n_columns, pitch), np.nan, np.float32)
    tiles[:, :side, :, :side] = corners.transpose(0, 2, 1, 3)  # (row, u, column, v)
    return tiles.reshape(n_rows * pitch, n_columns * pitch)[:-GAP, :-GAP]
