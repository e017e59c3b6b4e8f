"""Means of a table of many prompts by what they are of."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sweep_table import prompts_table as table

from coupling_core import compare_models, mean_interval, means_by


def test_each_group_has_its_mean_and_interval(tmp_path):
    found = means_by(table(definition="page", role="B", token=np.int64(-1)), "topic")
    assert list(found) == ["topic", "n", "without", "mean", "median", "low", "high"]
    assert means_by(table(certified=[True, False, True, True]), "topic").attrs["uncertified"] == 1
    first, second = found.to_dict("records")
    own = mean_interval([0.1, 0.5])
    assert (first["topic"], first["n"], first["without"]) == ("b", 2, 0)
    assert (first["mean"], first["low"], first["high"]) == (own.mean, own.low, own.high)
    assert (second["n"], second["without"], second["mean"]) == (1, 1, 0.3)
    assert np.isnan(second["low"])
    said = {"model": "m", "kind": "depth", "k": 8, "definition": "page", "role": "B", "token": -1}
    assert said.items() <= found.attrs.items()
    found.to_parquet(tmp_path / "m.parquet")
    assert pd.read_parquet(tmp_path / "m.parquet").attrs["token"] == -1


def test_what_is_no_one_kind_of_number_is_kept_apart():
    for column in ("model", "kind", "k"):
        found = means_by(table(**{column: [1, 2, 1, 2]}), "topic")
        assert list(found)[:2] == [column, "topic"]
        assert list(found[column]) == [1, 2]
    lacking = means_by(table(topic=["a", None, "a", None]), "topic")
    assert lacking.topic.isna().tolist() == [False, True]
    for name in ("n", "mean", "low"):  # a group that is named like a number
        found = means_by(table(**{name: list("xyxy")}), name)
        assert found[f"prompt_{name}"].tolist() == ["x", "y"]
        assert found["n"].tolist() == [2, 1]


def test_any_column_of_numbers_has_means_and_a_pair_of_models_is_compared_by_it():
    paths = table(kind="trajectory", k=np.nan, line_shape=[1.0, 2.0, 3.0, 4.0])
    paths = paths.drop(columns="corrected").assign(model=list("aabb"), prompt=list("xyxy"))
    assert list(means_by(paths, "model", measure="line_shape")["mean"]) == [1.5, 3.5]
    found = compare_models(paths, "a", "b", measure="line_shape")
    assert found.difference == -2.0
    assert "line shape, over n = 2" in found.verdict


def test_sampled_floors_are_told():
    of = table(model=list("aabb"), prompt=list("xyxy"), corrected=[0.1, 0.2, 0.3, 0.5])
    for definition, told in (("preprint", True), ("released", True), ("paper", False)):
        found = compare_models(of.assign(definition=definition), "a", "b")
        assert ("8 random bases" in found.verdict) == told
    of = of.assign(layers=[4, 4, 2, 2], blocks="1-2")
    for asked, which in (({}, True), ({"final_norm": "exclude"}, False)):
        found = compare_models(of.assign(**asked), "a", "b")
        assert ("among the blocks of b alone" in found.verdict) == which


def test_rows_that_stand_twice_and_groups_of_few_prompts_are_told():
    once = table(key=list("abcd"), corrected=0.5)
    with pytest.warns(UserWarning, match="1 row of measurements"):
        means_by(pd.concat([once, once.head(1)]), "topic")
    with pytest.warns(UserWarning, match="1 prompt with"):
        means_by(table(key=list("abcd"), prompt=list("xyxz")), "topic")
    with pytest.warns(UserWarning, match=r"^2 of 2 groups .* 5 prompts"):
        means_by(table(topic=["a", "a", "b", None]).dropna(subset="topic"), "topic")
    many = pd.concat([table(topic="a", prompt=f"{n}") for n in range(2)], ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        means_by(many, "topic")
