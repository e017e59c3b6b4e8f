"""The numbers of training runs in the forms that other programs read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.by_step import Course, numbers, step_columns
from coupling_core.analysis.exports import Variables
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import View
from coupling_core.base.results.scores import MEASURES

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def steps_frame(courses: Sequence[Course], view: View) -> "DataFrame":
    """A row a step of a suite: its name, and the columns of `Course.to_pandas`."""
    from pandas import concat

    tables = {course.suite.name: course.to_pandas(view) for course in courses}
    return concat(tables, names=["suite", None]).reset_index("suite").reset_index(drop=True)


def steps_arrays(courses: Sequence[Course], view: View) -> Variables:
    """The numbers of `StepNumbers` by suite and step, and of each suite NAME the maps of scores."""
    steps = sorted({step for course in courses for step in course.steps})
    runs = [{n.step: n for n in numbers(course, view)} for course in courses]
    named: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        "suites": (("suite",), np.array([course.suite.name for course in courses])),
        "steps": (("step",), np.array(steps)),
    }
    for name in step_columns():
        values = [[getattr(run.get(step), name, np.nan) for step in steps] for run in runs]
        named[name] = ("suite", "step"), np.array(values)
    for course in courses:
        if course.depth:
            kept, suite = sorted(course.depth.keys() & {*course.steps}), course.suite.name
            maps = [score_pairs(course.depth[step], view) for step in kept]
            axes = (f"{suite}_step", f"{suite}_block", f"{suite}_basis")
            named[f"{suite}_steps"] = axes[:1], np.array(kept)
            for name in MEASURES:
                named[f"{suite}_{name}"] = axes, np.stack([getattr(one, name) for one in maps])
    return named
