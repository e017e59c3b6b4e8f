"""The sweeps that have a table: those of the store, and those that come with the program.

Sweeps over texts are those of the page Generalization, sweeps over images those of Vision.
"""

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from coupling_core.base.errors import InputError
from coupling_core.base.records import MEASURES, Measure, ModelSubset, VisionKind
from coupling_core.experiments.sweeps import Journal, journals, read_table
from coupling_core.experiments.vision import SUITE
from explorer.server import backend

if TYPE_CHECKING:  # statistics import scipy, which the page does without until there is a table
    from pandas import DataFrame

    from coupling_core.analysis.findings import Findings, Question
    from coupling_core.experiments.vision.findings import VisionFindings

KEPT = 16
"""Answers that stay in memory, whoever asked."""


def tables(*, of_images: bool = False) -> dict[str, Journal]:
    """Sweeps over blocks with a table by the names of their folders, the last written first."""
    found = [
        journal
        for journal in journals(backend.store())
        if journal.table.is_file()
        and "depth" in (journal.plan().get("kinds") or ())
        and bool(journal.plan().get("images")) == of_images
    ]
    found.sort(key=_stamp, reverse=True)
    named: dict[str, Journal] = {}
    for journal in found:  # of one that ships and was run here too, the later
        named.setdefault(journal.folder.name, journal)
    return named


def chosen(name: str, found: dict[str, Journal]) -> Journal:
    """The sweep of a folder's name, or the first; `InputError` where there is none."""
    name = name or next(iter(found))
    if name not in found:
        raise InputError(
            f"there is no sweep {name!r} here: choose another, or run it with `coupling sweep run`"
        )
    return found[name]


def _stamp(journal: Journal) -> tuple[int, int]:
    """By which a table that was written anew is known."""
    stat = journal.table.stat()
    return stat.st_mtime_ns, stat.st_size


_OF_TABLE = {Journal: lambda journal: (str(journal.table), *_stamp(journal))}
"""A sweep's numbers are kept until its table changes."""
_kept = partial(st.cache_resource, max_entries=KEPT, show_spinner=False, hash_funcs=_OF_TABLE)


@_kept()
def offered(journal: Journal) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The K at which all models of a sweep have scores, and the performances that are known."""
    from coupling_core.analysis.findings import every_k, performances

    asked, table = journal.plan().get("k"), _table(journal)
    return every_k(table, asked if isinstance(asked, list) else ()), performances(table)


@_kept()
def measures(journal: Journal) -> list[Measure]:
    """The measures of coupling that a sweep's table has; earlier ones have fewer."""
    return [measure for measure in MEASURES if measure in _table(journal)]


@_kept(show_spinner="Computing intervals")
def answer(journal: Journal, asked: "Question") -> "Findings":
    """What the table says; its parts are computed once each, whoever looks."""
    from coupling_core.analysis.findings import find

    return find(_table(journal), asked)


@_kept()
def subsets(journal: Journal) -> tuple[ModelSubset, ...]:
    """The subsets of its models that are not empty."""
    from coupling_core.analysis.findings import filled_subsets

    return filled_subsets(_table(journal))


def vision(k: int, measure: Measure, kind: VisionKind) -> "VisionFindings | None":
    """What the last sweep over the runs of the suite of vision says; None where there is none."""
    journal = _of_vision()
    return _vision(journal, k, measure, kind) if journal else None


def vision_ks() -> list[int]:
    """The K at which that sweep has scores, rising."""
    journal = _of_vision()
    return [int(k) for k in offered(journal)[0]] if journal else []


def vision_measures() -> list[Measure]:
    """The measures of coupling that it has."""
    journal = _of_vision()
    return measures(journal) if journal else []


def vision_sweep() -> str:
    """The name of that sweep's folder."""
    journal = _of_vision()
    return journal.folder.name if journal else ""


def _of_vision() -> Journal | None:
    repos = {run.repo for run in SUITE.runs}
    every = tables(of_images=True).values()
    return next((each for each in every if repos & set(_table(each)["id"])), None)


@_kept(show_spinner="Computing intervals")
def _vision(journal: Journal, k: int, measure: Measure, kind: VisionKind) -> "VisionFindings":
    from coupling_core.experiments.vision.findings import VisionFindings

    return VisionFindings(_table(journal), k, measure, kind)


@_kept()
def _table(journal: Journal) -> "DataFrame":
    return read_table(journal.table)
