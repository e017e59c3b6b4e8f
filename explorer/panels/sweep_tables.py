"""The sweeps that have a table: those of the store, and those that come with the program.

Sweeps over texts are those of the page Generalization, sweeps over images those of Vision.
"""

from typing import TYPE_CHECKING

import streamlit as st

from coupling_core.base.errors import InputError
from coupling_core.base.records import Measure, ModelSubset, VisionKind
from coupling_core.experiments.sweeps import Journal, journals, read_table
from coupling_core.experiments.vision import SUITE
from explorer.server import backend

if TYPE_CHECKING:  # statistics import scipy, which the page does without until there is a table
    from coupling_core.analysis.findings import Findings, Question
    from coupling_core.experiments.vision.findings import VisionFindings

KEPT = 16
"""Answers that stay in memory, whoever asked."""


def tables(*, of_images: bool = False) -> dict[str, Journal]:
    """Sweeps with a table by the names of their folders, the last written first."""
    found = [
        journal
        for journal in journals(backend.store())
        if journal.table.is_file()
        and "depth" in _kinds(journal)
        and bool(journal.plan().get("images")) == of_images
    ]
    found.sort(key=_stamp, reverse=True)
    named: dict[str, Journal] = {}
    for journal in found:  # of one that ships and was run here too, the later
        named.setdefault(journal.folder.name, journal)
    return named


def _kinds(journal: Journal) -> list[str]:
    """What a sweep measures; the page is about blocks at one token."""
    kinds = journal.plan().get("kinds")
    return kinds if isinstance(kinds, list) else []


def chosen(name: str, found: dict[str, Journal]) -> Journal:
    """The sweep that is looked at.

    An empty name is the first.
    """
    name = name or next(iter(found))
    if name not in found:
        raise InputError(
            f"there is no sweep {name!r} here: choose another, or run it with `coupling sweep run`"
        )
    return found[name]


def offered(journal: Journal) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The K at which all models of a sweep have scores, and the performances that are known."""
    asked = journal.plan().get("k")
    shares = tuple(k for k in asked if k < 1) if isinstance(asked, list) else ()
    return _offered(str(journal.table), _stamp(journal), shares)


def answer(journal: Journal, asked: "Question") -> "Findings":
    """What the table says; its parts are computed once each, whoever looks."""
    return _answer(str(journal.table), _stamp(journal), asked)


def subsets(journal: Journal) -> tuple[ModelSubset, ...]:
    """The subsets of its models that are not empty."""
    return _subsets(str(journal.table), _stamp(journal))


def vision(k: int, measure: Measure, kind: VisionKind) -> "VisionFindings | None":
    """What the last sweep over the runs of the suite of vision says; None where there is none."""
    journal = _of_vision()
    if journal is None:
        return None
    return _vision(str(journal.table), _stamp(journal), k, measure, kind)


def vision_ks() -> list[int]:
    """The K at which that sweep has scores, rising."""
    journal = _of_vision()
    shared = offered(journal)[0] if journal else ()
    return [int(k) for k in shared]


def vision_sweep() -> str:
    """The name of that sweep's folder."""
    journal = _of_vision()
    return journal.folder.name if journal else ""


def _of_vision() -> Journal | None:
    repos = {run.repo for run in SUITE.runs}
    for journal in tables(of_images=True).values():
        if repos & set(_table(str(journal.table), _stamp(journal))["id"]):
            return journal
    return None


@st.cache_resource(max_entries=KEPT, show_spinner="Computing intervals")
def _vision(
    path: str, stamp: tuple[int, int], k: int, measure: Measure, kind: VisionKind
) -> "VisionFindings":
    from coupling_core.experiments.vision.findings import VisionFindings

    return VisionFindings(_table(path, stamp), k, measure, kind)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _offered(
    path: str, stamp: tuple[int, int], shares: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[str, ...]]:
    from coupling_core.analysis.findings import every_k, performances

    table = _table(path, stamp)
    return every_k(table, shares), performances(table)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _subsets(path: str, stamp: tuple[int, int]) -> tuple[ModelSubset, ...]:
    from coupling_core.analysis.findings import filled_subsets

    return filled_subsets(_table(path, stamp))


@st.cache_resource(max_entries=KEPT, show_spinner="Computing intervals")
def _answer(path: str, stamp: tuple[int, int], asked: "Question") -> "Findings":
    from coupling_core.analysis.findings import find

    return find(_table(path, stamp), asked)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _table(path: str, stamp: tuple[int, int]):
    from pathlib import Path

    return read_table(Path(path))


def _stamp(journal: Journal) -> tuple[int, int]:
    """By which a table that was written anew is known."""
    stat = journal.table.stat()
    return stat.st_mtime_ns, stat.st_size
