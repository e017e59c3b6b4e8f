"""Eigenvalues of the blocks' linear maps in the plane, and what products of them leave over."""

from collections.abc import Iterator

import numpy as np
import plotly.colors as colors
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.spectra import effective_rank, spectrum_numbers
from coupling_core.base.records import resolve_block
from coupling_core.base.results import SpectrumResult
from coupling_core.base.units import counted, percent, rounded
from coupling_core.figures import style
from coupling_core.figures.words import subject

_QUANTILE, _LEAST = 0.995, 1.2
"""Share of the values at each end up to which an axis reaches, and how far it reaches at least."""


def eigenvalues(result: SpectrumResult, block: int | None = None) -> go.Figure:
    """The eigenvalues of M = I + J in the complex plane, with the unit circle.

    Args:
        result: may be partial; a block that waits has no points.
        block: the only one shown, 1..L; None shows all, coloured by depth.

    Returns:
        a figure with the traces "unit circle", "certain" and "uncertain"; customdata of the points
        is [block, modulus, how far it may be off].

    Raises:
        InputError: where there is no such block.
    """
    L = result.n_blocks
    blocks = range(1, L + 1) if block is None else (resolve_block(block, L),)
    at = np.array(blocks) - 1
    values = result.values[at].ravel()
    which = np.repeat(np.array(blocks), result.width)
    off, sure = result.uncertainty[at].ravel(), result.certain[at].ravel()
    known = np.isfinite(values)
    across, up = _ends(values[known])
    outside = (values[known].real < across[0]) | (values[known].real > across[1])
    outside |= np.abs(values[known].imag) > up[1]
    figure = style.new_figure(
        _alt(result, blocks, values[known], sure[known]),
        "Eigenvalues of M = I + J: outside the circle what a block lets grow, inside what it lets "
        "shrink, far from the real axis what it turns. What lies at 1 passes as it is. "
        f"Outside of what is drawn: {counted(int(outside.sum()), 'eigenvalue')}.",
        height=600,
        legend=style.BELOW,
        xaxis={
            "title": {"text": "Real part"},
            "range": across,
            "constrain": "domain",
            "constraintoward": "left",  # beside its colour bar
            **style.GRID,
        },
        yaxis={
            "title": {"text": "Imaginary part"},
            "range": up,
            "scaleanchor": "x",
            **style.GRID,
        },
    )
    figure.add_trace(_circle())
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


def _circle() -> go.Scatter:
    turn = np.linspace(0, 2 * np.pi, 181)
    return go.Scatter(
        x=np.cos(turn),
        y=np.sin(turn),
        name="unit circle",
        mode="lines",
        line=style.DOTTED,
        hoverinfo="skip",
    )


