"""What results do of themselves: scores, tables, named arrays, figures, equality by key."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tiny
from cases import EVERY_KIND, content, directions_result, random_result, trajectory_result

from coupling_core import (
    InputError,
    Store,
    View,
    figures,
    load,
    measure,
    score_pairs,
    score_positions,
)
from coupling_core.analysis import exports
from coupling_core.base.results.scores import MEASURES

IDS = (3, 1, 4, 1, 5)
OTHERS = tuple(make() for make in EVERY_KIND[1:])
"""Of kinds without scores."""


@pytest.fixture(scope="module")
def depth():
    return random_result()


@pytest.fixture(scope="module")
def between(tmp_path_factory):
    """A comparison of tokens in one block, and one over all pairs of blocks."""
    llama, store = tiny.model("llama"), Store(tmp_path_factory.mktemp("store"))
    asked = {"store": store, "model": llama, "k": 4, "kind": "self"}
    return measure(IDS, **asked, block=1), measure(IDS, **asked)


def same(found, expected):
    for name in MEASURES:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_scores_are_those_of_the_function_whatever_names_the_blocks(depth):
    for blocks, numbers in (
        (None, (1, 2, 3, 4, 5)),
        ("2-4", (2, 3, 4)),
        ("-2--1", (4, 5)),
        (range(2, 4), (2, 3)),
        ([5, 1], (5, 1)),
        (np.array([1, 3]), (1, 3)),
        ([-1, 2], (5, 2)),
        (3, (3,)),
    ):
        view = View(k=3, definition="page", role="B", blocks=numbers)
        found = depth.scores(k=3, blocks=blocks, definition="page", role="B")
        same(found, score_pairs(depth, view))
        assert (found.blocks, found.view.definition) == (numbers, "page")
    assert depth.scores().view.k == depth.k_max < 50
    last = depth.singular_values_of(-1)
    np.testing.assert_array_equal(last, depth.singular_values_of(5))
    np.testing.assert_array_equal(last, depth.singular_values[-1])


def test_scores_of_tokens_are_those_of_the_function(between):
    for result in between:
        same(result.scores(k=3), score_positions(result, View(k=3)))
        assert result.scores().view.k == 4  # as it was asked for
    assert "5 tokens" in repr(between[0].scores(k=3))


def test_means_are_without_a_jacobian_against_itself(depth, between):
    mean, found = depth.scores(k=3).mean(), score_pairs(depth, View(k=3))
    off = ~np.eye(5, dtype=bool)
    scores = between[0].scores(k=3)
    for name in MEASURES:
        assert getattr(mean, name) == getattr(found, name)[off].mean()
        values = np.where(scores.against_itself(), np.nan, getattr(scores, name))
        assert getattr(scores.mean(), name) == pytest.approx(np.nanmean(values), rel=1e-12)


def test_some_blocks_and_one_pair_are_had_by_their_numbers(depth, between):
    scores, tokens = depth.scores(k=3), between[0].scores(k=3)
    some = scores["2-4"]
    same(some, depth.scores(k=3, blocks="2-4"))
    assert some.view.blocks == some.blocks == (2, 3, 4)
    same(some[[-2, 2]], depth.scores(k=3, blocks=[4, 2]))
    of = scores[4, 2]
    assert [*vars(of).values()] == [getattr(scores, name)[3, 1] for name in vars(of)]
    assert of.corrected == some[4, 2].corrected == scores[np.int64(-2), 2].corrected
    assert tokens[5, 2].coupling == tokens.coupling[4, 1] == tokens[-1, 2].coupling
    assert tokens[5, 2].chance == tokens.chance[4, 1]


def test_three_numbers_are_not_taken_for_one_nor_results_for_arrays(depth):
    scores = depth.scores(k=3)
    for take in (float, round, np.mean, lambda of: 1 - of, lambda of: np.float64(1) + of):
        for it in (depth, scores, scores.mean(), scores[1, 2]):
            with pytest.raises((TypeError, AttributeError)):
                take(it)
    mean = scores.mean()
    assert str(mean).startswith(f"Means(corrected={mean.corrected:.4f}, coupling=")


def test_scores_without_their_result_have_their_table(depth):
    alone = replace(depth.scores(k=3), result=None)
    assert (alone.attributes(), "<table" in alone._repr_html_()) == (alone.view.attributes(), True)


def test_the_strongest_pairs_are_a_table(depth, between):
    scores, of_tokens = depth.scores(k=3), between[0].scores(k=4)
    found = scores.strongest(4)
    assert list(found.columns) == ["block", "basis", "coupling", "chance", "corrected"]
    off = scores.corrected[~np.eye(5, dtype=bool)]
    assert found.corrected.to_list() == sorted(off, reverse=True)[:4]
    first = found.iloc[0]
    assert scores[int(first.block), int(first.basis)].corrected == first.corrected
    assert len(scores.strongest(1000)) == 20
    apart = np.where(of_tokens.against_itself(), np.nan, of_tokens.corrected)
    assert of_tokens.strongest(3).corrected[0] == np.nanmax(apart)


def test_a_k_that_was_asked_for_is_the_one_that_is_looked_at(tmp_path):
    asked = {"model": tiny.model("llama"), "store": Store(tmp_path / "kept")}
    first, usual = measure(IDS, **asked, k=3), measure(IDS, **asked)
    assert (first.default_k, usual.default_k) == (3, min(50, usual.k_max))
    assert first == usual
    assert first.scores().view.k == first.to_xarray().attrs["K"] == 3
    assert load(first.save(tmp_path / "one.safetensors")).default_k == usual.default_k
    assert copy.deepcopy(first).default_k == pickle.loads(pickle.dumps(first)).default_k == 3
    # Whatever was asked for first, what is stored serves who asks for more.
    assert first.matrices.shape == usual.matrices.shape
    assert first.k_view == min(32, first.width)


def test_tables_and_named_arrays_have_the_scores(depth, between):
    table = depth.scores(k=3, blocks="2-3").to_pandas()
    pd.testing.assert_frame_equal(table, exports.frame(depth, View(k=3, blocks=(2, 3))))
    assert (list(table["block"]), list(table["basis"])) == ([2, 2, 3, 3], [2, 3, 2, 3])
    for result in between:
        table = result.scores(k=3).to_pandas()
        assert list(table["text"][:6]) == [result.tokens[0]] * 5 + [result.tokens[1]]
        np.testing.assert_array_equal(table["coupling"], result.scores(k=3).coupling.ravel())
    found = depth.scores(k=3, blocks="2-4").to_xarray()
    assert found.coupling.dims == ("block", "basis")
    assert found.coupling.sel(block=2, basis=4) == depth.scores(k=3).coupling[1, 3]
    said = {"K": 3, "definition": "paper", "role": "A", "model": "random"}
    assert said.items() <= found.attrs.items()
    assert all(isinstance(value, str | int | float) for value in found.attrs.values())
    named = between[0].to_xarray()
    assert named.corrected.dims == ("token", "other_token")
    assert list(named.text.values) == list(between[0].tokens)


def test_certificates_and_precision_stand_in_the_attributes(depth):
    first, *others = depth.certificates
    failed = replace(first, certified=False, reason="a residual is large")
    doubtful = replace(depth, certificates=(failed, *others))
    told = [each.scores(k=3).to_xarray().attrs["certificate"] for each in (depth, doubtful)]
    assert "all 5" in told[0]
    assert "1 of 5" in told[1]
    assert failed.reason in told[1]
    other = replace(
        depth,
        request=replace(depth.request, dtype="bfloat16", final_norm="exclude"),
        provenance=depth.provenance | {"weights": "bfloat16", "dtype": "float32"},
    )
    apart = other.to_pandas().attrs.items() - depth.to_pandas().attrs.items()
    assert {"precision", "final_norm"} <= dict(apart).keys()
    assert "bfloat16" in dict(apart)["precision"]


def test_every_axis_is_had_by_its_number_and_a_table_keeps_whose_it_is(depth, tmp_path):
    """But that of the residual stream's entries, which are counted from 0 everywhere."""
    for result in (depth, *OTHERS):
        found = result.to_xarray()
        assert {str(axis) for axis in found.dims} - {*found.coords} <= {"d"}
        for axis in {"k", "u_k", "v_k", "token", "outcome", "draw", "place"} & {*found.dims}:
            assert found[axis].values.tolist() == list(range(1, found.sizes[axis] + 1))
        result.to_pandas().to_parquet(tmp_path / "t.parquet")
        again = pd.read_parquet(tmp_path / "t.parquet")
        pd.testing.assert_frame_equal(again, result.to_pandas())
        assert again.attrs.items() >= result.attributes().items()
        assert content(pickle.loads(pickle.dumps(result))) == content(result)
        assert "random, 'The cat sat down'" in repr(result)
    found, table = directions_result().to_xarray(), directions_result().to_pandas()
    second = table.query("block == 1 and component == 2 and readout == 'writes'")
    at = found.peakedness.sel(block=1, readout="writes", k=2)
    assert float(at) == second.peakedness.item()
    assert trajectory_result().to_xarray().norms.dims == ("state", "token")


