"""Every number of every kind reaches every surface that its record says."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from cases import EVERY_KIND

from coupling_core.analysis.by_step import step_columns
from coupling_core.analysis.exports import frame, row, variables
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import Figure, figures_of, plot
from coupling_core.base.kinds import kind_of
from coupling_core.base.numbers import Seen, numbers_of
from coupling_core.base.records import AnyView
from coupling_core.cli.reports import show_rows
from coupling_core.cli.shown import of_many
from coupling_core.experiments.sweeps.table import COLUMNS
from coupling_core.figures.curves import numbers_table

ROWS = "ROWS"
RESULTS = {result.request.kind: result for result in (make() for make in EVERY_KIND)}


def of(kind: str):
    """The module of the kind's numbers."""
    return kind_of(kind).part("numbers")


def arrays_in(said: Mapping) -> Iterator[str]:
    """The keys of arrays in JSON, of what lies inside too."""
    for name, value in said.items():
        if isinstance(value, Mapping):
            yield from arrays_in(value)
        elif np.ndim(value):
            yield name


@pytest.mark.parametrize("kind", RESULTS)
def test_every_number_reaches_every_surface(kind):
    result = RESULTS[kind]
    view = result.default_view()
    named, whole = variables(result, view), row(result, view, lambda _: True)
    dataset = result.to_xarray()
    along = {f"{axis}s" for axis in dataset.dims} | {"token_ids", "noise_sizes"}
    seen = Seen(result, view, getattr(of(kind), "derive", lambda *_: None))
    for number in numbers_of(kind):
        there = number.in_files and number.where(seen)
        assert number.name in named or not there, number.name
        if there:
            dims, values = named[number.name]
            assert values.ndim == len(dims), number.name
            is_there = number.name in {*dataset, *along}
            assert is_there or kind == "depth", number.name
        if column := number.column:
            name = number.column_name
            assert isinstance(whole[name], float), name
            assert (name in COLUMNS) >= column.in_sweeps, name
            if kind in ("depth", "trajectory", "spectrum"):
                assert (name in step_columns()) == column.by_step, name


@pytest.mark.parametrize("kind", [kind for kind in RESULTS if ROWS in vars(of(kind))])
def test_the_numbers_of_a_row_are_in_tables_in_json_and_in_what_is_printed(kind, capsys):
    result, report = RESULTS[kind], kind_of(kind).part("command")
    view, dim = result.default_view(), of(kind).ROWS
    names = {name for name, (dims, _) in variables(result, view).items() if dims == (dim,)}
    shown = [number for number in numbers_of(kind) if number.in_table and number.name in names]
    assert names
    table, said = frame(result, view), {*arrays_in(report.summary(result, view))}
    show_rows(result, view)
    printed = capsys.readouterr().out
    for number in shown:
        assert number.name in table, number.name
        assert number.name in said, number.name
        assert number.heading in printed, number.name


@pytest.mark.parametrize("kind", RESULTS)
def test_every_figure_is_one_of_functions_and_numbers_that_there_are(kind):
    figures = figures_of(kind)
    names = {number.name for number in numbers_of(kind)}
    whole = {number.column_name for number in numbers_of(kind) if number.column} | names
    for name, figure in figures.items():
        assert callable(figure.function), name
        assert {figure.of_many} <= whole | {""}, name
        if isinstance(figure.draws, Curves):
            assert {*figure.draws.numbers} <= names, name
            assert len(numbers_table(RESULTS[kind], RESULTS[kind].default_view(), figure.draws))


def test_one_more_figure_of_two_numbers_is_one_line(monkeypatch):
    line = Figure(Curves(["departure", "outside"]), of_many="outside")
    monkeypatch.setitem(figures_of("spectrum"), "two", line)
    drawn = plot(RESULTS["spectrum"], AnyView(), "two").figure
    assert [trace.name for trace in drawn.data] == ["departure", "outside"]
    assert drawn.layout.meta["caption"].startswith("Departure: Henrici's")
    assert of_many("spectrum")["two"] == "outside"
