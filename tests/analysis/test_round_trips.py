"""Tables and arrays through files of every form, and through pickle, with the same numbers."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
import xarray
from cases import random_result

from coupling_core import Request, Store, View, compare, measure
from coupling_core.analysis.compare import match_blocks
from coupling_core.analysis.exports import (
    arrays,
    attributes,
    axes,
    frame,
    to_csv,
    to_netcdf,
    to_npz,
    to_parquet,
)
from coupling_core.analysis.exports.compare import COMPARISON_AXES, comparison_arrays
from coupling_core.analysis.exports.graph import graph_file
from coupling_core.base.errors import InputError
from coupling_core.base.kinds import kind_of

PROMPT = "What is the capital of France? The capital is"
SHIPPED = {
    "depth": Request(PROMPT),
    "trajectory": Request(PROMPT, kind="trajectory"),
    "tokens": Request(PROMPT, kind="fixed-output", block=12, other_block=11),
}
K = View(k=10)


@pytest.fixture(scope="module", params=SHIPPED)
def seen(request):
    """A result of each kind that ships, and its view."""
    result = measure(SHIPPED[request.param], Store())
    kind = kind_of(result.request.kind)
    return result, K if kind.has_k else kind.view()


def same(found, wanted):
    """The same numbers to the bit, NaN where there is none."""
    assert list(found.columns) == list(wanted.columns)
    for name in wanted.columns:
        one, other = found[name].to_numpy(), wanted[name].to_numpy()
        if other.dtype.kind == "f":
            assert np.array_equal(one.astype(other.dtype), other, equal_nan=True), name
        else:
            assert list(one) == list(other), name


@pytest.mark.parametrize(
    "through",
    [
        lambda table: pd.read_csv(io.BytesIO(to_csv(table))),
        lambda table: pd.read_parquet(io.BytesIO(to_parquet(table))),
        lambda table: pickle.loads(pickle.dumps(table)),
        lambda table: xarray.load_dataset(io.BytesIO(to_netcdf(_columns(table), {}))).pipe(
            lambda read: pd.DataFrame({name: read[name].to_numpy() for name in table.columns})
        ),
    ],
    ids=["csv", "parquet", "pickle", "netcdf"],
)
def test_a_table_comes_back_with_its_numbers(seen, through):
    table = frame(*seen)
    same(through(table), table)


def _columns(table):
    return {
        name: table[name].to_numpy().astype(str if table[name].dtype.kind in "OT" else None)
        for name in table.columns
    }


@pytest.mark.parametrize(
    "through",
    [
        lambda named, of: dict(np.load(io.BytesIO(to_npz(named)))),
        lambda named, of: {
            name: one.to_numpy()
            for name, one in xarray.load_dataset(io.BytesIO(to_netcdf(named, axes(of)))).items()
        },
        lambda named, of: pickle.loads(pickle.dumps(named)),
    ],
    ids=["npz", "netcdf", "pickle"],
)
def test_arrays_come_back_to_the_bit(seen, through):
    result, view = seen
    named = arrays(result, view)
    found = through(named, result)
    assert found.keys() == named.keys()
    for name, values in named.items():
        if values.dtype.kind == "U":
            assert list(found[name]) == list(values)
        else:
            assert found[name].dtype == values.dtype, name
            assert found[name].tobytes() == values.tobytes(), name


def test_every_axis_has_its_name(seen):
    result, view = seen
    named, names = arrays(result, view), axes(result)
    assert named.keys() <= names.keys()
    for name, values in named.items():
        assert values.ndim == len(names[name]), name


def test_a_netcdf_of_every_kind_tells_its_view(seen):
    result, view = seen
    content = to_netcdf(arrays(result, view), axes(result), attributes(result, view))
    told = xarray.load_dataset(io.BytesIO(content)).attrs
    assert told["model"] == result.identity["name"]


def test_a_netcdf_says_whose_it_is():
    result = random_result(n_blocks=3, width=16, k_max=8, k_view=4)
    view = View(k=6, definition="alignment")
    content = to_netcdf(arrays(result, view), axes(result), attributes(result, view))
    told = xarray.load_dataset(io.BytesIO(content))
    assert told["coupling"].dims == ("block", "basis")
    assert (told.attrs["k"], told.attrs["definition"]) == (6, "alignment")
    assert (told.attrs["key"], told.attrs["certified"]) == (result.key, 1)
    assert told.attrs["model"] == result.identity["name"]


@pytest.mark.parametrize(
    ("package", "write"),
    [
        ("pyarrow", lambda: to_parquet(pd.DataFrame({"a": [1]}))),
        ("h5netcdf", lambda: to_netcdf({"a": np.zeros(1)}, {})),
    ],
)
def test_a_missing_package_is_told_with_its_extra(monkeypatch, package, write):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(InputError, match=rf"{package} is missing.*coupling-explorer\[files\]"):
        write()


BY_NAME = ("block", "basis", "token", "other_token", "state", "k", "component")


def opened(content):
    return xarray.load_dataset(io.BytesIO(content))


def test_every_axis_of_a_file_that_is_counted_has_its_numbers(seen):
    result, view = seen
    told = (axes(result), attributes(result, view))
    found = opened(to_netcdf(arrays(result, view, None), *told))
    for axis in {str(dim) for dim in found.dims} & set(BY_NAME):
        first = 0 if axis == "state" else 1
        assert found[axis].to_numpy().tolist() == list(range(first, first + found.sizes[axis]))


@pytest.mark.parametrize("blocks", [None, (9, 12, 11)])
def test_a_pair_has_its_score_by_its_numbers(blocks):
    result = measure(SHIPPED["depth"], Store())
    view = View(k=10, blocks=blocks)
    wanted = result.scores(k=10)[12, 11].corrected
    found = opened(to_netcdf(arrays(result, view, None), axes(result), attributes(result, view)))
    assert float(found.corrected.sel(block=12, basis=11)) == pytest.approx(wanted, abs=1e-12)
    graph = opened(graph_file(".nc", result, view, corrected=True, threshold=0.1))
    other = result.scores(k=10)[11, 12].corrected
    weight = float(graph.weight.sel(block=11, basis=12))
    assert weight == pytest.approx((wanted + other) / 2, abs=1e-12)
    assert graph.attrs["K"] == 10
    assert graph.attrs["model"] == result.model_name


def test_a_comparison_has_the_numbers_of_a_and_says_whose_they_are():
    a, b = random_result(n_blocks=4), random_result(n_blocks=6)
    found = compare(b, a, k=3)
    content = to_netcdf(comparison_arrays(found), COMPARISON_AXES, found.attributes())
    data = opened(content)
    own = [block for block, _ in match_blocks(6, 4)]
    assert data["block"].to_numpy().tolist() == own == data["basis"].to_numpy().tolist()
    row = found.to_pandas().iloc[0]
    at = data.difference.sel(block=row["block"], basis=row["basis"])
    assert float(at) == pytest.approx(row["difference"])
    assert data.attrs["a_model"] == b.model_name
    assert data.attrs["b_K"] == 3
    own_score = data.corrected.sel(side="B", block=own[0], basis=own[1])
    assert float(own_score) == pytest.approx(a.scores(k=3)[1, 2].corrected, abs=1e-12)
