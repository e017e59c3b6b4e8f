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
from coupling_core.figures.words import subject

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
    """The eigenvalues of M = I + J in the complex plane, with the unit circle.

    They are of one `block`, 1..L, or of all, coloured by depth. The traces are "unit circle",
    "certain" and "uncertain"; customdata of the points is [block, modulus, how far it may be off].
    """
    L = result.n_blocks
    blocks = range(1, L + 1) if block is None else (resolve_block(block, L),)
    at = np.array(blocks) - 1
    values, which = result.values[at].ravel(), np.repeat(np.array(blocks), result.width)
    off, sure = result.uncertainty[at].ravel(), result.certain[at].ravel()
    known = np.isfinite(values)
    across, up = _ends(values[known])
    outside = (values[known].real < across[0]) | (values[known].real > across[1])
    outside |= np.abs(values[known].imag) > up[1]
    real = {"title": {"text": "Real part"}, "range": across, "constrain": "domain", **style.GRID}
    figure = style.new_figure(
        _alt(result, blocks, values[known], sure[known]),
        "Eigenvalues of M = I + J: outside the circle what a block lets grow, inside what it lets "
        "shrink, far from the real axis what it turns. What lies at 1 passes as it is. "
        f"Outside of what is drawn: {counted(int(outside.sum()), 'eigenvalue')}.",
        height=600,
        legend=style.BELOW,
        xaxis=real | {"constraintoward": "left"},  # beside its colour bar
        yaxis=style.axis("Imaginary part", range=up, scaleanchor="x"),
    )
    turn, look = np.linspace(0, 2 * np.pi, 181), {"line": style.DOTTED, "hoverinfo": "skip"}
    circle = {"x": np.cos(turn), "y": np.sin(turn), "name": "unit circle", "mode": "lines"}
    figure.add_scatter(**circle, **look)
    shade = (which - 1) / max(1, L - 1)
    for name, these in (("certain", known & sure), ("uncertain", known & ~sure)):
        figure.add_trace(_points(name, values[these], which[these], off[these], shade[these]))
    if block is None:
        figure.add_trace(style.place_bar(L, "Block l", "1 is next to the embedding"))
    return style.fix_margins(figure)


def _ends(values: np.ndarray) -> tuple[list[float], list[float]]:
    """Where the axes end, real and imaginary: past the circle, and past all but a few."""
    if not values.size:
        return [-_LEAST, _LEAST], [-_LEAST, _LEAST]
    left, right = np.quantile(values.real, [1 - _QUANTILE, _QUANTILE])
    up = max(_LEAST, 1.05 * float(np.quantile(np.abs(values.imag), _QUANTILE)))
    return [min(-_LEAST, 1.05 * float(left)), max(_LEAST, 1.05 * float(right))], [-up, up]


def _points(
    name: str, values: np.ndarray, which: np.ndarray, off: np.ndarray, shade: np.ndarray
) -> go.Scatter | go.Scattergl:
    is_sure = name == "certain"
    color = depth_colors(shade) if is_sure else style.INK
    marker = {"size": 4, "color": color, "opacity": 0.7}
    return (go.Scatter if len(values) <= style.SVG_POINTS else go.Scattergl)(
        x=values.real,
        y=values.imag,
        customdata=np.stack([which, np.abs(values), off], 1),
        name=name if is_sure else "may be off by more than 1\u00a0%",
        mode="markers",
        showlegend=bool(len(values)),
        marker=marker | {"symbol": "circle" if is_sure else "circle-open"},
        hovertemplate="block %{customdata[0]}<br>%{x:.4f} %{y:+.4f} i<br>modulus "
        "%{customdata[1]:.4f}, off by %{customdata[2]:.1g} at most<extra></extra>",
    )


def _alt(
    result: SpectrumResult, blocks: "range | tuple[int, ...]", values: np.ndarray, sure: np.ndarray
) -> str:
    shown = f"{len(blocks)} blocks" if len(blocks) > 1 else f"block {blocks[0]}"
    if not values.size:
        return f"Eigenvalues of the linear maps of {shown} of {subject(result)}: none yet."
    return (
        f"Eigenvalues of the linear maps I + J of {shown} of {subject(result)} in the plane: "
        f"{len(values)} of them, {percent(np.mean(np.abs(values) > 1))} outside the unit circle, "
        f"the largest of modulus {np.abs(values).max():.3g}; {percent(np.mean(sure), 1)} are "
        "certain to 1\u00a0%."
    )


def products_over_depth(result: SpectrumResult, *, twin: SpectrumResult | None = None) -> go.Figure:
    """How many directions the product M^l ... M^1 lets through, by the block that it ends with.

    Dotted is the untrained `twin`; at the last block stand the same blocks in random orders.
    """
    shuffled = array_of(result, AnyView(), "shuffled_effective_rank")
    last, name = np.full(len(shuffled), result.n_blocks), "effective rank, blocks in random order"
    crosses = Series(name, last, shuffled, width=0, marks=8, symbol="x")
    series = number_lines(result, AnyView(), PRODUCTS, twin, 2.5)
    return curves([*series, crosses], PRODUCTS, subject(result), {"width": result.width})
