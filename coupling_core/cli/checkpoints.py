"""The checkpoints of a suite as they are typed, and how far the measuring of them is."""

from collections.abc import Callable

from coupling_core.analysis.by_step import Course
from coupling_core.base.results import Result
from coupling_core.cli.options import numbers
from coupling_core.cli.terminal import ProgressBar, warn
from coupling_core.measuring import filling
from coupling_core.sources.suites import Suite, require_steps
from coupling_core.store.disk import Store


def parse_steps(suite: Suite, text: str) -> tuple[int, ...]:
    """Steps of a suite as they are typed: "all", or "0,16,512"."""
    if text.strip() == "all":
        return suite.steps
    return require_steps(suite, set(numbers(text, int, "--steps", "all, or 0,16,512")))


def fill(
    course: Course, store: Store, measure: Callable[..., Result], device: str | None = None
) -> tuple[Course, list[Result]]:
    """Measure what a run lacks with a bar for each step; arguments and errors are of `filling`."""

    def bar(step: int) -> ProgressBar:
        return ProgressBar(title=f"{course.suite.name} step {step}")

    return filling.fill(course, store, measure, device, watching=bar, warn=warn)