def _points(
    name: str, values: np.ndarray, which: np.ndarray, off: np.ndarray, shade: np.ndarray
) -> go.Scatter | go.Scattergl:
    is_sure = name == "certain"
    trace = go.Scatter if len(values) <= style.SVG_POINTS else go.Scattergl
    color = colors.sample_colorscale(list(style.DEPTH), shade.tolist()) if is_sure else style.INK
    return trace(
        x=values.real,
        y=values.imag,
        customdata=np.stack([which, np.abs(values), off], 1),
        name=name if is_sure else "may be off by more than 1\u00a0%",
        mode="markers",
        showlegend=bool(len(values)),
        marker={
            "size": 4,
            "color": color,
            "symbol": "circle" if is_sure else "circle-open",
            "opacity": 0.7,
        },
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


def linear_maps(result: SpectrumResult, *, twin: SpectrumResult | None = None) -> go.Figure:
    """How far each block's map is from normal, and what it does to what it acts on most.

    Args:
        result: may be partial.
        twin: the untrained model at the same token, whose curves are dotted.

    Returns:
        a figure with the traces "departure", "asymmetry" and "u . v", and those of the twin.
    """
    blocks = np.arange(1, result.n_blocks + 1)
    figure = style.new_figure(
        f"Henrici's departure from normality, asymmetry and mean u . v by block, "
        f"{subject(result)}.",
        "Departure: how far a map is from normal; 0 is normal, whose eigenvectors stand at right "
        "angles to one another. Asymmetry: of J, 0 where it is "
        "symmetric, 1 of a random matrix. u · v: the mean cosine between what leading directions "
        "write and what they read; below 0 a block takes away what it acts on most."
        f"{_twin_told(twin)}",
        height=400,
        xaxis={"title": {"text": "Block l"}},
        yaxis=style.axis("Departure, asymmetry, u · v<br>(no unit)"),
        hovermode="x unified",
    )
    for one, also, look in _drawn(result, twin):
        numbers = spectrum_numbers(one)
        for name, values, color in (
            ("departure", numbers.departure, style.ACCENT),
            ("asymmetry", numbers.asymmetry, style.SECOND),
            ("u · v", numbers.u_dot_v, style.INK),
        ):
            trace = style.line(blocks, values, name + also, color, 2, **look)
            figure.add_trace(trace.update(hovertemplate="%{y:.3f}"))
    return figure


def products_over_depth(result: SpectrumResult, *, twin: SpectrumResult | None = None) -> go.Figure:
    """How many directions the product M^l ... M^1 lets through, by the block that it ends with.

    Args:
        result: may be partial.
        twin: the untrained model at the same token, whose curves are dotted.

    Returns:
        a figure with the traces "effective rank", "participation ratio", those of the twin and, at
        the last block, "blocks in random order".
    """
    found, L = spectrum_numbers(result), result.n_blocks
    blocks = np.arange(1, L + 1)
    shuffled = effective_rank(result.shuffled_values)
    known = shuffled[np.isfinite(shuffled)]
    told = f", {rounded(float(np.median(known)), 1)} in random order" if known.size else ""
    figure = style.new_figure(
        f"Effective rank and participation ratio of the product of blocks 1 to l, "
        f"{subject(result)}: {rounded(float(found.effective_rank[-1]), 1)} of {result.width} at "
        f"the last block{told}.",
        f"Of the {result.width} directions in which the first state can be moved, how many arrive "
        "behind block l with about the same strength. Crosses: the same blocks multiplied in "
        f"random orders.{_twin_told(twin)}",
        height=420,
        xaxis={"title": {"text": "Block l"}},
        yaxis=style.axis("Directions") | style.log_axis(_all_directions(result, twin)),
        hovermode="x unified",
    )
    for one, also, look in _drawn(result, twin):
        numbers = spectrum_numbers(one)
        for name, values, color in (
            ("effective rank", numbers.effective_rank, style.ACCENT),
            ("participation ratio", numbers.participation, style.SECOND),
        ):
            trace = style.line(blocks, values, name + also, color, 2.5, **look)
            figure.add_trace(trace.update(hovertemplate="%{y:.1f}"))
    return figure.add_scatter(
        x=np.full(len(shuffled), L),
        y=shuffled,
        name="effective rank, blocks in random order",
        mode="markers",
        marker={"symbol": "x", "size": 8, "color": style.INK},
        hovertemplate="%{y:.1f}",
    )


def _drawn(
    result: SpectrumResult, twin: SpectrumResult | None
) -> Iterator[tuple[SpectrumResult, str, dict[str, str]]]:
    """What is drawn, what its curves' names end in, and how they look."""
    yield result, "", {}
    if twin is not None:
        yield twin, ", untrained", {"line_dash": "dot"}


def _all_directions(
    result: SpectrumResult, twin: SpectrumResult | None
) -> Float[np.ndarray, " number"]:
    found = [spectrum_numbers(one) for one, _, _ in _drawn(result, twin)]
    return np.concatenate(
        [each for one in found for each in (one.effective_rank, one.participation)]
    )


def _twin_told(twin: SpectrumResult | None) -> str:
    return "" if twin is None else " Dotted: the untrained twin."
