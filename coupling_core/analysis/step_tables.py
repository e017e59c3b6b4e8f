"""The numbers of training runs in the forms that other programs read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.by_step import Course, numbers, step_columns
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import View

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def steps_frame(courses: Sequence[Course], view: View) -> "DataFrame":
    """A row a step of a suite.

    Columns: suite, and those of `StepNumbers`.

    Raises:
        InputError: where K or a block is not in a result.
    """
    from pandas import DataFrame

    rows = [
        {"suite": course.suite.name} | found.to_dict()
        for course in courses
        for found in numbers(course, view)
    ]
    return DataFrame(rows, columns=["suite", "step", *step_columns()])


def steps_arrays(courses: Sequence[Course], view: View) -> dict[str, np.ndarray]:
    """What training runs come to, by name; NaN is not measured.

    Returns:
        `suites` (suite; text), `steps` (step; those of any suite), every number of `StepNumbers`
        (suite step), and for each suite NAME `NAME_coupling`, `NAME_chance` and `NAME_corrected`
        (step block block) with `NAME_steps`, the steps whose blocks are measured.

    Raises:
        InputError: where K or a block is not in a result.
    """
    steps = sorted({step for course in courses for step in course.steps})
    found = [{n.step: n for n in numbers(course, view)} for course in courses]
    named = {
        name: np.array([[getattr(run.get(step), name, np.nan) for step in steps] for run in found])
        for name in step_columns()
    }
    suites = np.array([course.suite.name for course in courses])
    maps = [_maps(course, view) for course in courses if course.depth]
    return (
        {"suites": suites, "steps": np.array(steps)}
        | named
        | {name: values for course in maps for name, values in course.items()}
    )


def steps_axes(courses: Sequence[Course]) -> dict[str, tuple[str, ...]]:
    """Names of the axes of `steps_arrays`; the maps of each suite have steps of their own."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(step_columns(), ("suite", "step"))
    found |= {"suites": ("suite",), "steps": ("step",)}
    for name in (course.suite.name for course in courses):
        own, maps = f"{name}_step", ("coupling", "chance", "corrected")
        found |= {f"{name}_{part}": (own, f"{name}_block", f"{name}_basis") for part in maps}
        found[f"{name}_steps"] = (own,)
    return found


def _maps(course: Course, view: View) -> dict[str, np.ndarray]:
    steps = [step for step in course.steps if step in course.depth]
    found = [score_pairs(course.depth[step], view) for step in steps]
    maps = {
        name: np.stack([getattr(scores, name) for scores in found])
        for name in ("coupling", "chance", "corrected")
    }
    return {
        f"{course.suite.name}_{name}": a for name, a in ({"steps": np.array(steps)} | maps).items()
    }