def test_results_are_equal_by_key(depth):
    again = replace(depth, provenance={})
    assert again == depth
    assert {depth: 1}[again] == 1
    assert random_result(seed=1) != depth
    nameless = replace(depth, key="")
    assert nameless == nameless != replace(depth, key="")


def test_a_figure_is_that_of_its_scores_and_options_and_is_saved(depth, tmp_path):
    saved = depth.plot().save(tmp_path / "map.html")
    assert saved.read_bytes().startswith(b"<!doctype html>")
    some = depth.scores(k=3, blocks="2-4")
    raw = some.plot(corrected=False).figure
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(raw.data[0].z[off], some.coupling[off], rtol=1e-6)
    expected = figures.mosaic(depth, View(3, blocks=(2, 3, 4)))
    np.testing.assert_array_equal(some.plot("mosaic").figure.data[0].z, expected.data[0].z)
    circle = depth.plot("graph", threshold=0.2, layout="circle").figure
    assert circle == figures.graph(depth, depth.default_view(), threshold=0.2, layout="circle")
    assert some.plot(auto_range=True).figure.data[0].zmax != 0.25
    paths = trajectory_result()
    assert repr(paths.plot("norms", token=-1)) == repr(paths.plot("norms"))
    assert repr(paths.plot("norms", token=2)) != repr(paths.plot("norms"))


def test_a_twin_of_the_same_tokens_is_drawn_and_no_other():
    one = trajectory_result()
    beside = one.plot("line-shape", twin=trajectory_result(seed=1)).figure
    assert len(beside.data) > len(one.plot("line-shape", twin=None).figure.data)
    other = replace(one, tokens=(*one.tokens[:-1], " hat"))
    for twin in (True, "untrained", random_result(), other):
        with pytest.raises(InputError, match="twin"):
            one.plot("line-shape", twin=twin)


def test_a_notebook_shows_a_result_with_its_prompt_escaped():
    hostile = replace(random_result(), tokens=("a", "b", "c", "<script>alert(1)</script>"))
    shown = hostile._repr_html_()
    assert "plotly" in shown
    assert "<script>alert" not in shown.split("<div")[0]
