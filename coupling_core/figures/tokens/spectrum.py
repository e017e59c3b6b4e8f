"""Singular values of a block's Jacobians at every token."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import require_k
from coupling_core.base.records import View, resolve_token
from coupling_core.base.results import TokensResult
from coupling_core.figures import style
from coupling_core.figures.spectrum import highlights, line, plot
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
    figure = plot(
        words.spectrum_alt(result, view),
        words.spectrum_caption(result, len(drawn(result))),
        view,
        result.singular_values.reshape(-1, result.k_max),
        height=440,
        legend=style.UNDER_AXIS,
        xaxis_range=[0, result.k_max + 1],
    )
    for token in drawn(result):
        figure.add_trace(_line(result, 0, token, token / n))
    figure.add_trace(style.place_bar(n, "Token t", "1 is the first of the prompt"))
    if selected:
        pair = [_line(result, side, token) for side, token in enumerate(selected)]
        is_one = len(set(selected)) == len(set(result.blocks)) == 1
        figure.add_traces(highlights(pair, is_one=is_one))
    return figure


def drawn(result: TokensResult) -> list[int]:
    """The tokens that have a line: those with a Jacobian, or one in so many where they are many."""
    numbers = (np.flatnonzero(result.allowed) + 1).tolist()
    return numbers[:: -(-len(numbers) // MOST_LINES)]


def _line(result: TokensResult, side: int, token: int, shade: float | None = None) -> go.Scatter:
    s, name = result.singular_values[side, token - 1], f"token {token}"
    where = f"block {result.blocks[side]}, {name}"
    return line(np.where(s > 0, s, np.nan), name, where, shade)
