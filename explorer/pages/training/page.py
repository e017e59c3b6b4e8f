"""The Training page: maps that a slider over checkpoints moves, and numbers by step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from coupling_core import figures
from coupling_core.analysis import step_words
from coupling_core.analysis.by_step import Course, StepNumbers
from coupling_core.analysis.by_step import step_figures as figures_of
from coupling_core.analysis.projection import project_paths
from coupling_core.base.records import resolve_token
from coupling_core.base.results import DepthResult, TrajectoryResult
from coupling_core.base.units import with_minus
from explorer.pages import depth
from explorer.pages.training import measuring_runs, overlay, step_figures, step_slider
from explorer.pages.training.courses import Run, open_run
from explorer.pages.training.state import ByStep, TrainingState
from explorer.pages.training.strip import GUIDE, training_strip
from explorer.pages.training.suite_picker import suite_picker
from explorer.panels.chart import Shown, draw
from explorer.panels.drawer import selected, selection
from explorer.panels.page import Page
from explorer.panels.switches import SCORE, switches, threshold
from explorer.panels.whole import begin, whole
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain, rounded, sentence
from explorer.session.session import bound, change, current, keep_link

K_MAX = 50
"""Largest K of the slider where nothing is measured yet."""
PAGE = Page(
    "Training",
    "pages/5_Training.py",
    "Many models",
    state=TrainingState,
    guide=GUIDE,
    picker=suite_picker,
    asks_k=False,
    asks_twin=False,
)

_MARKED = "_marked"
_GROUPS: dict[ByStep, tuple[str, tuple[str, ...]]] = {
    "coupling": ("Coupling and loss", ("corrected", "loss")),
    "parts": ("Overlap and pairing", ("overlap", "paired")),
    "locality": ("Alignment and locality", ("alignment", "locality")),
    "paths": ("Paths", figures_of("trajectory")),
    "spectra": ("Spectra", figures_of("spectrum")),
}
"""Name in the state: words, and the numbers drawn, two side by side."""


@dataclass(frozen=True)
class _Step:
    """What is drawn of one run at one step.

    Args:
        run: the training run.
        course: what is stored of it.
        step: of training.
        several: whether other runs are drawn too.
    """

    run: Run
    course: Course
    step: int
    several: bool

    @property
    def depth(self) -> DepthResult | None:
        """The blocks; None where they are not measured."""
        return self.course.depth.get(self.step)

    @property
    def paths(self) -> TrajectoryResult | None:
        """The paths; None where they are not measured."""
        return self.course.paths.get(self.step)

    def key(self, figure: str) -> str:
        """Of a figure, unique on the page."""
        return f"{figure}-{self.run.name}" if self.several else figure


def show(state: TrainingState) -> None:
    """Draw the page."""
    step_slider.rest()
    over = overlay.overlay(state)
    measuring_runs.watch([*_runs(state), *([over.run] if over else [])])
    _moving()


def _runs(state: TrainingState) -> list[Run]:
    request = state.suite_request()
    return [
        open_run(suite.name, request, spectra=state.asks_spectra) for suite in state.chosen_suites()
    ]


@st.fragment
def _moving() -> None:
    """All that follows the slider; only this is drawn anew when it moves."""
    begin(PAGE.title)
    state = current(TrainingState)
    with plain_errors():
        runs = _runs(state)
        courses = [run.course for run in runs]
        steps = sorted({step for course in courses for step in course.steps})
        step = state.nearest_step(steps)
        shown = [_Step(*pair, step, len(runs) > 1) for pair in zip(runs, courses, strict=True)]
        above = st.container()
        with plain_errors():
            _draw(shown, state)
        training_strip([(one.course, step) for one in shown], state)
        measured = {one for course in courses for one in course.depth if one in course.paths}
        with above:
            step_slider.step_slider(steps, measured, step)
    if step_slider.pace() == "resting":
        keep_link()
    with plain_errors():
        _make_ahead(shown, steps, state)


def _draw(shown: Sequence[_Step], state: TrainingState) -> None:
    measured = [one.depth for one in shown if one.depth]
    over = overlay.overlay(state)
    named = overlay.named([one.run for one in shown], over)
    if any(run.course.depth or run.course.paths for run in named.values()):
        runs = {name: _numbers(run, state) for name, run in named.items()}
        _sentences(runs)
        _curves(named, runs, shown[0].step, state)
    k_max = min([K_MAX, *(r.k_max for one in shown for r in one.course.depth.values())])
    _switches(k_max)
    for one in shown:
        with plain_errors():
            _maps(one, state)
    if over and over.run.course.missing:
        with plain_errors():
            measuring_runs.offer(over.run, shown[0].step, place="over")
    if measured:
        _pair(measured[0], shown[0], state)


def _numbers(run: Run, state: TrainingState) -> Sequence[StepNumbers]:
    """The numbers of a run by step; its own number of blocks says which they are."""
    results = run.course.depth
    n_blocks = next(iter(results.values())).n_blocks if results else None
    return run.numbers(state.suite_view(n_blocks))


def _sentences(runs: Mapping[str, Sequence[StepNumbers]]) -> None:
    """A sentence a run, of what its curves do; and one that compares two."""
    for name, numbers in runs.items():
        if told := step_words.rise_and_fall(numbers):
            _say(f"{name}: " * (len(runs) > 1) + told)
    if told := step_words.compared(runs):
        _say(told)


def _say(sentence: str) -> None:
    """A sentence on the page, and in the file of the whole page."""
    st.markdown(plain(with_minus(sentence)))
    whole().sentences.append(sentence)


def _switches(k_max: int) -> None:
    with st.container(horizontal=True, gap="medium"):
        bound(
            st.slider,
            "K: leading directions of each block",
            "suite_k",
            1,
            max(2, k_max),
            place="training",
            write=lambda k: min(k, k_max),
            width=320,
        )
        switches([SCORE], "training")
        threshold("training")


def _maps(one: _Step, state: TrainingState) -> None:
    """Score map, graph and paths of one run, and what it lacks."""
    if one.several:
        st.subheader(one.course.suite.title, anchor=False)
    for doubt in one.run.doubts():
        st.warning(sentence(doubt), icon=":material/warning:")
    if one.step not in one.course.steps:
        st.info(f"{one.course.suite.title} has no checkpoint of step {one.step:,}.")
        return
    if one.depth:
        if state.blocks and state.range_of(one.depth.n_blocks) is None:
            n = one.depth.n_blocks
            st.caption(
                f"This model has blocks 1..{n} and not {plain(state.blocks)}: all are shown."
            )
        st.markdown(with_minus(_sentence(one, one.depth, state)))
    if one.depth or one.paths:
        columns = dict(zip(("scores", "graph", "paths"), st.columns(3, gap="medium"), strict=True))
        for panel in _panels(one, state):
            with columns[panel.name]:
                draw(panel.figure(), one.key(panel.name), panel.of, panel.table, picks=panel.picks)
    measuring_runs.offer(one.run, one.step)


class _Panel(NamedTuple):
    """One of the figures of a step; made, or found made, when it is called for."""

    name: str
    figure: Callable[[], go.Figure]
    of: Shown
    table: Callable[[], pd.DataFrame]
    picks: tuple[str, ...]


def _panels(one: _Step, state: TrainingState) -> Iterator[_Panel]:
    """Score map, graph and paths of what is measured of a step."""
    if one.depth:
        shown = Shown(one.depth, state.suite_view(one.depth.n_blocks))
        pair = selected(one.depth, state)
        weighed = {"corrected": not state.raw, "threshold": state.threshold}
        score_map = partial(step_figures.scores, *shown, corrected=not state.raw, pair=pair)
        graph = partial(step_figures.graph, *shown, **weighed, layout=state.layout, pair=pair)
        edges = partial(figures.edges_table, *shown, **weighed)
        picks = ("block", "basis")
        yield _Panel("scores", score_map, shown, partial(figures.scores_table, *shown), picks)
        yield _Panel("graph", graph, shown, edges, picks)
    if one.paths:
        view, token = state.path_view(), resolve_token(state.token, len(one.paths.tokens))
        walked = one.run.projected(view)
        paths = partial(step_figures.paths, walked, one.step, token=token)
        table = project_paths(one.paths, view).to_pandas
        yield _Panel("paths", paths, Shown(one.paths, view), table, ("token",))


def _make_ahead(shown: Sequence[_Step], steps: Sequence[int], state: TrainingState) -> None:
    """Make the figures of the steps beside this one, while the browser draws those of this one."""
    for one in shown:
        at = steps.index(one.step)
        for step in {*steps[max(0, at - 1) : at + 2]} - {one.step}:
            for panel in _panels(replace(one, step=step), state):
                panel.figure()


def _sentence(one: _Step, result: DepthResult, state: TrainingState) -> str:
    """The numbers of the step."""
    every = one.run.numbers(state.suite_view(result.n_blocks))
    (found,) = (numbers for numbers in every if numbers.step == one.step)
    score = (
        f"mean c **{rounded(found.coupling)}** (chance floor {rounded(found.chance)})"
        if state.raw
        else f"mean chance-corrected score **{rounded(found.corrected)}**"
    )
    parts = [
        score,
        f"alignment **{rounded(found.alignment)}**",
        f"neighbours minus all others **{rounded(found.locality)}**",
    ]
    if found.loss == found.loss:
        parts.append(f"held-out loss **{rounded(found.loss, 2)}** nats a token")
    return f"Step {one.step:,}: {', '.join(parts)}."


def _pair(result: DepthResult, one: _Step, state: TrainingState) -> None:
    """The selected pair, and the way to all that is known of this step."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        selection(result.n_blocks, *selected(result, state))
        if st.button("This step on Depth", icon=":material/arrow_forward:"):
            asked = one.course.suite.request(result.request, one.step)
            change(model=asked.model, revision=asked.revision, untrained=None, k=state.suite_k)
            st.switch_page(depth.PAGE.file)


