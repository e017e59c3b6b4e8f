"""One pair of tokens close up: its matrix, its score against K, and the singular values."""

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go

from coupling_core.analysis.scores import corrected as correct
from coupling_core.analysis.scores import require_k
from coupling_core.analysis.token_scores import score_positions_by_k
from coupling_core.base.records import ROLES, View, resolve_token
from coupling_core.base.results import TokensResult
from coupling_core.figures import by_k, matrix_map, style
from coupling_core.figures.spectrum import new_spectrum
from coupling_core.figures.tokens import words

MOST_LINES = 48
"""Lines of singular values; with more of them a page would grow heavy and the eye see less."""


def matrix(
    result: TokensResult, token: int, other: int, view: View, *, magnitude: bool = True
) -> go.Figure:
    """Leading corner of A (or B) of one pair of tokens, in units of s_1 of its Jacobian.

    Args:
        result: may be partial; a pair that waits, or is forbidden, is grey.
        token: t, whose Jacobian it is.
        other: t', whose singular vectors are the basis.
        view: K and role; the definition enters the caption.
        magnitude: draw abs(A), else A with its signs.

    Returns:
        a figure whose first trace is the matrix.

    Raises:
        InputError: where K or a token is not in the result.
    """
    require_k(result, view.k)
    token, other = (resolve_token(each, len(result.tokens)) for each in (token, other))
    side = min(view.k, result.k_view)
    stored = result.matrices[ROLES.index(view.role), token - 1, other - 1, :side, :side]
    return matrix_map.draw(
        stored.astype(np.float32),
        view,
        basis=f"token {other}",
        unit=float(result.singular_values[0, token - 1, 0]),
        why=words.no_score(result, token, other, view),
        alt=words.matrix_alt(result, token, other, view, side, magnitude),
        caption=words.matrix_caption(result, token, other, view, side),
        magnitude=magnitude,
    )


def score_by_k(
    result: TokensResult, token: int, other: int, view: View, *, corrected: bool = False
) -> go.Figure:
    """Score for K = 1..Kmax with its chance floor, and a marker at the viewed K.

    Returns:
        a figure with the traces "score", "chance" and "K".

    Raises:
        InputError: where K or a token is not in the result.
    """
    require_k(result, view.k)
    token, other = (resolve_token(each, len(result.tokens)) for each in (token, other))
    raw, floor = score_positions_by_k(result, token, other, view)
    return by_k.draw(
        correct(raw, floor) if corrected else raw,
        floor,
        view,
        corrected,
        style.score_name(corrected),
        words.by_k_alt(result, token, other, view),
        words.by_k_caption(token, other),
    )


def spectrum(
    result: TokensResult, view: View, *, selected: tuple[int, int] | None = None
) -> go.Figure:
    """Top singular values of block l's Jacobian at every position, coloured by position.

    Args:
        result: may be partial; a position that waits has no line.
        view: K, drawn as a vertical line.
        selected: the pair (t, t') whose lines stand out: J^l of t, and J^l' of t'.

    Returns:
        a figure whose first traces are the lines, in the order of the positions.

    Raises:
        InputError: where K or a token is not in the result.
    """
    require_k(result, view.k)
    n = len(result.tokens)
    if selected:
        row, column = (resolve_token(each, n) for each in selected)
        selected = row, column
    alt, caption = (
        words.spectrum_alt(result, view),
        words.spectrum_caption(result, len(drawn(result))),
    )
    figure = new_spectrum(alt, caption, view, 440, exponentformat="power")
    figure.update_xaxes(range=[0, result.k_max + 1])
    for token in drawn(result):
        (shade,) = colors.sample_colorscale(list(style.DEPTH), [token / n])
        figure.add_trace(_line(result, 0, token, shade, 1.2))
    figure.add_trace(style.place_bar(n, "Token t", "1 is the first of the prompt"))
    for side, token, dash, part in _highlights(result, selected):
        line = _line(result, side, token, style.ACCENT, 3).update(line_dash=dash)
        figure.add_trace(line.update(name=f"token {token}, {part}", showlegend=True))
    return figure


def drawn(result: TokensResult) -> list[int]:
    """The tokens that have a line: those with a Jacobian, or one in so many where they are many."""
    numbers = (np.flatnonzero(result.allowed) + 1).tolist()
    return numbers[:: -(-len(numbers) // MOST_LINES)]


def _line(result: TokensResult, side: int, token: int, color: str, width: float) -> go.Scatter:
    s = result.singular_values[side, token - 1]
    return go.Scatter(
        x=np.arange(1, result.k_max + 1),
        y=np.where(s > 0, s, np.nan),
        mode="lines",
        line={"color": color, "width": width},
        name=f"token {token}",
        showlegend=False,
        hovertemplate=(
            f"block {result.blocks[side]}, token {token}<br>"
            "s<sub>%{x}</sub> = %{y:.4g}<extra></extra>"
        ),
    )


def _highlights(
    result: TokensResult, selected: tuple[int, int] | None
) -> list[tuple[int, int, str, str]]:
    if selected is None:
        return []
    if len(set(selected)) == len(set(result.blocks)) == 1:
        return [(0, selected[0], "solid", "Jacobian and basis")]
    return [
        (0, selected[0], "solid", "the Jacobian"),
        (1, selected[1], "dot", "the basis"),
    ]
