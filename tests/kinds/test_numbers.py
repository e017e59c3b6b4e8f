"""Every number of every kind reaches every surface that its record says."""

import pytest
from cases import EVERY_KIND

from coupling_core.analysis.by_step import step_columns
from coupling_core.analysis.exports import arrays, axes, row
from coupling_core.base.numbers import numbers_of
from coupling_core.experiments.sweeps.table import COLUMNS

RESULTS = {result.request.kind: result for result in (make() for make in EVERY_KIND)}


@pytest.mark.parametrize("kind", RESULTS)
def test_every_number_reaches_every_surface(kind):
    result = RESULTS[kind]
    view = result.default_view()
    named, dims, whole = arrays(result, view), axes(result, view), row(result, view, lambda _: True)
    dataset = result.to_xarray()
    along = {f"{axis}s" for axis in dataset.dims} | {"token_ids", "noise_sizes"}
    for number in numbers_of(kind):
        if number.in_files and number.name in named:
            assert named[number.name].ndim == len(dims[number.name]), number.name
            is_there = number.name in {*dataset, *along}
            assert is_there or kind == "depth", number.name
        if column := number.column:
            name = number.column_name
            assert isinstance(whole[name], float), name
            assert (name in COLUMNS) >= column.in_sweeps, name
            if kind in ("depth", "trajectory", "spectrum"):
                assert (name in step_columns()) == column.by_step, name
