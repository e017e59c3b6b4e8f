"""A number of every state, or of every block, by depth: a line for each token, and their median."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis import trajectory
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.token_labels import label

CurveName = Literal["norms", "growth", "steps", "line-shape-by-depth", "entropy"]
MOST = 24
"""Up to so many tokens have a line each; more are drawn as the range of the middle 80 %."""
HEIGHT = 400


@dataclass(frozen=True)
class Curve:
    """One number by depth.

    Args:
        title: of the axis, with its unit.
        values: (depth token).
        first: depth of the first row: 0 where there is one a state, 1 where there is one a block.
        log: whether the axis is logarithmic.
    """

    title: str
    values: Callable[[TrajectoryResult], Float[np.ndarray, "depth token"]]
    first: int = 0
    log: bool = False

    @property
    def depth(self) -> str:
        """What is counted along the depth."""
        return "Block l" if self.first else "State x<sup>l</sup> (0 is the embedding)"


CURVES: dict[CurveName, Curve] = {
    "norms": Curve("Norm of the state (no unit)", lambda r: r.norms, log=True),
    "growth": Curve(
        "Growth rate alpha<sup>l</sup> (nats a block)",
        lambda r: trajectory.growth_rates(r.norms),
        first=1,
    ),
    "steps": Curve(
        "Step ‖x<sup>l</sup> - x<sup>l-1</sup>‖ (mean step = 1)",
        lambda r: r.step_lengths / r.step_lengths.mean(0),
        first=1,
        log=True,
    ),
    "line-shape-by-depth": Curve(
        f"Line-shape score of {trajectory.WINDOW} states", lambda r: r.windowed_line_shape
    ),
    "entropy": Curve("Entropy of the logits (nats)", lambda r: r.entropy),
}


def by_depth(
    result: TrajectoryResult,
    name: CurveName,
    *,
    token: int,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """One number of all tokens by depth.

    Args:
        result: may be partial.
        name: which number.
        token: the selected one, 1..n, drawn in ink.
        twin: another result of the same prompt, whose median is drawn too.

    Returns:
        a figure with the traces "tokens" (or "low" and "high"), "median", "twin" where there is
        one, and "selected".
    """
    curve = CURVES[name]
    values = curve.values(result)
    beside = np.empty(0) if twin is None else style.median(curve.values(twin))
    every = np.concatenate([values.ravel(), beside])
    both = path_words.of_both(result, twin, "The dashed line is the median of")
    figure = style.new_figure(
        path_words.by_depth_alt(result, name, values, token, curve.first) + both,
        path_words.by_depth_caption(result, name) + both,
        height=HEIGHT,
        xaxis={"title": {"text": curve.depth}},
        yaxis=style.axis(curve.title) | (style.log_axis(every) if curve.log else {}),
    )
    depth = np.arange(curve.first, result.n_blocks + 1)
    has_same = twin is None or twin.tokens == result.tokens
    if has_same:  # of another prompt the medians alone, or whose tokens these are would be unclear
        each = _tokens if values.shape[1] <= MOST else _range
        figure.add_traces(each(depth, values))
    whose = "of the tokens" if twin is None else f"of {path_words.which(result, twin)}"
    figure.add_trace(_line(depth, style.median(values), "median", f"median {whose}"))
    if twin is not None:
        at = np.linspace(depth[0], depth[-1], len(beside))  # the same depth, were L another
        line = _line(at, beside, "twin", f"median of {path_words.which(twin, result, second=True)}")
        figure.add_trace(line.update(line={"color": style.SECOND, "dash": "dash"}))
    if has_same:
        figure.add_trace(selected_line(result, depth, values[:, token - 1], token))
    return figure


def selected_line(
    result: TrajectoryResult,
    depth: Float[np.ndarray, " depth"] | np.ndarray,
    values: Float[np.ndarray, " depth"],
    token: int,
) -> go.Scatter:
    """The line of the selected token."""
    text = f"token {token}, “{label(result.tokens[token - 1])}”"
    line = _line(depth, values, "selected", text)
    return line.update(line={"color": style.BLACK, "width": 2.5, "dash": "solid"}, meta=style.INKED)


def _line(depth: np.ndarray, values: np.ndarray, name: str, text: str) -> go.Scatter:
    return style.line(
        depth,
        values,
        text,
        uid=name,
        showlegend=True,
        hovertemplate=f"{text}<br>l = %{{x}}: %{{y:.4g}}<extra></extra>",
    )


def _tokens(depth: np.ndarray, values: np.ndarray) -> list[go.Scatter]:
    """All tokens as one trace with gaps: many traces would be slow to draw."""
    gap = np.full((1, values.shape[1]), np.nan)
    x = np.tile(np.r_[depth, np.nan], values.shape[1])
    y = np.concatenate([values, gap]).T.ravel()
    look = {"hoverinfo": "skip", "uid": "tokens", "showlegend": True}
    return [style.line(x, y, "each token", style.FAINT, 1.2, **look)]


def _range(depth: np.ndarray, values: np.ndarray) -> list[go.Scatter]:
    low, high = (style.quantile(values, q) for q in (0.1, 0.9))
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        go.Scatter(x=depth, y=low, uid="low", name="low", showlegend=False, **edge),
        go.Scatter(
            x=depth,
            y=high,
            uid="high",
            name="80\u00a0% of the tokens",
            fill="tonexty",
            fillcolor=style.FAINT,
            showlegend=True,
            **edge,
        ),
    ]
