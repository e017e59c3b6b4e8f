"""Noise on the first state: how alike the states stay, by size and by depth, and the radius."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.perturbation import OFF, perturbation_radius, spread
from coupling_core.base.results import PerturbationResult
from coupling_core.base.results.perturbation import WAYS
from coupling_core.figures import style
from coupling_core.figures.words import subject

_COLORS = (style.ACCENT, style.SECOND, style.INK)
_FADED = ("rgba(228, 87, 46, 0.18)", "rgba(42, 157, 143, 0.18)", style.BAND)
_NAMES = {
    "isotropic": "isotropic",
    "leading": "along what block 1 reads most",
    "random": "along random directions",
}


def noise_by_size(
    result: PerturbationResult, *, twin: PerturbationResult | None = None
) -> go.Figure:
    """How alike the disturbed state is to the model's own, by size: the preprint's Figure 34.

    Args:
        result: may be partial.
        twin: the untrained model at the same token, whose curves are dotted.

    Returns:
        a figure with a band and a curve for block 1 and for the last block, what first order says
        there (dashed), and those of the twin.
    """
    ends = {"block 1": 1, f"block {result.n_blocks}": result.n_blocks}
    own, linear = spread(result.cosine[0]), spread(result.linear_cosine[0])
    told = "; ".join(
        f"{name}: {own.median[0, at]:.3f} to {own.median[-1, at]:.3f}" for name, at in ends.items()
    )
    figure = style.new_figure(
        f"Cosine of the disturbed state with the model's own by the size of isotropic noise, "
        f"{subject(result)}, {told}.",
        "Noise is added to the embedding of the measured token, in units of its norm. 1 is the "
        "undisturbed state. In the bands lie 95\u00a0% of the draws; dashed is what the product of "
        f"the linear blocks says.{_twin_told(twin)}",
        height=420,
        xaxis={"title": {"text": "Size of the noise"}} | style.log_axis(result.noise_sizes),
        yaxis=style.axis("Cosine with the undisturbed state"),
    )
    x = result.noise_sizes
    for (name, at), color, ground in zip(ends.items(), _COLORS, _FADED, strict=False):
        figure.add_trace(_ground(x, own.low[:, at], own.high[:, at], name, ground))
        figure.add_trace(_curve(x, own.median[:, at], name, color))
        first = f"{name}, first order"
        figure.add_trace(_curve(x, linear.median[:, at], first, color, line_dash="dash"))
    if twin is not None:
        of_twin = spread(twin.cosine[0]).median
        for (name, at), color in zip(ends.items(), _COLORS, strict=False):
            told = f"{name}, untrained"
            trace = _curve(twin.noise_sizes, of_twin[:, at], told, color, line_dash="dot")
            figure.add_trace(trace)
    return figure


def noise_by_depth(
    result: PerturbationResult, size: int, *, twin: PerturbationResult | None = None
) -> go.Figure:
    """How far the states are from the model's own behind each block, at one size.

    Args:
        result: may be partial.
        size: its number among the sizes, from 0.
        twin: the untrained model at the same token, whose curve of isotropic noise is dotted.
    """
    states = np.arange(result.n_blocks + 1)
    figure = style.new_figure(
        f"Distance of the disturbed states from the model's own by block, for noise of "
        f"{result.noise_sizes[size]:g} of the embedding, {subject(result)}.",
        "The norm of the change, in units of the state's own norm; state 0 is the embedding. In "
        "the bands lie 95\u00a0% of the draws; dashed is what the product of the linear blocks "
        "says. Random directions are drawn four times, as many as there are leading ones each time."
        f"{_twin_told(twin)}",
        height=420,
        xaxis={"title": {"text": "Behind block l"}},
        yaxis=style.axis("Distance, relative")
        | style.log_axis(_positive(result.distance[:, size], result.linear_distance[:, size])),
    )
    for way, name in enumerate(WAYS):
        own = spread(result.distance[way, size])
        figure.add_trace(_ground(states, own.low, own.high, _NAMES[name], _FADED[way]))
        figure.add_trace(_curve(states, own.median, _NAMES[name], _COLORS[way]))
        linear = spread(result.linear_distance[way, size]).median
        told = f"{_NAMES[name]}, first order"
        figure.add_trace(_curve(states, linear, told, _COLORS[way], line_dash="dash"))
    if twin is not None:
        own = spread(twin.distance[0, size])
        told = "isotropic, untrained"
        figure.add_trace(_curve(states, own.median, told, style.ACCENT, line_dash="dot"))
    return figure


def noise_radius(
    result: PerturbationResult, *, twin: PerturbationResult | None = None
) -> go.Figure:
    """Up to which size of noise the product of the linear blocks stands for what happens.

    Args:
        result: may be partial.
        twin: the untrained model at the same token, whose curve of isotropic noise is dotted.

    Returns:
        a figure with a curve for each way; a block whose radius is beyond the sizes measured, or
        hidden by rounding, has no point.
    """
    states = np.arange(1, result.n_blocks + 1)
    found = _drawn(result)
    known = found[0][np.isfinite(found[0])]
    told = (
        f"from {known.min():.3g} to {known.max():.3g} of the embedding for isotropic noise"
        if known.size
        else "none within the sizes measured"
    )
    off = f"{100 * OFF:.0f} %"
    figure = style.new_figure(
        f"Size of noise at which first order is off by {off}, by block, {subject(result)}: {told}.",
        f"Where half of the draws are off by {off} of the true change: below it the Jacobians "
        "say what noise on the embedding comes to behind block l, above it they do not. A block "
        f"without a point lies beyond the sizes measured.{_twin_told(twin)}",
        height=380,
        xaxis={"title": {"text": "Behind block l"}},
        yaxis=style.axis("Size of the noise") | {"rangemode": "tozero"},
    )
    for way, name in enumerate(WAYS):
        figure.add_trace(
            _curve(states, found[way], _NAMES[name], _COLORS[way]).update(mode="lines+markers")
        )
    if twin is not None:
        own = _drawn(twin)[0]
        told = "isotropic, untrained"
        figure.add_trace(_curve(states, own, told, style.ACCENT, line_dash="dot"))
    return figure


def _drawn(result: PerturbationResult) -> np.ndarray:
    """Radii behind the blocks, as far as they are numbers within the sizes measured."""
    found = perturbation_radius(result)[:, 1:]
    return np.where(np.isfinite(found) & (found > 0), found, np.nan)


def _positive(*values: np.ndarray) -> np.ndarray:
    return np.concatenate([each.ravel() for each in values]).astype(np.float64)


def _curve(x: np.ndarray, y: np.ndarray, name: str, color: str, **more: object) -> go.Scatter:
    trace = style.line(x, y, name, color, 2, **more)
    return trace.update(hovertemplate="%{x:g}: %{y:.4g}")


def _ground(x: np.ndarray, low: np.ndarray, high: np.ndarray, name: str, color: str) -> go.Scatter:
    known = np.isfinite(low) & np.isfinite(high)
    return style.band(
        np.asarray(x, np.float64)[known],
        low[known].astype(np.float64),
        high[known].astype(np.float64),
        f"{name}, 95\u00a0% of the draws",
        color=color,
    )


def _twin_told(twin: PerturbationResult | None) -> str:
    return "" if twin is None else " Dotted: the untrained twin."
