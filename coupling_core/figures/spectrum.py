"""Singular values of every block's Jacobian by index, and the gap at which K cuts them."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.scores import require_k
from coupling_core.analysis.subspaces import gaps
from coupling_core.base.curves import Curves
from coupling_core.base.records import View, resolve_block, resolve_blocks
from coupling_core.base.results import DepthResult
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves, depth_colors, plain
from coupling_core.figures.words import subject

SPECTRUM = Curves(
    x="index",
    y="Singular value s<sub>k</sub> (no unit)",
    caption="Singular values of each block's Jacobian, largest first. Where s_K / s_(K+1) is close "
    "to 1, the K-th singular vector is arbitrary, and only the subspaces mean anything.",
    log=True,
    at="k = ",
    height=480,
)


def spectrum(
    result: DepthResult, view: View, *, selected: tuple[int, int] | None = None
) -> go.Figure:
    """Top singular values by index on a log axis, a line a block, coloured by depth.

    K is a vertical line with the gap s_K / s_{K+1}; the lines of the pair (l, l') that is
    `selected` stand out. The first traces are the lines, in the order of the blocks.
    """
    require_k(result, view.k)
    blocks = resolve_blocks(view.blocks, result.n_blocks)
    shades = depth_colors((np.array(blocks) - 1) / max(1, result.n_blocks - 1))
    s, marked = result.singular_values, blocks
    series = [
        spectrum_line(s[block - 1], f"block {block}", shade)
        for block, shade in zip(blocks, shades, strict=True)
    ]
    if selected:
        row, column = (resolve_block(each, result.n_blocks) for each in selected)
        marked = (row,)
        pair = [(s[block - 1], f"block {block}", "") for block in (row, column)]
        series += selected_lines(pair, is_one=row == column)
    gap, is_right = _gap_text(result, view.k, marked), view.k > result.k_max / 2
    figure = by_index(series, view, subject(result), also=f" {plain(gap)}.")
    figure.add_trace(style.place_bar(result.n_blocks, "Block l", "1 is next to the embedding"))
    side, shift = ("right", -6) if is_right else ("left", 6)
    figure.add_annotation(
        x=view.k, y=1, yref="paper", xanchor=side, yanchor="top", xshift=shift, showarrow=False,
        text=gap,
    )  # fmt: skip
    return figure.update_layout(legend=style.UNDER_AXIS, xaxis_range=[0, result.k_max + 1])


def by_index(
    series: Sequence[Series], view: View, of: str, spec: Curves = SPECTRUM, also: str = ""
) -> go.Figure:
    """Singular values by index, with a line at the viewed K."""
    return curves(series, spec, of, also=also).add_vline(x=view.k, line=style.DOTTED)


def spectrum_line(
    s: Float[np.ndarray, " k"],
    name: str,
    color: str,
    width: float = 1.2,
    dash: str = "solid",
    *,
    where: str = "",
    listed: bool | None = False,
) -> Series:
    """The singular values of one Jacobian, largest first; past its rank there are none."""
    hover = f"{where or name}<br>s<sub>%{{x}}</sub> = %{{y:.4g}}<extra></extra>"
    more = {"showlegend": listed, "hovertemplate": hover}
    values = np.where(s > 0, s, np.nan)
    return Series(name, np.arange(1, len(s) + 1), values, color, width, dash, more=more)


def selected_lines(
    pair: Sequence[tuple[Float[np.ndarray, " k"], str, str]], *, is_one: bool
) -> list[Series]:
    """The highlighted lines of a Jacobian and of a basis; one where they are the same."""
    parts = ["Jacobian and basis"] if is_one else ["the Jacobian", "the basis"]
    return [
        spectrum_line(s, f"{name}, {part}", style.ACCENT, 3, dash, where=where or name, listed=True)
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
