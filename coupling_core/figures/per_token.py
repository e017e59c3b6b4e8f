"""One number of each token's whole path."""

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

PathNumber = Literal["line-shape", "expodistance", "equidistance"]
HEIGHT = 400
LABELLED = 48
"""Up to so many tokens have their texts on the axis; more have numbers."""


@dataclass(frozen=True)
class Number:
    """One number of a path.

    Args:
        title: of the axis, with its unit.
        values: (token).
        log: whether the axis is logarithmic.
        line: what a number is compared with: the value that an ideal path has; None where the
            axis cannot show it.
        ideal: what that path is, or has.
    """

    title: str
    values: Callable[[TrajectoryResult], Float[np.ndarray, " token"]]
    log: bool = False
    line: float | None = None
    ideal: str = ""


NUMBERS: dict[PathNumber, Number] = {
    "line-shape": Number(
        "Line-shape score (1 is a line)", lambda r: r.line_shape, line=1.0, ideal="a straight path"
    ),
    "expodistance": Number(
        "Expodistance (0 is even growth)",
        lambda r: trajectory.expodistance(r.norms),
        log=True,
    ),
    "equidistance": Number(
        "Variation of the steps (0 is equal steps)",
        lambda r: trajectory.equidistance(r.step_lengths),
        line=0.0,
        ideal="equal steps",
    ),
}


def per_token(
    result: TrajectoryResult,
    name: PathNumber,
    *,
    token: int,
    twin: TrajectoryResult | None = None,
) -> go.Figure:
    """One number of every token's path, and the mean over the prompt.

    Args:
        result: may be partial.
        name: which number.
        token: the selected one, 1..n, drawn in ink.
        twin: another result of the same prompt, drawn beside it.

    Returns:
        a figure with the traces "own", "selected" and, where there is a twin, "twin"; each point's
        custom data is the token's number.
    """
    number = NUMBERS[name]
    values = number.values(result)
    beside = values[:0] if twin is None else number.values(twin)
    every = np.concatenate([values, beside])
    both = path_words.of_both(result, twin, "Hollow dots and their mean are of")
    figure = style.new_figure(
        path_words.per_token_alt(result, name, values, token) + both,
        path_words.per_token_caption(result, name) + both,
        height=HEIGHT,
        xaxis=_texts(result),
        yaxis=style.axis(number.title) | (style.log_axis(every) if number.log else {}),
    )
    if twin is not None:
        figure.add_trace(_dots(twin, beside, "twin", style.SECOND, hollow=True, beside=result))
        _mean_line(figure, beside, style.SECOND)
    figure.add_trace(_dots(result, values, "own", style.ACCENT, beside=twin))
    _mean_line(figure, values, style.ACCENT)
    figure.add_trace(_selected(result, values, token))
    if number.line is not None:
        figure.add_hline(y=number.line, line=style.DOTTED)
    return figure


def _texts(result: TrajectoryResult) -> dict[str, object]:
    n = len(result.tokens)
    if n > LABELLED:
        return {"title": {"text": "Token"}, "range": [0, n + 1]}
    return {
        "tickvals": np.arange(1, n + 1),
        "ticktext": [label(text) for text in result.tokens],
        "tickangle": -45,
        "range": [0.5, n + 0.5],
    }


def _dots(
    result: TrajectoryResult,
    values: np.ndarray,
    name: str,
    color: str,
    *,
    hollow: bool = False,
    beside: TrajectoryResult | None,
) -> go.Scatter:
    numbers = np.arange(1, len(values) + 1)
    mean = path_words.mean_words(values)
    return go.Scatter(
        x=numbers,
        y=values,
        mode="markers",
        marker={"color": color, "size": 9, "symbol": "circle-open" if hollow else "circle"},
        customdata=numbers,
        text=[label(text) for text in result.tokens],
        uid=name,
        name=f"{path_words.which(result, beside, second=hollow)}, {mean}",
        showlegend=True,
        hovertemplate="token %{x}, “%{text}”: %{y:.4g}<extra></extra>",
    )


def _selected(result: TrajectoryResult, values: np.ndarray, token: int) -> go.Scatter:
    return go.Scatter(
        x=[token],
        y=[values[token - 1]],
        mode="markers",
        marker={"color": style.BLACK, "size": 13, "symbol": "circle-open", "line": {"width": 2}},
        meta=style.INKED,
        hoverinfo="skip",
        uid="selected",
        name=f"token {token}, “{label(result.tokens[token - 1])}”",
        showlegend=True,
    )


def _mean_line(figure: go.Figure, values: np.ndarray, color: str) -> None:
    known = values[np.isfinite(values)]
    if known.size:
        figure.add_hline(y=known.mean(), line={"color": color, "width": 1, "dash": "dash"})
