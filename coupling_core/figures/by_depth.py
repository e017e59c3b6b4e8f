"""A number of every state, or of every block, by depth: a line for each token, and their median."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.path_curves import CURVES, CurveName, median, quantile
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import path_words, style
from coupling_core.figures.token_labels import label

MOST = 24
"""Up to so many tokens have a line each; more are drawn as the range of the middle 80 %."""
HEIGHT = 400


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
    beside = np.empty(0) if twin is None else median(curve.values(twin))
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
    figure.add_trace(_line(depth, median(values), "median", f"median {whose}"))
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
    low, high = (quantile(values, q) for q in (0.1, 0.9))
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
