"""The numbers of training runs by step: figures on a log axis with a place for 0."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Real

from coupling_core.analysis.by_step import Course, Runs, StepNumbers, numbers, step_columns
from coupling_core.base.curves import Curves
from coupling_core.base.records import AnyView, View
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.curves import Series, chance, curves
from coupling_core.figures.words import provenance

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

STEP_0 = 0.4
"""Where step 0 stands on the log axis, left of step 1."""
HEIGHT = 380
ROOM = 0.08  # of the range at each of its ends, for the marks of the points
COLORS = (style.ACCENT, *style.CATEGORIES)
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "pentagon")
"""So that runs are told apart without their colours too."""
LIMITS = {1: 0.6, 2: 0.5, 4: 0.4, 16: 0.35, 32: 0.3, 50: 0.25}
"""From each K on, about where 95 of 100 pairs lie of the runs that ship, at their most coupled."""
BY_STEP = Curves(
    x="step",
    caption=" Step 0, the initialisation, has a place of its own left of the log axis; a gap in a "
    "line is a step without a number.",
    at="step ",
    hover=".4g",
    height=HEIGHT,
)


def map_limit(k: int) -> float:
    """End of the colour range of a training run's score map at K, the same at all steps and runs.

    With many triplets of a narrow model less is left of a score than with few.
    """
    return next(limit for least, limit in reversed(LIMITS.items()) if k >= least)


def by_step(
    runs: Runs, name: str, view: View, *, step: int | None = None, source: str = ""
) -> go.Figure:
    """One number of one or more runs by step; a step that is not measured is a gap.

    A current step is marked by a line, and by a ring on each run that has a number there.
    """
    field = name.replace("-", "_")
    column = step_columns()[field].column
    looks = list(zip(runs.items(), cycle(COLORS), cycle(SYMBOLS), strict=False))
    levels, every = [], [one for run in runs.values() for one in run]
    if isinstance(column.ideal, str):
        levels = [
            replace(chance(place(_values(run, "step")), _values(run, column.ideal)), color=color)
            for (_, run), color, _ in looks
        ]
    elif column.ideal is not None and column.ideal_name == "chance":
        levels = [chance(place(sorted({one.step for one in every})), column.ideal)]
    series = [
        replace(one, hover=False, more={"showlegend": not at}) for at, one in enumerate(levels)
    ]
    for (title, run), color, symbol in looks:
        steps, y = _values(run, "step"), _values(run, field)
        own = Series(title, place(steps), y, color, 2.5, marks=7, symbol=symbol, at=steps)
        series.append(replace(own, more={"showlegend": True}))  # where it is the only one, too
    title = style.two_lines(column.title, style.score_terms(view) if column.scored else "")
    figure = curves(
        series,
        replace(BY_STEP, y=title, caption=column.reading + BY_STEP.caption, log=column.log),
        ", ".join(runs),
        xaxis=step_axis([one.step for one in every]),
        yaxis=_span(series, is_log=column.log),
        told={"title": ", ".join(runs), "source": source},
    )
    return figure if step is None else _mark(figure, step, runs, field)


def steps_table(runs: Runs) -> "DataFrame":
    """Twin of the numbers by step: a row a step of a run, columns run and those of StepNumbers."""
    from pandas import DataFrame

    rows = [{"run": title} | numbers.to_dict() for title, run in runs.items() for numbers in run]
    return DataFrame(rows)


def course(run: Course, name: str, view: View) -> go.Figure:
    """One number of a training run by step, with where it comes from."""
    runs = {run.suite.title: numbers(run, view)}
    return by_step(runs, name, view, source=training_source([run], view))


def step_axis(steps: Sequence[int]) -> dict[str, object]:
    """A log axis over training steps with a place for step 0; the same whatever is measured."""
    powers = 10 ** np.arange(np.ceil(np.log10(max(*steps, 1))) + 1)
    low, high = np.log10([place([min(steps)])[0] * 0.85, max(*steps, 1) * 1.2])
    return {
        "type": "log",
        "range": [float(low), float(high)],
        "tickvals": [STEP_0, *powers.tolist()],
        "ticktext": ["0", *(f"{power:,.0f}" for power in powers)],
    }


def place(steps: Sequence[int] | Real[np.ndarray, " step"]) -> Float[np.ndarray, " step"]:
    """Where steps stand on the axis."""
    return np.where(np.equal(steps, 0), STEP_0, np.asarray(steps, np.float64))


def _span(series: Sequence[Series], *, is_log: bool) -> dict[str, object]:
    """Range of what is drawn, in the units of the axis: fixed, so that a mark moves nothing."""
    values = np.concatenate([one.y for one in series if one.y is not None])
    values = np.log10(values[values > 0]) if is_log else values[np.isfinite(values)]
    return {"range": style.with_room(values, ROOM)} if values.size else {}


def _values(run: Sequence[StepNumbers], field: str) -> Float[np.ndarray, " step"]:
    """A number by step; NaN where a step has none."""
    return np.array([getattr(one, field) for one in run], np.float64)


def _mark(figure: go.Figure, step: int, runs: Runs, field: str) -> go.Figure:
    """Mark a step by a line, and by a ring on every run that has a number there."""
    (x,) = place([step])
    every = [one for run in runs.values() for one in run if one.step == step]
    look = {"color": style.BLACK, "size": 14, "symbol": "circle-open", "line": {"width": 2}}
    rings = style.dots([x] * len(every), _values(every, field), "current", look, hoverinfo="skip")
    figure.add_vline(x=x, line=style.DOTTED)
    return figure.add_trace(rings.update(meta=style.INKED, showlegend=False))


def training_source(courses: Sequence[Course], view: AnyView) -> str:
    """Where a figure over training steps comes from, in one line; "" where nothing is measured."""
    measured = [result for course in courses for result in (course.depth or course.paths).values()]
    if not measured:
        return ""
    # One that is not certified speaks for all.
    result = next((result for result in measured if not result.certified), measured[-1])
    runs = "; ".join(
        f"{course.suite.title} ({len(course.depth or course.paths)} of "
        f"{counted(len(course.steps), 'step')})"
        for course in courses
    )
    return provenance(result, view, f"{runs} {result.measured}")
