"""Measure what is not measured yet, and write the page."""

from coupling_core.cli.terminal import say
from coupling_core.sources import hub
from coupling_core.sources.suites import SEEDS, find_suite
from studies.command import run
from studies.emergence.page import PAGE, page, read_runs
from studies.emergence.windows import COUNT, NAME, measure_windows, write
from studies.pretraining.corpus import corpus
from studies.pretraining.plans import PLANS


def emergence() -> None:
    """Measure the suites that are trained and not measured yet, and write docs/emergence.md."""
    for name in PLANS:
        suite = find_suite(name)
        path = hub.cache.repository(suite.repo) / NAME
        if path.is_file() or suite.here() != suite.steps:
            continue
        say(f"{name}: {COUNT} windows at {len(suite.steps)} steps")
        write(path, measure_windows(suite, corpus(say).held_out, suite.steps))
    found = [read_runs(plan) for plan in PLANS.values() if plan.seed == SEEDS[0]]
    PAGE.write_text(page([runs for runs in found if runs is not None]))


if __name__ == "__main__":
    run(emergence)
