"""What the Training page's figures are of, and the ways to take them along."""

from collections.abc import Sequence

import streamlit as st

from coupling_core.analysis.by_step import Course
from coupling_core.analysis.exports import to_npz
from coupling_core.analysis.exports.training import steps_arrays, steps_table
from coupling_core.base.results import Result
from coupling_core.store import archive
from explorer.panels import guide
from explorer.panels.recipes import training_recipes
from explorer.panels.strip import facts, take_along
from explorer.session import chips
from explorer.session.state import State

_BYTES = "application/octet-stream"


def training_strip(shown: Sequence[tuple[Course, int]], state: State) -> None:
    """Say what is drawn, and offer link, files, recipes and a guide.

    Args:
        shown: runs, each with the step that is shown of it.
        state: how they are looked at.
    """
    results = [
        result
        for course, step in shown
        if (result := course.depth.get(step) or course.paths.get(step))
    ]
    with st.container(gap="xsmall"):
        if results:
            chips.of_result(results[0])
        for result in results:
            st.caption(facts(result, state.suite_view()))
        courses = [course for course, _ in shown]
        recipes = training_recipes([course.suite for course in courses], state)
        take_along(lambda: _files(courses, results, state), recipes, guide.TRAINING)


def _files(courses: Sequence[Course], results: Sequence[Result], state: State) -> None:
    view = state.suite_view()
    for label, data, name in (
        ("Numbers by step (.csv)", lambda: steps_table(courses, view), "training.csv"),
        ("Arrays by step (.npz)", lambda: to_npz(steps_arrays(courses, view)), "training.npz"),
    ):
        st.download_button(label, data, name, _BYTES, on_click="ignore", width="stretch")
    for result in results:
        st.download_button(
            f"{result.model_name} (.safetensors)",
            lambda result=result: archive.encode(result),
            f"{result.key}{archive.SUFFIX}",
            _BYTES,
            on_click="ignore",
            width="stretch",
        )
