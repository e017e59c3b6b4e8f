"""Training runs as the store has them, read once and kept until the store changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from coupling_core.analysis.by_step import Course, StepNumbers, doubt, numbers
from coupling_core.analysis.projection import ProjectedPaths, project_steps
from coupling_core.base.records import PathView, Request, View
from coupling_core.measuring.stored_steps import collect
from coupling_core.sources import hub
from coupling_core.sources.suites import find_suite
from explorer.server import backend


@dataclass(frozen=True)
class Run:
    """A training run, as it is asked about.

    Args:
        name: of the suite.
        request: what is asked of every step.
        spectra: whether those of the blocks are, too.
        stamp: of the store and of the suite's folder: another one is read anew.
    """

    name: str
    request: Request
    spectra: bool
    stamp: tuple[int, ...]

    @property
    def course(self) -> Course:
        """What is stored of it."""
        return _course(self)

    def numbers(self, view: View) -> tuple[StepNumbers, ...]:
        """Its numbers by step."""
        return _numbers(self, view)

    def doubts(self) -> tuple[str, ...]:
        """What speaks against the whole of it."""
        return tuple(filter(None, (self.course.suite.caution, _doubt(self))))

    def projected(self, view: PathView) -> Mapping[int, ProjectedPaths]:
        """The paths of all steps in their principal components."""
        return _projected(self, view)


def open_run(name: str, request: Request, *, spectra: bool) -> Run:
    """A training run as it is stored now."""
    refs = hub.cache.repository(find_suite(name).repo) / "refs"
    trained = refs.stat().st_mtime_ns if refs.is_dir() else 0
    return Run(name, request, spectra, (*backend.stamp(), trained))


_kept = partial(st.cache_resource, show_spinner=False, hash_funcs={Run: hash})


# A course holds the results of all its steps: of a few runs that is some hundred megabytes at most.
@_kept(max_entries=6, show_spinner="Reading what is stored of this training run…")
def _course(run: Run) -> Course:
    return collect(find_suite(run.name), run.request, backend.store(), spectra=run.spectra)


@_kept(max_entries=60)
def _numbers(run: Run, view: View) -> tuple[StepNumbers, ...]:
    return numbers(run.course, view)


@_kept(max_entries=6)
def _doubt(run: Run) -> str:
    return doubt(run.course)


@_kept(max_entries=12)
def _projected(run: Run, view: PathView) -> Mapping[int, ProjectedPaths]:
    return project_steps(run.course.paths, view)
