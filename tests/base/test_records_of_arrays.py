"""Records that hold arrays: equal by content with NaN, read-only, and copied and pickled whole."""

import copy
import dataclasses
import importlib
import pickle
import pkgutil
from dataclasses import dataclass, field, replace

import by_hand
import numpy as np
import pandas as pd
import pytest
from cases import (
    EVERY_KIND,
    VIEW,
    directions_result,
    planted,
    random_result,
    trajectory_result,
    what_if_result,
)

import coupling_core as cc
import coupling_core.analysis
import coupling_core.base
from coupling_core.base.equality import SameContent


@dataclass(frozen=True)
class Estimate:
    value: float


@dataclass(frozen=True, eq=False)
class Record(SameContent):
    values: np.ndarray
    names: tuple = ()
    by_name: dict = field(default_factory=dict)
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    mean: float = 0.0


def record():
    names, table = ("a", np.arange(2), Estimate(float("nan"))), pd.DataFrame({"a": [1.0, np.nan]})
    by_name = {"x": np.array(["y"], object)}
    return Record(np.array([1.0, np.nan]), names, by_name, table, float("nan"))


CHANGED = {
    "values": np.array([1.0, 2.0]),
    "names": ("a", np.arange(2), Estimate(1.0)),
    "by_name": {"x": np.array(["z"], object)},
    "table": pd.DataFrame({"a": [1.0, 2.0]}),
    "mean": 0.0,
}


def test_records_are_equal_where_every_field_is():
    assert record() == record() == unpickled(record())
    assert record() != "another thing"
    for name, value in CHANGED.items():
        assert record() != replace(record(), **{name: value}), name
    with pytest.raises(TypeError):
        hash(record())


def with_arrays():
    """Dataclasses of what is found, with a field that is an array or a table."""
    for room in (coupling_core.analysis, coupling_core.base):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for it in vars(importlib.import_module(module.name)).values():
                own = dataclasses.is_dataclass(it) and getattr(it, "__module__", "") == module.name
                types = str([item.type for item in dataclasses.fields(it)]) if own else ""
                if any(each in types for each in ("ndarray", "Float[", "Int[", "DataFrame")):
                    yield it


def test_none_that_has_arrays_compares_them_as_truth_values():
    found = [it for it in with_arrays() if it.__name__[0] != "_"]
    assert len(found) > 15
    of_functions = {"Column", "Curve", "Definition"}  # the arrays are what its functions take
    assert {it.__name__ for it in found if it.__dataclass_params__.eq} <= of_functions


def test_numbers_with_one_that_is_none_are_equal_to_themselves_and_hashed_alike():
    def asked():
        return random_result().scores(k=1, definition="preprint")

    assert asked() == asked() != random_result().scores(k=1)
    for take in (lambda of: of.mean(), lambda of: of[2, 1]):
        assert np.isnan(take(asked()).corrected)
        assert take(asked()) == take(asked()) == unpickled(take(asked()))
    nothing = {"corrected": float("nan")}
    one, other = (cc.StepNumbers(4, nothing | {"loss": 1 / 3}) for _ in range(2))
    assert len({one, other, unpickled(one)}) == 1
    assert one != cc.StepNumbers(4, nothing | {"loss": 1 / 4})


def unpickled(it):
    return pickle.loads(pickle.dumps(it))


def wrapped():
    gpt = by_hand.GPT()
    return cc.wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f)


def made():
    model = wrapped()
    between = cc.measure([1, 2, 3], model=model, kind="self", block=1, k=2, k_view=2)
    scores = cc.score_pairs(planted(), VIEW)
    return [
        *(make() for make in EVERY_KIND),
        *(scores, scores[[1, 3]], between, between.scores(k=2)),
        cc.measure([1, 2, 3], model=model, k=2),
        cc.jacobian(model, [1, 2, 3], block=1, k=2),
        cc.cross(directions_result(), directions_result(), k=2),
        cc.shared_of(directions_result(), cc.DirectionsView()),
        cc.project_paths(trajectory_result()),
        cc.effect_maps(what_if_result()),
    ]


@pytest.mark.full
def test_arrays_cannot_be_written_nor_those_of_copies():
    for it in made():
        for again in (it, copy.copy(it), copy.deepcopy(it), replace(it), unpickled(it)):
            found = [x for x in vars(again).values() if isinstance(x, np.ndarray)]
            assert found
            assert not [array for array in found if array.flags.writeable], type(it)


def test_nor_those_of_a_file_but_who_made_an_array_or_asks_for_a_table_may(tmp_path):
    loaded = cc.load(planted().save(tmp_path / "a.safetensors"))
    assert not [x for x in vars(loaded).values() if isinstance(x, np.ndarray) and x.flags.writeable]
    own = planted().diagonal.copy()
    result = replace(planted(), diagonal=own)
    own[0, 0, 0, 0] = 7
    assert result.diagonal[0, 0, 0, 0] == 7
    found = cc.score_pairs(planted(), VIEW)
    table, named = found.to_pandas(), found.to_xarray()
    table.loc[0, "corrected"] = 7
    named.corrected[0, 0] = 7
    assert found.corrected[0, 0] != 7


@pytest.mark.filterwarnings("error")
def test_torch_takes_directions_without_a_warning():
    model = wrapped()
    found = cc.measure([1, 2, 3], model=model, kind="directions")
    cc.steer(found, block=1, components=1, sizes=0.5, model=model)
    cc.ablate(found, blocks=[1], k=1, model=model)
    cc.read_out(found, found.u[0, :, :2], model=model)
