"""Eigenvalues of the blocks' linear maps in the plane, and what products of them leave over."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.curves import Curves
from coupling_core.base.numbers import array_of
from coupling_core.base.records import AnyView, resolve_block
from coupling_core.base.results import SpectrumResult
from coupling_core.base.units import counted, percent
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves, depth_colors, number_lines

_QUANTILE, _LEAST = 0.995, 1.2
"""Share of the values at each end up to which an axis reaches, and how far it reaches at least."""
PRODUCTS = Curves(
    ["product_effective_rank", "product_participation"],
    y="Directions",
    caption="Of the {width} directions in which the first state can be moved, how many arrive "
    "behind block l with about the same strength. Crosses: the same blocks multiplied in random "
    "orders.",
    log=True,
    hover=".1f",
    height=420,
)


def eigenvalues(result: SpectrumResult, block: int | None = None) -> go.Figure:
    """The eigenvalues of M = I + J in the complex plane, of one block, or of all by depth."""
    L = result.n_blocks
    blocks = range(1, L + 1) if block is None else (resolve_block(block, L),)
    at = np.array(blocks) - 1
    values, which = result.values[at].ravel(), np.repeat(np.array(blocks), result.width)
    off, sure = result.uncertainty[at].ravel(), result.certain[at].ravel()
    known = np.isfinite(values)
    values, which, off, sure = (part[known] for part in (values, which, off, sure))
    across = up = [-_LEAST, _LEAST]
    if values.size:  # past the circle, and past all but a few
        left, right = 1.05 * np.quantile(values.real, [1 - _QUANTILE, _QUANTILE])
        top = max(_LEAST, 1.05 * float(np.quantile(np.abs(values.imag), _QUANTILE)))
        across, up = [min(-_LEAST, float(left)), max(_LEAST, float(right))], [-top, top]
    outside = (values.real < across[0]) | (values.real > across[1]) | (np.abs(values.imag) > up[1])
    shown = f"{len(blocks)} blocks" if len(blocks) > 1 else f"block {blocks[0]}"
    figure = style.new_figure(
        _alt(f"{shown} of {result.subject}", values, sure),
        "Eigenvalues of M = I + J: outside the circle what a block lets grow, inside what it lets "
        "shrink, far from the real axis what it turns. What lies at 1 passes as it is. "
        f"Outside of what is drawn: {counted(int(outside.sum()), 'eigenvalue')}.",
        height=600,
        legend=style.BELOW,
        xaxis=style.axis("Real part", range=across, constrain="domain", constraintoward="left"),
        yaxis=style.axis("Imaginary part", range=up, scaleanchor="x"),
    )
    turn = np.linspace(0, 2 * np.pi, 181)
    circle = style.line(np.cos(turn), np.sin(turn), "unit circle", hoverinfo="skip")
    figure.add_trace(circle.update(line=style.DOTTED))
    shade = (which - 1) / max(1, L - 1)
    for name, these in (("certain", sure), ("uncertain", ~sure)):
        figure.add_trace(_points(name, values[these], which[these], off[these], shade[these]))
    if block is None:
        figure.add_trace(style.place_bar(L, "Block l", "1 is next to the embedding"))
    return style.fix_margins(figure)


def _alt(of: str, values: np.ndarray, sure: np.ndarray) -> str:
    opening = f"Eigenvalues of the linear maps I + J of {of} in the plane:"
    if not values.size:
        return f"{opening} none yet."
    return (
        f"{opening} {len(values)} of them, {percent(np.mean(np.abs(values) > 1))} outside the unit "
        f"circle, the largest of modulus {np.abs(values).max():.3g}; {percent(np.mean(sure), 1)} "
        "are certain to 1\u00a0%."
    )


def _points(
    name: str, values: np.ndarray, which: np.ndarray, off: np.ndarray, shade: np.ndarray
) -> go.Scatter | go.Scattergl:
    is_sure = name == "certain"
    color, symbol = (depth_colors(shade), "circle") if is_sure else (style.INK, "circle-open")
    return style.dots(
        values.real,
        values.imag,
        name if is_sure else "may be off by more than 1\u00a0%",
        {"color": color, "symbol": symbol, "size": 4, "opacity": 0.7},
        customdata=np.stack([which, np.abs(values), off], 1),
        showlegend=bool(len(values)),
        hovertemplate="block %{customdata[0]}<br>%{x:.4f} %{y:+.4f} i<br>modulus "
        "%{customdata[1]:.4f}, off by %{customdata[2]:.1g} at most<extra></extra>",
    )


def products_over_depth(result: SpectrumResult, *, twin: SpectrumResult | None = None) -> go.Figure:
    """How many directions the product M^l ... M^1 lets through, by the block that it ends with."""
    shuffled = array_of(result, AnyView(), "shuffled_effective_rank")
    last, name = np.full(len(shuffled), result.n_blocks), "effective rank, blocks in random order"
    crosses = Series(name, last, shuffled, width=0, marks=8, symbol="x")
    series = number_lines(result, AnyView(), PRODUCTS, twin, 2.5)
    return curves([*series, crosses], PRODUCTS, result.subject, {"width": result.width})
