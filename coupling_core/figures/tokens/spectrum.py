"""Singular values of a block's Jacobians at every token."""

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go

from coupling_core.analysis.scores import require_k
from coupling_core.base.records import View, resolve_token
from coupling_core.base.results import TokensResult
from coupling_core.figures import style
from coupling_core.figures.tokens import words

MOST_LINES = 48
"""Lines of singular values; with more of them a page would grow heavy and the eye see less."""


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
    figure = style.new_figure(
        words.spectrum_alt(result, view),
        words.spectrum_caption(result, len(drawn(result))),
        height=440,
        legend=style.BELOW | {"y": -0.2},
        xaxis={"title": {"text": "Index k of the singular value"}, "range": [0, result.k_max + 1]},
        yaxis={
            "title": {"text": "Singular value s<sub>k</sub> (no unit)"},
            "type": "log",
            "minorloglabels": "complete",
            "exponentformat": "power",
        }
        | style.GRID,
    )
    for token in drawn(result):
        (shade,) = colors.sample_colorscale(list(style.DEPTH), [token / n])
        figure.add_trace(_line(result, 0, token, shade, 1.2))
    figure.add_trace(style.place_bar(n, "Token t", "1 is the first of the prompt"))
    for side, token, dash, part in _highlights(result, selected):
        line = _line(result, side, token, style.ACCENT, 3).update(line_dash=dash)
        figure.add_trace(line.update(name=f"token {token}, {part}", showlegend=True))
    figure.add_vline(x=view.k, line={"color": style.INK, "width": 1, "dash": "dot"})
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
