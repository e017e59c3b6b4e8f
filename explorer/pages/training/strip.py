"""What the Training page's figures are of, and the ways to take them along."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from coupling_core.analysis.by_step import Course
from coupling_core.analysis.exports import file_name, plain, signed, to_csv, to_npz
from coupling_core.analysis.step_tables import steps_arrays, steps_frame
from coupling_core.base.records import Request, View
from coupling_core.base.results import Result
from coupling_core.sources.suites import Suite
from coupling_core.store import archive
from explorer.pages.training.state import TrainingState
from explorer.panels.recipes import Recipes, call, command, viewed
from explorer.panels.strip import Download, Quiet, brief, facts, page_file, take_along
from explorer.session import chips

GUIDE = """
**Slider.** Each step is a checkpoint of one training run: drag it, play it, or use the arrow keys.
Maps, graph and paths keep their ranges over all steps, so that what changes on the screen has
changed in the model. A step in pale italics is not measured for this prompt.

**Maps and graph** are those of the Depth and the Layer graph page: 0 is chance, the diagonal is 1
by construction. What lies near the diagonal is coupling between neighbours.

**By training step.** The chance-corrected score and the alignment are 0 for blocks that have
nothing to do with one another, before training and after. The raw score *c* is not: its chance
floor (dashed) moves as the singular values change, so that *c* can fall while coupling rises.
Coupling need not rise to the end: look where it peaks, and whether the loss still falls there.

**Locality** is the mean score of neighbouring blocks minus that of all other pairs. **Paths**: each
step has principal components of its own, turned so that nothing flips from step to step.

**One prompt is no evidence.** A claim on training needs many texts and several seeds.
"""


def recipes(suites: Sequence[Suite], state: TrainingState) -> Recipes:
    """How to come by the numbers of training runs by step outside the app."""
    names = [suite.name for suite in suites]
    spectra = ", spectra=True" * state.asks_spectra
    request, view = state.suite_request(), replace(state.suite_view(), blocks=None)
    program = [
        "from coupling_core import Request, Store, View, collect, find_suite, numbers",
        "",
        f"request = {call(request, ('prompt', 'k'))}  # of every step, which has a model",
        f"for name in {names!r}:",
        f"    course = collect(find_suite(name), request, Store(){spectra})",
        "    print(course.suite.title)",
        f"    print(*numbers(course, {call(view)}), sep='\\n')  # see also course.depth, .paths",
    ]
    always = {"prompt": state.prompt, "k": state.suite_k}
    options = viewed(state, blocks=False) | {
        "token": (request.token, Request.token),
        "final-norm": (request.final_norm, Request.final_norm),
    }
    flags = ["--spectra"] * state.asks_spectra
    name = " ".join(["training", *(f"--suite={name}" for name in names), *flags])
    return Recipes("\n".join(program), command(name, always, options))


def training_strip(shown: Sequence[tuple[Course, int]], state: TrainingState) -> None:
    """Say what is drawn, and offer link, files, recipes and a guide."""
    results = [
        result
        for course, step in shown
        if (result := course.depth.get(step) or course.paths.get(step))
    ]
    with st.container(gap="xsmall"):
        if results:
            chips.of_result(results[0], clicks=False)
        view = state.suite_view()
        line = " and ".join(brief(result, view) for result in results) or "Nothing is measured yet"
        quiet = Quiet(line, [facts(result, view) for result in results])
        courses = [course for course, _ in shown]
        outside = recipes([course.suite for course in courses], state)
        take_along(_files(courses, results, view), outside, GUIDE, quiet)


def _files(courses: Sequence[Course], results: Sequence[Result], view: View) -> list[Download]:
    name = file_name(results[0], view, "by step", "") if results else "training"
    return [
        page_file(name),
        ("Numbers by step (.csv)", lambda: _table(courses, results, view), f"{name}.csv"),
        (
            "Arrays by step (.npz)",
            lambda: to_npz(plain(steps_arrays(courses, view))),
            f"{name}.npz",
        ),
    ] + [
        (
            f"{result.model_name} (.safetensors)",
            partial(archive.encode, result),
            file_name(result, view, "", archive.SUFFIX),
        )
        for result in results
    ]


def _table(courses: Sequence[Course], results: Sequence[Result], view: View) -> bytes:
    """The numbers of all steps, with columns that say of which prompt they are, and at which K."""
    table = steps_frame(courses, view)
    for result in results[:1]:  # each row is of a model of its own, which the suite and step name
        table = signed(table, result, view).drop(columns="model")
    return to_csv(table)
