"""Means of a table of many prompts by what they are of."""

import numpy as np
import pandas as pd
import pytest

from coupling_core import InputError, mean_interval, means_by


def table(**columns):
    rows = {"model": "m", "kind": "depth", "k": 8, "corrected": [0.1, 0.3, 0.5, np.nan]}
    return pd.DataFrame(rows | {"topic": ["b", "a", "b", "a"]} | columns)


def test_each_group_has_its_mean_and_interval():
    found = means_by(table(), "topic")
    assert list(found) == ["topic", "n", "without", "mean", "median", "low", "high"]
    first, second = found.to_dict("records")
    own = mean_interval([0.1, 0.5])
    assert (first["topic"], first["n"], first["without"]) == ("b", 2, 0)
    assert (first["mean"], first["low"], first["high"]) == (own.mean, own.low, own.high)
    assert (second["n"], second["without"], second["mean"]) == (1, 1, 0.3)
    assert np.isnan(second["low"])


@pytest.mark.parametrize("column", ["model", "kind", "k"])
def test_what_is_no_one_kind_of_number_is_kept_apart(column):
    found = means_by(table(**{column: [1, 2, 1, 2]}), "topic")
    assert list(found)[:2] == [column, "topic"]
    assert list(found[column]) == [1, 2]


def test_prompts_without_the_column_are_a_group_too():
    found = means_by(table(topic=["a", None, "a", None]), "topic")
    assert found.topic.isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("columns", "by", "told"),
    [({}, "subject", "lacks the columns subject"), ({}, ["topic", "x"], "lacks the columns x")],
)
def test_a_column_that_is_none_is_told(columns, by, told):
    with pytest.raises(InputError, match=told):
        means_by(table(**columns), by)


def test_an_empty_table_is_told():
    with pytest.raises(InputError, match="no row"):
        means_by(table().iloc[:0], "topic")


def test_measurements_that_have_a_row_already_are_told():
    once = table(key=list("abcd"), corrected=0.5)
    twice = pd.concat([once, once.head(1)])
    with pytest.warns(UserWarning, match="1 of the rows is of measurements that have a row"):
        means_by(twice, "topic")
    means_by(table(key="", corrected=0.5), "topic")
    means_by(twice.drop_duplicates(), "topic")
