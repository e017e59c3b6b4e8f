"""Measuring what training runs lack, one step or all of them, through the one queue."""

from collections.abc import Sequence
from statistics import median

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.by_step import Course
from coupling_core.base.errors import CouplingError
from coupling_core.base.records import Request
from coupling_core.base.units import counted, duration, size
from coupling_core.measuring.stored_steps import within_reach
from coupling_core.serving.jobs import JobStatus
from coupling_core.sources import hub
from coupling_core.sources.suites import Suite
from explorer.asking.queue import queue
from explorer.asking.watch import left, show_progress, stop
from explorer.pages.training.courses import Run, open_run
from explorer.pages.training.state import TrainingState
from explorer.panels.chart import draw_partial
from explorer.server import backend, needs
from explorer.session.plain_text import sentence
from explorer.session.session import change, current, device

_EVERY = 1.0
"""Seconds between two looks at the jobs: drawing takes the cores that measuring wants."""
_ASKED, _FAILED = "_asked", "_failed"
"""Where the session keeps what it asked for, and why that failed, by the models' names."""


def offer(run: Run, step: int, place: str = "") -> None:
    """Say what is missing of a run, and offer to measure it.

    `place` tells apart two of one training run on a page.
    """
    course = run.course
    if not course.missing or _jobs(run):
        return
    for error in _failed(course.suite):
        st.error(sentence(error), icon=":material/error:")
    st.markdown(_lack(course, step))
    here = [one for one in course.missing if one in course.suite.here()]
    if course.suite.is_own and len(here) < len(course.missing):
        how = hub.cache.whence(course.suite.repo)
        st.caption(f"{how[:1].upper()}{how[1:]}.")
    can = here if course.suite.is_own else list(course.missing)
    with st.container(horizontal=True):
        if step in can:
            _button(course, f"one{place}", f"Compute step {step:,}", [step])
        if 1 < len(here) < len(can):
            _button(course, f"here{place}", f"Compute the {len(here)} steps on this disk", here)
        if can and can != [step]:
            _button(course, f"all{place}", f"Compute all {len(can)} steps", can)
    if can and not course.suite.is_own:
        st.caption(
            f"Checkpoints are fetched from the hub one at a time, about "
            f"{size(course.suite.checkpoint_bytes)} each, and deleted when they are measured; "
            "those that were on this disk before stay."
        )


def watch(runs: Sequence[Run]) -> None:
    """Follow what is measured of these runs until it ends, then draw the whole page anew.

    A session that comes to running jobs, by a refresh or by a link, joins them.
    """
    asked = _asked()
    for job in (job for run in runs for job in _jobs(run)):
        if not queue().waits(job.key):
            queue().join(job.request, keep=hub.cache.is_own(job.request.model))
        asked.setdefault(job.key, job.request)
    shown = {(run.course.suite.repo, run.request.prompt) for run in runs}
    keys = [key for key, request in asked.items() if (request.model, request.prompt) in shown]
    _note_failures(keys)
    if not left(keys):
        for key in keys:
            del asked[key]
        return

    @st.fragment(run_every=_EVERY)
    def follow() -> None:
        _note_failures(keys)
        waiting = left(keys)
        if not waiting:
            change()  # the state is right, whatever the URL of this run says
            st.rerun()
        show_progress(waiting, len(keys))
        st.button("Cancel", on_click=stop, args=waiting, icon=":material/stop:", key="cancel@runs")
        _so_far(runs)

    follow()


def _asked() -> dict[str, Request]:
    """What this session asked for: requests by their jobs' keys, until all of them have ended."""
    return st.session_state.setdefault(_ASKED, {})


def _jobs(run: Run) -> list[JobStatus]:
    """What is being measured of a run, unless this session stopped waiting for it."""
    course = run.course
    wanted = {request for step in course.missing for request in course.lacking(step)}
    return [
        job
        for job in queue().active()
        if job.request in wanted and not job.prompts and not queue().has_left(job.key)
    ]


def _lack(course: Course, step: int) -> str:
    """How much is missing, and about how long it takes by what other steps took."""
    suite, n = course.suite, len(course.missing)
    here = f"Step {step:,} is not measured for this prompt. " if step in course.missing else ""
    seconds = _of_a_step(course)
    cost = f", which takes about {duration(n * seconds)}" if seconds else ""
    if cost and not (suite.is_own or set(course.missing) <= set(suite.here())):
        cost += " besides the fetching"
    return (
        f"{here}Of {suite.title}, **{n} of {counted(len(course.steps), 'step')}** are to be "
        f"measured{cost}."
    )


def _of_a_step(course: Course) -> float | None:
    """Seconds that a step takes, by its shape and the prompt's length; None where nothing tells.

    Of checkpoints that are not on this disk only what other prompts took is known.
    """
    suite, entries = course.suite, backend.entries()
    here = [step for step in course.missing if step in suite.here()]
    if here:
        try:
            asked = map(backend.resolved, course.lacking(here[0]))
            found = [needs.seconds(one, device(), entries) for one in asked]
        except CouplingError:  # what is wrong with the model is told where it is measured
            return None
        known = [one.seconds + one.load_seconds for one in found if one]
        return sum(known) if len(known) == len(found) else None
    took = [
        entry.provenance["seconds"] + entry.provenance["load_seconds"]
        for entry in entries
        if entry.identity.get("id") == suite.repo and not entry.problem
    ]
    return 2 * median(took) if took else None


def _button(course: Course, place: str, label: str, steps: Sequence[int]) -> None:
    key = f"compute-{place}@{course.suite.name}"
    if st.button(label, key=key, on_click=change, icon=":material/play_arrow:"):
        told = _failed(course.suite)
        told.clear()
        if not course.suite.is_own and len(steps) == len(course.missing):
            steps, why = within_reach(course)  # asks the hub once, and not for every step
            told += filter(None, [why])
        try:
            _submit(course, steps)
        except CouplingError as error:  # of the hub; what is queued goes on
            told.append(str(error))
        st.rerun()


def _submit(course: Course, steps: Sequence[int]) -> None:
    for request in (request for step in steps for request in course.lacking(step)):
        job = queue().join(request, keep=course.suite.is_own)
        _asked()[job.key] = request


def _failed(suite: Suite) -> list[str]:
    """Why measurements of a run failed."""
    return st.session_state.setdefault(_FAILED, {}).setdefault(suite.repo, [])


def _note_failures(keys: Sequence[str]) -> None:
    """Keep why jobs failed: the queue forgets those that ended long ago."""
    failed = st.session_state.setdefault(_FAILED, {})
    for status in filter(None, map(queue().status, keys)):
        errors = failed.setdefault(status.request.model, [])
        if status.state == "failed" and status.error not in errors:
            errors.append(status.error)


def _so_far(runs: Sequence[Run]) -> None:
    """The score by step, which fills in."""
    now = [open_run(run.name, run.request, spectra=run.spectra) for run in runs]
    view = current(TrainingState).suite_view()
    known = {run.course.suite.title: run.numbers(view) for run in now if run.course.depth}
    if known:
        draw_partial(figures.by_step(known, "corrected", view))
