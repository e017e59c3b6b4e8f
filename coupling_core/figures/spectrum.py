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
    alt, caption = words.spectrum_alt(result, view, blocks), words.spectrum_caption()
    figure = new_spectrum(alt, caption, view, 480, dtick="D2")
    figure.update_xaxes(range=[0, result.k_max + 1])
    depth = [block / result.n_blocks for block in blocks]
    for block, color in zip(
        blocks, colors.sample_colorscale(list(style.DEPTH), depth), strict=True
    ):
        figure.add_trace(_line(result, block, color, width=1.2))
    figure.add_trace(style.place_bar(result.n_blocks, "Block l", "1 is next to the embedding"))
    for block, dash, part in _highlights(selected):
        line = _line(result, block, style.ACCENT, width=3).update(line_dash=dash)
        figure.add_trace(line.update(name=f"block {block}, {part}", showlegend=True))
    _mark_k(figure, result, view, (selected[0],) if selected else blocks)
    return figure


def new_spectrum(alt: str, caption: str, view: View, height: int, **scale: object) -> go.Figure:
    """A figure for singular values by index on a log axis, with K marked."""
    figure = style.new_figure(
        alt,
        caption,
        height=height,
        legend=style.BELOW | {"y": -0.2},
        xaxis={"title": {"text": "Index k of the singular value"}},
        yaxis={
            "title": {"text": "Singular value s<sub>k</sub> (no unit)"},
            "type": "log",
            "minorloglabels": "complete",
        }
        | scale
        | style.GRID,
    )
    return figure.add_vline(x=view.k, line={"color": style.INK, "width": 1, "dash": "dot"})


def _line(result: DepthResult, block: int, color: str, width: float) -> go.Scatter:
    return go.Scatter(
        x=np.arange(1, result.k_max + 1),
        y=result.singular_values[block - 1],
        mode="lines",
        line={"color": color, "width": width},
        name=f"block {block}",
        showlegend=False,
        hovertemplate=f"block {block}<br>s<sub>%{{x}}</sub> = %{{y:.4g}}<extra></extra>",
    )


def _highlights(selected: tuple[int, int] | None) -> list[tuple[int, str, str]]:
    if selected is None:
        return []
    block, basis = selected
    if block == basis:
        return [(block, "solid", "Jacobian and basis")]
    return [(block, "solid", "the Jacobian"), (basis, "dot", "the basis")]


def _mark_k(figure: go.Figure, result: DepthResult, view: View, blocks: tuple[int, ...]) -> None:
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
