"""What the store has of a training run and what it lacks, without computing or importing torch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from coupling_core.analysis.by_step import Course, steps_told
from coupling_core.base.errors import ComputeError
from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, SpectrumResult, TrajectoryResult
from coupling_core.measuring.measure import find_stored
from coupling_core.sources import hub
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import Suite, revision
from coupling_core.store.disk import Store


def collect(
    suite: Suite,
    request: Request,
    store: Store,
    steps: Sequence[int] | None = None,
    *,
    spectra: bool = False,
) -> Course:
    """Bring together what is stored of a depth-wise request over the steps of a training run.

    Its model and revision are replaced by those of each step, of all where none are said. Raises
    `InputError` where K exceeds the width of the suite's models.
    """
    chosen = suite.steps if steps is None else tuple(sorted(set(steps)))
    commits = hub.cache.refs(suite.repo)  # no hub is asked for the commit of another step
    depth: dict[int, DepthResult] = {}
    paths: dict[int, TrajectoryResult] = {}
    maps: dict[int, SpectrumResult] = {}
    for step in (step for step in chosen if revision(step) in commits):
        asked = suite.request(request, step)
        there = resolve(replace(asked, revision=commits[revision(step)]))
        if found := find_stored(replace(there, request=asked), store):
            depth[step] = cast(DepthResult, found)
        if found := find_stored(replace(there, request=asked.of_kind("trajectory")), store):
            paths[step] = cast(TrajectoryResult, found)
        of_maps = replace(there, request=asked.of_kind("spectrum")) if spectra else None
        if of_maps and (found := find_stored(of_maps, store)):
            maps[step] = cast(SpectrumResult, found)
    return Course(suite, request, chosen, depth, paths, maps if spectra else None)


def within_reach(course: Course) -> tuple[list[int], str]:
    """Steps that are missing and can be measured, and why the others cannot; "" without any.

    The hub is asked for its revisions where the weights of a hub's suite are not all here.
    """
    suite, missing = course.suite, course.missing
    reach, why = {revision(step) for step in suite.here()}, ""
    if suite.is_own:
        why = hub.cache.whence(suite.repo)
    elif not reach.issuperset(map(revision, missing)):
        try:
            reach |= {one.name for one in hub.revisions(suite.repo) if one.upstream}
            why = "they are not on this disk, and the hub has no such revisions or did not answer"
        except ComputeError as error:
            why = str(error)
    others = [step for step in missing if revision(step) not in reach]
    told = f"{steps_told(others)} of {suite.name} left out: {why}" if others else ""
    return [step for step in missing if step not in others], told
