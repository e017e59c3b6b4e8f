"""Singular values of every block's Jacobian, and the gap at which K cuts them."""

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.scores import require_k
from coupling_core.analysis.subspaces import gaps
from coupling_core.base.records import View, resolve_block, resolve_blocks
from coupling_core.base.results import DepthResult
from coupling_core.figures import style, words


def spectrum(
    result: DepthResult, view: View, *, selected: tuple[int, int] | None = None
) -> go.Figure:
    """Top singular values by index on a log axis, a line a block, coloured by depth.

    Args:
        result: may be partial; a block that waits has no line.
        view: K, drawn as a vertical line with the gap s_K / s_{K+1}, and the blocks.
        selected: the pair (l, l') whose lines stand out.

    Returns:
        a figure whose first traces are the lines, in the order of the blocks.

    Raises:
        InputError: where K or a block is not in the result.
    """
    require_k(result, view.k)
    blocks = resolve_blocks(view.blocks, result.n_blocks)
    if selected:
        row, column = (resolve_block(each, result.n_blocks) for each in selected)
        selected = row, column
    figure = plot(
        words.spectrum_alt(result, view, blocks),
        words.spectrum_caption(),
        view,
        result.singular_values[np.array(blocks) - 1],
        height=480,
        legend=style.UNDER_AXIS,
        xaxis_range=[0, result.k_max + 1],
    )
    names = {block: f"block {block}" for block in range(1, result.n_blocks + 1)}
    for block in blocks:
        shade = (block - 1) / max(1, result.n_blocks - 1)
        figure.add_trace(line(result.singular_values[block - 1], names[block], shade=shade))
    figure.add_trace(style.place_bar(result.n_blocks, "Block l", "1 is next to the embedding"))
    if selected:
        pair = [line(result.singular_values[block - 1], names[block]) for block in selected]
        figure.add_traces(highlights(pair, is_one=row == column))
    _mark_gap(figure, result, view, (selected[0],) if selected else blocks)
    return figure


def plot(
    alt: str, caption: str, view: View, values: Float[np.ndarray, "*any"], **layout: object
) -> go.Figure:
    """Axes for these singular values by index, with a line at the viewed K."""
    figure = style.new_figure(
        alt,
        caption,
        xaxis={"title": {"text": "Index k of the singular value"}},
        yaxis=style.axis("Singular value s<sub>k</sub> (no unit)") | style.log_axis(values),
    )
    figure.add_vline(x=view.k, line=style.DOTTED)
    return figure.update_layout(**layout)


def line(
    s: Float[np.ndarray, " k"], name: str, where: str = "", shade: float | None = None
) -> go.Scatter:
    """The singular values of one Jacobian, shaded by its place, 0..1; None where it stands out."""
    (color,) = colors.sample_colorscale(list(style.DEPTH), [shade or 0.0])
    return style.line(
        np.arange(1, len(s) + 1),
        np.where(s > 0, s, np.nan),  # past the rank there is none, and its logarithm is no place
        name,
        *((style.ACCENT, 3) if shade is None else (color, 1.2)),
        showlegend=shade is None,
        hovertemplate=f"{where or name}<br>s<sub>%{{x}}</sub> = %{{y:.4g}}<extra></extra>",
    )


def highlights(pair: list[go.Scatter], *, is_one: bool) -> list[go.Scatter]:
    """The lines of the Jacobian and of the basis, named as such; one where they are the same."""
    apart = [("solid", "the Jacobian"), ("dot", "the basis")]
    looks = [("solid", "Jacobian and basis")] if is_one else apart
    return [
        each.update(line_dash=dash, name=f"{each.name}, {part}")
        for each, (dash, part) in zip(pair, looks, strict=False)
    ]


def _mark_gap(figure: go.Figure, result: DepthResult, view: View, blocks: tuple[int, ...]) -> None:
    figure.add_annotation(
        x=view.k,
        y=1,
        yref="paper",
        xanchor="right" if view.k > result.k_max / 2 else "left",
        yanchor="top",
        xshift=-6 if view.k > result.k_max / 2 else 6,
        showarrow=False,
        text=_gap_text(gaps(result, view.k)[np.array(blocks) - 1], view.k, blocks),
    )


def _gap_text(gap: Float[np.ndarray, " block"], k: int, blocks: tuple[int, ...]) -> str:
    """How far apart the last triplet in and the first one out are."""
    ratio = f"K = {k}: s<sub>{k}</sub> / s<sub>{k + 1}</sub>"
    if np.isnan(gap).all():
        return f"K = {k}"
    if len(blocks) == 1:
        return f"{ratio} = {gap[0]:.4f} in block {blocks[0]}"
    return f"{ratio} = {np.nanmin(gap):.4f} to {np.nanmax(gap):.4f}"