def _curves(
    named: Mapping[str, Run],
    runs: Mapping[str, Sequence[StepNumbers]],
    step: int,
    state: TrainingState,
) -> None:
    groups = {name: words for name, (words, _) in _GROUPS.items()}
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        switches([("Curves", "by_step", groups)], "training")
        overlay.picker(state)
    names = _GROUPS[state.by_step][1]
    for at in range(0, len(names), 2):
        for column, name in zip(st.columns(2, gap="large"), names[at : at + 2], strict=False):
            with column:
                shown = "coupling" if name == "corrected" and state.raw else name
                _curve(named, _once(named, runs) if name == "loss" else runs, shown, step, state)


def _once(
    named: Mapping[str, Run], runs: Mapping[str, Sequence[StepNumbers]]
) -> dict[str, Sequence[StepNumbers]]:
    """One of each training run, under its title: its loss is the same whatever the prompt."""
    found: dict[str, Sequence[StepNumbers]] = {}
    for name, numbers in runs.items():
        found.setdefault(named[name].course.suite.title, numbers)
    return found


def _curve(
    named: Mapping[str, Run],
    runs: Mapping[str, Sequence[StepNumbers]],
    name: str,
    step: int,
    state: TrainingState,
) -> None:
    courses = [run.course for run in named.values()]
    result = next(r for c in courses for r in (c.depth or c.paths).values())
    view = state.suite_view()
    source = figures.training_source(courses, view)
    draw(
        step_figures.curve(runs, name, view, step=_marked(step), source=source),
        name,
        Shown(result, view),
        lambda: figures.steps_table(runs),
        picks=("step",),
    )


def _marked(step: int) -> int:
    """The step that curves mark: while the slider is dragged it stays, and they need no drawing."""
    if step_slider.pace() != "dragged" or _MARKED not in st.session_state:
        st.session_state[_MARKED] = step
    return st.session_state[_MARKED]
