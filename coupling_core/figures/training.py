"""The numbers of training runs by step: a line a run, on a log axis with a place for step 0."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from coupling_core.analysis.by_step import Runs, StepNumbers, step_columns
from coupling_core.base.numbers import Column
from coupling_core.base.records import View
from coupling_core.figures import style, training_words

STEP_0 = 0.4
"""Where step 0 stands on the log axis, left of step 1."""
HEIGHT = 380
ROOM = 0.08
"""Of the range at each of its ends, for the marks of the points."""
COLORS = (style.ACCENT, *style.CATEGORIES)
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "pentagon")
"""So that runs are told apart without their colours too."""


LIMITS = {1: 0.6, 2: 0.5, 4: 0.4, 16: 0.35, 32: 0.3, 50: 0.25}
"""From each K on, about where 95 of 100 pairs lie of the runs that ship, at their most coupled."""


def map_limit(k: int) -> float:
    """End of the colour range of a training run's score map, the same at all steps and runs.

    With many triplets of a narrow model less is left of a score than with few.

    Args:
        k: number of leading triplets.
    """
    return next(limit for least, limit in reversed(LIMITS.items()) if k >= least)


def by_step(
    runs: Runs, name: str, view: View, *, step: int | None = None, source: str = ""
) -> go.Figure:
    """One number of one or more runs by step; a step that is not measured is a gap.

    Args:
        runs: their numbers, all at this view.
        name: which number.
        view: K and definition.
        step: the current one, marked by a line and by a ring on each run that has a number there.
        source: where the numbers come from, for files (see `training_source`).

    Returns:
        a figure with a trace a run, named by its title, whose customdata is the step; the trace
        "chance" (a run's own floor where it has one); and the trace "current" where there is one.
    """
    field = name.replace("-", "_")
    curve = step_columns()[field].column
    every = [numbers for run in runs.values() for numbers in run]
    steps = sorted({numbers.step for numbers in every})
    terms = style.score_terms(view) if curve.scored else ""
    figure = style.new_figure(
        training_words.by_step_alt(runs, curve.title, field, terms),
        training_words.by_step_caption(curve.reading),
        {"title": ", ".join(runs), "source": source},
        height=HEIGHT,
        xaxis=step_axis(steps),
        yaxis=style.axis(style.two_lines(curve.title, terms))
        | (style.log_axis(np.array([getattr(n, field) for n in every])) if curve.log else {}),
    )
    looks = list(zip(runs.items(), cycle(COLORS), cycle(SYMBOLS), strict=False))
    if isinstance(curve.ideal, str):
        floors = [_chance(*_points(run, curve.ideal), color) for (_, run), color, _ in looks]
        figure.add_traces(floors)
    elif curve.ideal is not None and curve.ideal_name == "chance":
        figure.add_trace(_chance(steps, [curve.ideal] * len(steps), style.INK))
    for (run_title, run), color, symbol in looks:
        figure.add_trace(_line(*_points(run, field), run_title, color, symbol))
    figure.update_traces(showlegend=True, selector=0)
    figure.update_yaxes(range=_span(figure, curve))
    return figure if step is None else _mark(figure, step, runs, field)


def step_axis(steps: Sequence[int]) -> dict[str, object]:
    """A log axis over training steps with a place for step 0; the same whatever is measured."""
    powers = 10 ** np.arange(np.ceil(np.log10(max(*steps, 1))) + 1)
    low, high = np.log10([place([min(steps)])[0] * 0.85, max(*steps, 1) * 1.2])
    return {
        "title": {"text": "Training step"},
        "type": "log",
        "range": [float(low), float(high)],
        "tickvals": [STEP_0, *powers.tolist()],
        "ticktext": ["0", *(f"{power:,.0f}" for power in powers)],
    }


def place(steps: Sequence[int]) -> Float[np.ndarray, " step"]:
    """Where steps stand on the axis."""
    return np.where(np.equal(steps, 0), STEP_0, np.asarray(steps, np.float64))


def _span(figure: go.Figure, curve: Column) -> list[float] | None:
    """Range of what is drawn, in the units of the axis: fixed, so that a mark moves nothing."""
    values = np.concatenate([np.asarray(trace.y, np.float64) for trace in figure.data])
    values = np.log10(values[values > 0]) if curve.log else values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = values.min(), values.max()
    room = ROOM * ((high - low) or 1)
    return [float(low - room), float(high + room)]


def _points(run: Sequence[StepNumbers], field: str) -> tuple[list[int], list[float]]:
    """Steps, and their numbers; NaN where one has none."""
    return [numbers.step for numbers in run], [getattr(numbers, field) for numbers in run]


def _chance(steps: Sequence[int], values: Sequence[float], color: str) -> go.Scatter:
    look = {"line_dash": "dash", "showlegend": False, "hoverinfo": "skip"}
    return style.line(place(steps), values, "chance", color, 1.5, **look)


def _line(
    steps: Sequence[int], values: Sequence[float], title: str, color: str, symbol: str
) -> go.Scatter:
    return go.Scatter(
        x=place(steps),
        y=values,
        customdata=steps,
        mode="lines+markers",
        line={"color": color, "width": 2.5},
        marker={"size": 7, "symbol": symbol},
        name=title,
        showlegend=True,
        hovertemplate=f"{title}<br>step %{{customdata}}: %{{y:.4g}}<extra></extra>",
    )


def _mark(figure: go.Figure, step: int, runs: Runs, field: str) -> go.Figure:
    """Mark a step by a line, and by a ring on every run that has a number there."""
    (x,) = place([step])
    every = [numbers for run in runs.values() for numbers in run if numbers.step == step]
    figure.add_vline(x=x, line=style.DOTTED)
    return figure.add_scatter(
        x=[x] * len(every),
        y=[getattr(numbers, field) for numbers in every],
        mode="markers",
        marker={"color": style.BLACK, "size": 14, "symbol": "circle-open", "line": {"width": 2}},
        meta=style.INKED,
        name="current",
        showlegend=False,
        hoverinfo="skip",
    )
