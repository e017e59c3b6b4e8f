"""Singular values of every block's, or token's, Jacobian by index, and the gap at K."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.scores import require_k
from coupling_core.analysis.subspaces import gaps
from coupling_core.base.curves import Curves
from coupling_core.base.records import View, resolve_block, resolve_blocks, resolve_token
from coupling_core.base.results import DepthResult, TokensResult
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves, depth_colors, plain
from coupling_core.figures.words import numbered

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

SPECTRUM = Curves(
    x="index",
    y="Singular value s<sub>k</sub> (no unit)",
    caption="Singular values of each block's Jacobian, largest first. Where s_K / s_(K+1) is close "
    "to 1, the K-th singular vector is arbitrary, and only the subspaces mean anything.",
    log=True,
    at="k = ",
    height=480,
)
SPECTRUM_OF_TOKENS = replace(
    SPECTRUM,
    caption="Singular values of block {block}'s Jacobian at each token, largest first. A line that "
    "ends has reached its rank: what comes from another token passes through the attention heads "
    "only.",
    height=440,
)
MOST_LINES = 48
"""Lines of tokens; with more of them a page would grow heavy and the eye see less."""


def spectrum(
    result: DepthResult | TokensResult, view: View, *, selected: tuple[int, int] | None = None
) -> go.Figure:
    """Top singular values by index: a line a block, or one a token; a selected pair's stand out."""
    require_k(result, view.k)
    if isinstance(result, DepthResult):
        figure = _of_blocks(result, view, selected)
    else:
        figure = _of_tokens(result, view, selected)
    return figure.update_layout(legend=style.UNDER_AXIS, xaxis_range=[0, result.k_max + 1])


def _of_blocks(result: DepthResult, view: View, selected: tuple[int, int] | None) -> go.Figure:
    blocks = resolve_blocks(view.blocks, result.n_blocks)
    shades = depth_colors((np.array(blocks) - 1) / max(1, result.n_blocks - 1))
    s, marked = result.singular_values, blocks
    series = [
        spectrum_line(s[block - 1], f"block {block}", color=shade, width=1.2)
        for block, shade in zip(blocks, shades, strict=True)
    ]
    if selected:
        row, column = (resolve_block(each, result.n_blocks) for each in selected)
        marked = (row,)
        pair = [(s[block - 1], f"block {block}", "") for block in (row, column)]
        series += _selected(pair, is_one=row == column)
    gap, is_right = _gap_text(result, view.k, marked), view.k > result.k_max / 2
    figure = by_index(series, view, result.subject, also=f" {plain(gap)}.")
    figure.add_trace(style.place_bar(result.n_blocks, "Block l", "1 is next to the embedding"))
    side, shift = ("right", -6) if is_right else ("left", 6)
    place = {"yref": "paper", "xanchor": side, "yanchor": "top", "xshift": shift}
    return figure.add_annotation(x=view.k, y=1, text=gap, showarrow=False, **place)


def _of_tokens(result: TokensResult, view: View, selected: tuple[int, int] | None) -> go.Figure:
    n, (block, other), s = len(result.tokens), result.blocks, result.singular_values
    numbers = (np.flatnonzero(result.allowed) + 1).tolist()
    drawn = numbers[:: -(-len(numbers) // MOST_LINES)]
    shades, where = depth_colors(np.array(drawn) / n), f"block {block}, token {{}}"
    series = [
        spectrum_line(s[0, t - 1], f"token {t}", where.format(t), color=shade, width=1.2)
        for t, shade in zip(drawn, shades, strict=True)
    ]
    if selected:
        row, column = (resolve_token(each, n) for each in selected)
        pair = [
            (s[side, token - 1], f"token {token}", f"block {of}, token {token}")
            for side, (token, of) in enumerate(((row, block), (column, other)))
        ]
        series += _selected(pair, is_one=row == column and block == other)
    caption = SPECTRUM_OF_TOKENS.caption.format(block=block)
    if len(drawn) < len(numbers):
        caption += f" Drawn: {len(drawn)} of {counted(len(numbers), 'token')}."
    figure = by_index(series, view, result.subject, replace(SPECTRUM_OF_TOKENS, caption=caption))
    return figure.add_trace(style.place_bar(n, "Token t", "1 is the first of the prompt"))


def by_index(
    series: Sequence[Series], view: View, of: str, spec: Curves = SPECTRUM, **more: Any
) -> go.Figure:
    """Singular values by index, with a line at the viewed K."""
    return curves(series, spec, of, **more).add_vline(x=view.k, line=style.DOTTED)


def spectrum_line(
    s: np.ndarray, name: str, where: str = "", listed: bool | None = False, **look: Any
) -> Series:
    """The singular values of one Jacobian, which the mouse calls by `where` or else its name."""
    hover = f"{where or name}<br>s<sub>%{{x}}</sub> = %{{y:.4g}}<extra></extra>"
    more = {"showlegend": listed, "hovertemplate": hover}
    return Series(name, np.arange(1, len(s) + 1), np.where(s > 0, s, np.nan), more=more, **look)


def _selected(pair: Sequence[tuple[np.ndarray, str, str]], *, is_one: bool) -> list[Series]:
    """The lines of a Jacobian and of a basis, by values, name and `where`; one of the same two."""
    parts = ["Jacobian and basis"] if is_one else ["the Jacobian", "the basis"]
    look: dict[str, Any] = {"listed": True, "color": style.ACCENT, "width": 3}
    return [
        spectrum_line(s, f"{name}, {part}", where or name, dash=dash, **look)
        for (s, name, where), part, dash in zip(pair, parts, ("solid", "dot"), strict=False)
    ]


def _gap_text(result: DepthResult, k: int, blocks: tuple[int, ...]) -> str:
    """How far apart the last triplet in and the first one out are."""
    gap, ratio = gaps(result, k)[np.array(blocks) - 1], f"s<sub>{k}</sub> / s<sub>{k + 1}</sub>"
    if np.isnan(gap).all():
        return f"K = {k}"
    if len(blocks) == 1:
        return f"K = {k}: {ratio} = {gap[0]:.4f} in block {blocks[0]}"
    return f"K = {k}: {ratio} = {np.nanmin(gap):.4f} to {np.nanmax(gap):.4f}"


def spectrum_table(result: DepthResult | TokensResult, view: View) -> "DataFrame":
    """Twin of the singular values: a row a block with the gap s_K / s_{K+1}, or a row a token."""
    from pandas import DataFrame, concat

    if isinstance(result, DepthResult):
        blocks = resolve_blocks(view.blocks, result.n_blocks)
        at = np.array(blocks) - 1
        named = _columns(result.singular_values[at])
        return DataFrame({"block": blocks, "gap": gaps(result, view.k)[at], **named})
    tokens, sides = [numbered(i, text) for i, text in enumerate(result.tokens, 1)], []
    for side, block in enumerate(dict.fromkeys(result.blocks)):
        named = _columns(result.singular_values[side])
        own = {"block": block, "token": tokens, "rank": result.rank[side], **named}
        sides.append(DataFrame(own))
    return concat(sides, ignore_index=True)


def _columns(s: Float[np.ndarray, "row k"]) -> dict[str, Float[np.ndarray, " row"]]:
    return {f"s_{k}": values for k, values in enumerate(s.T, 1)}
