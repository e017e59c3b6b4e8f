"""How far the linearised path of a token is from the true one."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.path_curves import median
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style

HEIGHT = 440


def stays(result: TrajectoryResult) -> Float[np.ndarray, "block token"]:
    """The error of a state that stays where it is."""
    return result.step_lengths / result.norms[1:]


def linearised(result: TrajectoryResult, *, token: int) -> go.Figure:
    """Relative errors by block of the linearised path, one step at a time and rolled out.

    Args:
        result: may be partial; a token that waits has no line.
        token: the selected one, 1..n.

    Returns:
        a figure with the traces "one-step", "rolled-out" and "rest" (the error of a state that
        stays where it is), and the medians over all tokens of the first two.
    """
    at = token - 1
    rest = stays(result)
    figure = style.new_figure(
        path_words.linearised_alt(result, token),
        path_words.linearised_caption(),
        height=HEIGHT,
        xaxis={"title": {"text": "Block l"}},
        yaxis=style.axis("Distance from x<sup>l</sup>, in units of its norm")
        | style.log_axis(np.stack([result.one_step[:, at], rest[:, at]])),
    )
    lines = (
        ("one-step", "one step from x<sup>l-1</sup>", result.one_step, style.ACCENT),
        ("rolled-out", "rolled out from x<sup>0</sup>", result.rolled_out, style.SECOND),
    )
    for name, text, values, color in lines:
        figure.add_trace(_line(values[:, at], name, text, color, width=2.5))
        middle = median(values)
        figure.add_trace(_line(middle, f"{name}-median", f"{name}, median", color, width=1))
    figure.add_trace(
        _line(rest[:, at], "rest", "the state stays where it is", style.INK, width=2, dash="dot")
    )
    return figure


def _line(
    values: np.ndarray, name: str, text: str, color: str, width: float, dash: str = "solid"
) -> go.Scatter:
    return style.line(
        np.arange(1, len(values) + 1),
        values,
        text,
        color,
        width,
        line_dash=dash,
        uid=name,
        showlegend=True,
        hovertemplate=f"{text}<br>block %{{x}}: %{{y:.3g}}<extra></extra>",
    )
