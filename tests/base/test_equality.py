"""Everything public that has arrays is equal where its content is."""

import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from cases import random_result, trajectory_result

import coupling_core.analysis
import coupling_core.base
from coupling_core.analysis.locality import locality
from coupling_core.analysis.projection import project_paths
from coupling_core.base.equality import SameContent
from coupling_core.base.errors import InputError


@dataclass(frozen=True, eq=False)
class Record(SameContent):
    values: np.ndarray
    names: tuple = ()
    by_name: dict = field(default_factory=dict)
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    mean: float = 0.0


ARRAYS = ("ndarray", "Float[", "Int[", "Bool[", "DataFrame")


def record():
    return Record(
        np.array([1.0, np.nan]),
        ("a", np.arange(2)),
        {"x": np.array(["y"], object)},
        pd.DataFrame({"a": [1.0, np.nan]}),
        float("nan"),
    )


@dataclass(frozen=True)
class Estimate:
    value: float


def test_a_record_in_a_record_is_equal_by_its_content_too():
    one = replace(record(), names=(Estimate(float("nan")),))
    assert one == pickle.loads(pickle.dumps(one))
    assert one != replace(one, names=(Estimate(1.0),))


CHANGED = {
    "values": np.array([1.0, 2.0]),
    "names": ("a", np.arange(3)),
    "by_name": {"x": np.array(["z"], object)},
    "table": pd.DataFrame({"a": [1.0, 2.0]}),
    "mean": 0.0,
}


def test_records_are_equal_where_every_field_is():
    assert record() == record()
    assert record() == pickle.loads(pickle.dumps(record()))
    assert record() != "another thing"


@pytest.mark.parametrize("name", CHANGED)
def test_each_field_counts(name):
    assert record() != replace(record(), **{name: CHANGED[name]})


def test_there_is_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(record())


def with_arrays():
    """Dataclasses of what is found, with a field that is an array or a table."""
    rooms = (coupling_core.analysis, coupling_core.base)
    for room in rooms:
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for it in vars(importlib.import_module(module.name)).values():
                own = inspect.isclass(it) and it.__module__ == module.name and it.__name__[0] != "_"
                if own and dataclasses.is_dataclass(it):
                    types = " ".join(str(item.type) for item in dataclasses.fields(it))
                    if any(kind in types for kind in ARRAYS):
                        yield it


def test_none_that_has_arrays_compares_them_as_truth_values():
    found = list(with_arrays())
    assert len(found) > 15
    of_functions = {"Curve", "Definition"}  # the arrays are what its functions take
    assert {it.__name__ for it in found if it.__dataclass_params__.eq} <= of_functions


@pytest.mark.parametrize(
    "make",
    [lambda: locality(random_result()), lambda: project_paths(trajectory_result())],
    ids=["locality", "paths"],
)
def test_what_was_pickled_is_equal_to_what_it_was(make):
    before = make()
    assert pickle.loads(pickle.dumps(before)) == before
    assert make() == before


def test_an_array_is_no_scores():
    scores = random_result().scores(k=3)
    for other in (scores.corrected, np.ones(3), 1.0, None):
        assert (scores == other) is False
        assert (other == scores) is False
    assert (scores == scores.to_pandas()) is False


def test_three_numbers_are_not_taken_for_one():
    scores = random_result().scores(k=3)
    for take in (
        *(float, "{:.3f}".format, lambda of: of + of, lambda of: 1 - of, lambda of: of / 2),
        *(lambda of: of > of, lambda of: max(of, of), abs, round, lambda of: sum([of, of])),
        *(np.mean, np.asarray, lambda of: np.mean([of, of]), lambda of: np.float64(1) + of),
    ):
        for three in (scores.mean(), scores[1, 2]):
            with pytest.raises(
                InputError, match=r"three numbers and not one: take its [.]corrected"
            ):
                take(three)
    corrected, coupling, chance = scores.mean()
    assert scores.mean() == (corrected, coupling, chance)
    for take in (np.mean, np.nanmean, np.asarray):
        with pytest.raises(InputError, match="it has three: take its"):
            take(scores)
    with pytest.raises(InputError, match=r"such as f'{x[.]corrected:[.]3f}'"):
        f"{scores:.3f}"
    assert f"{scores.mean()}" == repr(scores.mean())


def test_three_numbers_with_one_that_is_none_are_equal_to_themselves():
    def asked():
        return random_result().scores(k=1, definition="preprint")

    for take in (lambda of: of.mean(), lambda of: of[2, 1]):
        assert np.isnan(take(asked()).corrected)
        assert take(asked()) == take(asked()) == pickle.loads(pickle.dumps(take(asked())))
        assert take(asked()) != take(random_result().scores(k=2))
