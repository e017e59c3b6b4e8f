"""Curves of a comparison of tokens: scores by the distance of two, singular values of each."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import definition_name, require_k
from coupling_core.analysis.token_scores import by_distance, score_positions
from coupling_core.base.curves import Curves
from coupling_core.base.records import View, resolve_token
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves, depth_colors, one_deviation
from coupling_core.figures.spectrum import SPECTRUM, by_index, selected_lines, spectrum_line
from coupling_core.figures.token_labels import numbered
from coupling_core.figures.words import subject

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

DISTANCE = Curves(
    x="Distance |t - t'| in tokens",
    y="{name} ({definition})",
    caption="Mean score of all pairs of tokens at each distance. The band is one standard "
    "deviation, the dotted lines the lowest and the highest pair.{zero} Long distances have few "
    "pairs.",
    height=440,
)
SPECTRUM_OF_TOKENS = replace(
    SPECTRUM,
    caption="Singular values of block {block}'s Jacobian at each token, largest first. A line that "
    "ends has reached its rank: what comes from another token passes through the attention heads "
    "only.",
    height=440,
)
MOST_LINES = 48
"""Lines of singular values; with more of them a page would grow heavy and the eye see less."""


def distance(
    result: TokensResult | TokenMeansResult, view: View, *, corrected: bool = True
) -> go.Figure:
    """Mean score of all pairs of tokens at each distance |t - t'|, with its spread.

    Args:
        result: may be partial.
        view: K, definition and role.
        corrected: draw the chance-corrected score, else c.

    Returns:
        a figure with the traces "one standard deviation", "lowest and highest" and "mean".
    """
    found = by_distance(score_positions(result, view), corrected=corrected)
    x = found.distance
    edges = [
        Series("lowest and highest", x, y, width=1, dash="dot", hover=False, more=more)
        for y, more in ((found.low, {}), (found.high, {"showlegend": False}))
    ]
    more = {
        "customdata": np.stack([found.spread, found.low, found.high, found.pairs], -1),
        "text": [counted(int(n), "pair") for n in found.pairs],
        "hovertemplate": "mean %{y:.3f}, deviation %{customdata[0]:.3f}, "
        "%{customdata[1]:.3f} to %{customdata[2]:.3f}, %{text}<extra></extra>",
    }
    mean = Series("mean", x, found.mean, style.ACCENT, 2.5, marks=6, more=more)
    words = {
        "name": style.score_name(corrected),
        "definition": definition_name(view),
        "zero": " 0 is the chance level." * corrected,
    }
    return curves(
        [*edges, one_deviation(mean, found.spread)],
        DISTANCE,
        subject(result),
        words,
        xaxis={"rangemode": "tozero"},
        yaxis={"range": style.score_range(corrected, found.low, found.high)},
    )


def token_spectrum(
    result: TokensResult, view: View, *, selected: tuple[int, int] | None = None
) -> go.Figure:
    """Top singular values of block l's Jacobian at every position, coloured by position.

    Args:
        result: may be partial; a position that waits has no line.
        view: K, drawn as a vertical line.
        selected: the pair (t, t') whose lines stand out: J^l of t, and J^l' of t'.

    Returns:
        a figure whose first traces are the lines, in the order of the positions.
    """
    require_k(result, view.k)
    n, (block, other), s = len(result.tokens), result.blocks, result.singular_values
    numbers = (np.flatnonzero(result.allowed) + 1).tolist()
    drawn = numbers[:: -(-len(numbers) // MOST_LINES)]
    series = [
        spectrum_line(
            s[0, token - 1], f"token {token}", color, where=f"block {block}, token {token}"
        )
        for token, color in zip(drawn, depth_colors(np.array(drawn) / n), strict=True)
    ]
    if selected:
        row, column = (resolve_token(each, n) for each in selected)
        pair = [
            (s[side, token - 1], f"token {token}", f"block {of}, token {token}")
            for side, (token, of) in enumerate(((row, block), (column, other)))
        ]
        series += selected_lines(pair, is_one=row == column and block == other)
    caption = SPECTRUM_OF_TOKENS.caption.format(block=block)
    if len(drawn) < len(numbers):
        caption += f" Drawn: {len(drawn)} of {counted(len(numbers), 'token')}."
    figure = by_index(series, view, subject(result), replace(SPECTRUM_OF_TOKENS, caption=caption))
    figure.add_trace(style.place_bar(n, "Token t", "1 is the first of the prompt"))
    return figure.update_layout(legend=style.UNDER_AXIS, xaxis_range=[0, result.k_max + 1])


def token_spectrum_table(result: TokensResult) -> "DataFrame":
    """Twin of the singular values: a row a block and token, with its rank."""
    from pandas import DataFrame, concat

    tokens, sides = [numbered(i, text) for i, text in enumerate(result.tokens, 1)], []
    for side, block in enumerate(dict.fromkeys(result.blocks)):
        named = {f"s_{k}": values for k, values in enumerate(result.singular_values[side].T, 1)}
        own = {"block": block, "token": tokens, "rank": result.rank[side]}
        sides.append(DataFrame(own | named))
    return concat(sides, ignore_index=True)
