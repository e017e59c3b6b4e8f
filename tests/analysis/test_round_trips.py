"""Tables and arrays through files of every form, and through pickle, with the same numbers."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
import xarray
from cases import random_result

from coupling_core import Request, Store, View, compare, measure
from coupling_core.analysis import exports
from coupling_core.analysis.alignment import match_blocks
from coupling_core.analysis.exports import arrays, attributes, frame, to_netcdf, variables
from coupling_core.base.kinds import kind_of

PROMPT = "What is the capital of France? The capital is"
SHIPPED = {
    "depth": Request(PROMPT),
    "trajectory": Request(PROMPT, kind="trajectory"),
    "tokens": Request(PROMPT, kind="fixed-output", block=12, other_block=11),
}


@pytest.fixture(scope="module", params=SHIPPED)
def seen(request):
    """A result of each kind that ships, and its view."""
    result = measure(SHIPPED[request.param], Store())
    kind = kind_of(result.request.kind)
    return result, View(k=10) if kind.has_k else kind.view()


def opened(content):
    return xarray.load_dataset(io.BytesIO(content))


def test_a_table_comes_back_with_its_numbers_to_the_bit(seen):
    table = frame(*seen)
    columns = {
        name: table[name].to_numpy().astype(str if table[name].dtype.kind in "OT" else None)
        for name in table.columns
    }
    netcdf = opened(to_netcdf({name: (("row",), values) for name, values in columns.items()}))
    for found in (
        pd.read_csv(io.BytesIO(exports.to_csv(table))),
        pd.read_parquet(io.BytesIO(exports.to_parquet(table))),
        pickle.loads(pickle.dumps(table)),
        pd.DataFrame({name: netcdf[name].to_numpy() for name in table.columns}),
    ):
        assert list(found.columns) == list(table.columns)
        for name in table.columns:
            one, other = found[name].to_numpy(), table[name].to_numpy()
            if other.dtype.kind == "f":
                np.testing.assert_array_equal(one.astype(other.dtype), other, err_msg=name)
            else:
                assert list(one) == list(other), name


def test_arrays_come_back_to_the_bit_under_named_axes_with_their_numbers(seen):
    result, view = seen
    whole = variables(result, view)
    named = arrays(result, view)
    netcdf = opened(to_netcdf(whole, attributes(result, view)))
    for found in (
        dict(np.load(io.BytesIO(exports.to_npz(named)))),
        {name: one.to_numpy() for name, one in netcdf.items()},
    ):
        assert found.keys() == named.keys()
        for name, values in named.items():
            assert values.ndim == len(whole[name][0]), name
            if values.dtype.kind == "U":
                assert list(found[name]) == list(values)
            else:
                assert found[name].dtype == values.dtype, name
                assert found[name].tobytes() == values.tobytes(), name
    assert netcdf.attrs["model"] == result.identity["name"]
    counted = {"block", "basis", "token", "other_token", "state", "k", "component"}
    for axis in {str(dim) for dim in netcdf.dims} & counted:
        first = 0 if axis == "state" else 1
        assert netcdf[axis].to_numpy().tolist() == list(range(first, first + netcdf.sizes[axis]))


def test_texts_come_back_and_the_character_0_is_marked():
    texts = {"text": (("row", "column"), np.array([["a\0b", "abc"], ["", "ü"]]))}
    found = opened(to_netcdf(texts, {"prompt": "a\0b"}))
    assert found["text"].to_numpy().tolist() == [["a␀b", "abc"], ["", "ü"]]
    assert found.attrs["prompt"] == "a␀b"


def test_a_comparison_has_the_numbers_of_a_and_says_whose_they_are():
    a, b = random_result(n_blocks=6), random_result(n_blocks=4)
    found = compare(a, b, k=3)
    data = opened(to_netcdf(found.variables(), found.attributes()))
    own = [block for block, _ in match_blocks(6, 4)]
    assert data["block"].to_numpy().tolist() == own == data["basis"].to_numpy().tolist()
    row = found.to_pandas().iloc[0]
    at = data.difference.sel(block=row["block"], basis=row["basis"])
    assert float(at) == pytest.approx(row["difference"])
    assert (data.attrs["a_model"], data.attrs["b_K"]) == (a.model_name, 3)
    score = data.corrected.sel(side="B", block=own[0], basis=own[1])
    assert float(score) == pytest.approx(b.scores(k=3)[1, 2].corrected, abs=1e-12)
