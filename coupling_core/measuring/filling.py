"""The steps of a training run one after another: those that are not stored are measured."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from coupling_core.analysis.by_step import Course
from coupling_core.base.errors import ComputeError
from coupling_core.base.results import Result
from coupling_core.measuring.measure import Report
from coupling_core.measuring.stored_steps import collect, within_reach
from coupling_core.store.disk import Store

IN_A_ROW = 3
"""So many steps that fail one after another end a run: the next would fail alike."""


def fill(
    course: Course,
    store: Store,
    measure: Callable[..., Result],
    device: str | None = None,
    *,
    watching: Callable[[int], AbstractContextManager[Report | None]],
    warn: Callable[[str], None],
) -> tuple[Course, list[Result]]:
    """Measure what a run lacks, as far as weights are within reach.

    `watching` shows how far a step is while it is measured, and `warn` is told what is left out. It
    gives the run as it is then stored, and what was computed. Raises `InputError` where the suite's
    models cannot meet the request, and `ComputeError` where nothing of the run is stored or can be
    measured.
    """
    steps, why_not = within_reach(course)
    if why_not and not (steps or course.depth or course.paths):
        raise ComputeError(why_not)
    if why_not:
        warn(why_not)
    computed: list[Result] = []
    errors: list[ComputeError] = []  # of the last steps
    for step in steps:
        try:
            with watching(step) as report:
                for request in course.lacking(step):
                    computed.append(measure(request, store, device=device, progress=report))
            errors.clear()
        except ComputeError as error:
            warn(f"step {step} of {course.suite.name} is left out: {error}")
            errors.append(error)
        if len(errors) == IN_A_ROW:
            warn(f"{IN_A_ROW} steps failed in a row: the rest of {course.suite.name} is left out")
            break
    spectra = course.spectra is not None
    filled = collect(course.suite, course.request, store, course.steps, spectra=spectra)
    if not (filled.depth or filled.paths):
        raise errors[-1]
    return filled, computed
