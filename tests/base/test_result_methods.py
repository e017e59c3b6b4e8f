"""What results do of themselves: scores, tables, named arrays, figures, equality by key."""

import copy
import pickle
import re
from dataclasses import fields, replace
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import tiny
import xarray
from cases import (
    directions_result,
    perturbation_result,
    random_result,
    spectrum_result,
    trajectory_result,
    what_if_result,
)

from coupling_core import (
    DepthResult,
    Store,
    View,
    compare,
    effect_maps,
    figures,
    load,
    measure,
    score_pairs,
    score_positions,
    shared_of,
)
from coupling_core.analysis import exports
from coupling_core.base.drawing import FigureName
from coupling_core.base.results.scores import MEASURES
from coupling_core.kinds.depth import views as depth_views
from coupling_core.kinds.perturbation import views as perturbation_views
from coupling_core.kinds.spectrum import views as spectrum_views
from coupling_core.kinds.tokens import views as token_views
from coupling_core.kinds.trajectory import views as path_views
from coupling_core.kinds.trajectory.export import arrays
from coupling_core.kinds.whatif import views as edit_views

IDS = (3, 1, 4, 1, 5)
OTHERS = (
    trajectory_result(),
    what_if_result(),
    spectrum_result(),
    perturbation_result(),
    directions_result(),
)
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


# ---- scores


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


def test_scores_of_tokens_are_those_of_the_function(between):
    for result in between:
        same(result.scores(k=3), score_positions(result, View(k=3)))
        assert result.scores().view.k == 4  # as it was asked for
    pair, means = between
    assert pair.scores(k=3, blocks=1) == pair.scores(3, [1]) == pair.scores(k=3)
    assert means.scores(k=3, blocks=f"1-{means.n_blocks}") == means.scores(k=3)


def test_means_are_without_a_jacobian_against_itself(depth, between):
    mean = depth.scores(k=3).mean()
    off = ~np.eye(5, dtype=bool)
    found = score_pairs(depth, View(k=3))
    assert mean._fields == ("corrected", "coupling", "chance")
    for name in MEASURES:
        assert getattr(mean, name) == getattr(found, name)[off].mean()
    scores = between[0].scores(k=3)
    for name in MEASURES:
        values = np.where(scores.itself, np.nan, getattr(scores, name))
        assert getattr(scores.mean(), name) == pytest.approx(np.nanmean(values), rel=1e-12)


def test_some_blocks_and_one_pair_are_had_by_their_numbers(depth, between):
    scores = depth.scores(k=3)
    some = scores["2-4"]
    same(some, depth.scores(k=3, blocks="2-4"))
    assert some.view.blocks == some.blocks == (2, 3, 4)
    same(some[[-2, 2]], depth.scores(k=3, blocks=[4, 2]))
    of = scores[4, 2]
    assert of == (scores.corrected[3, 1], scores.coupling[3, 1], scores.chance[3, 1])
    assert of.corrected == some[4, 2].corrected == scores[np.int64(-2), 2].corrected
    tokens = between[0].scores(k=3)
    assert tokens[5, 2].coupling == tokens.coupling[4, 1] == tokens[-1, 2].coupling
    assert tokens[5, 2].chance == tokens.chance[4, 1]


def test_scores_are_equal_by_their_numbers(depth, between):
    scores = depth.scores(k=3)
    assert scores == depth.scores(k=3) == replace(scores, result=None, view=None)
    assert scores.mean() == replace(scores, result=None).mean()
    assert scores["2-3"] == depth.scores(k=3, blocks="2-3")
    for other in (depth.scores(k=2), 3):
        assert scores != other
    assert scores["2-3"] != replace(scores["2-3"], blocks=(3, 4))
    assert between[0].scores(k=3) == between[0].scores(k=3) != between[0].scores(k=2)
    none = depth.scores(k=1, definition="preprint")  # whose chance floor is not known
    assert np.isnan(none.corrected).any()
    assert none == depth.scores(k=1, definition="preprint") != depth.scores(k=1)
    with pytest.raises(TypeError):
        hash(scores)


def test_the_strongest_pairs_are_a_table(depth, between):
    scores = depth.scores(k=3)
    found = scores.strongest(4)
    assert list(found.columns) == ["block", "basis", "coupling", "chance", "corrected"]
    off = scores.corrected[~np.eye(5, dtype=bool)]
    assert found.corrected.to_list() == sorted(off, reverse=True)[:4]
    first = found.iloc[0]
    assert scores[int(first.block), int(first.basis)].corrected == first.corrected
    assert len(scores.strongest(1000)) == 20
    of_tokens = between[0].scores(k=4)
    pairs = of_tokens.strongest(3)
    assert (pairs.token != pairs.other_token).all()
    assert pairs.corrected[0] == np.nanmax(np.where(of_tokens.itself, np.nan, of_tokens.corrected))


def test_a_k_that_was_asked_for_is_the_one_that_is_looked_at(tmp_path):
    asked = {"model": tiny.model("llama"), "store": Store(tmp_path / "kept")}
    first, usual = measure(IDS, **asked, k=3), measure(IDS, **asked)
    assert (first.default_k, usual.default_k) == (3, min(50, usual.k_max))
    assert first == usual
    assert first.scores().view.k == first.to_xarray().attrs["K"] == 3
    back = load(first.save(tmp_path / "one.safetensors"))
    assert back.default_k == usual.default_k
    assert copy.deepcopy(first).default_k == pickle.loads(pickle.dumps(first)).default_k == 3
    assert measure(IDS, **asked, k=usual.k_max).default_k == usual.k_max
    # Whatever was asked for first, what is stored serves who asks for more.
    assert first.matrices.shape == usual.matrices.shape
    assert first.k_view == min(32, first.width)


def test_of_one_input_the_first_token_is_fixed_where_nobody_says():
    asked = {"model": tiny.model("llama"), "kind": "fixed-input", "block": 1, "store": None}
    assert measure(IDS, **asked).token == 1
    assert measure(IDS, **asked, token=2).token == 2


# ---- tables and named arrays


def test_tables_have_a_row_a_pair_and_say_whose_they_are(depth, between):
    table = depth.scores(k=3, blocks="2-3").to_pandas()
    pd.testing.assert_frame_equal(table, exports.frame(depth, View(k=3, blocks=(2, 3))))
    assert (list(table["block"]), list(table["basis"])) == ([2, 2, 3, 3], [2, 3, 2, 3])
    for result in between:
        table = result.scores(k=3).to_pandas()
        assert list(table["text"][:6]) == [result.tokens[0]] * 5 + [result.tokens[1]]
        np.testing.assert_array_equal(table["coupling"], result.scores(k=3).coupling.ravel())
    directions, what_if = directions_result(), what_if_result()
    shared = shared_of(directions, blocks="1-3").to_pandas().attrs
    assert shared.items() >= (directions.attributes() | {"side": "u"}).items()
    effects = effect_maps(what_if).to_pandas().attrs
    assert effects.items() >= what_if.attributes().items()


def test_named_arrays_say_what_they_are_of(depth, between):
    found = depth.scores(k=3, blocks="2-4").to_xarray()
    assert found.coupling.dims == ("block", "basis")
    assert found.coupling.sel(block=2, basis=4) == depth.scores(k=3).coupling[1, 3]
    said = {"K": 3, "definition": "paper", "role": "A", "model": "random"}
    assert said.items() <= found.attrs.items()
    assert all(isinstance(value, str | int | float) for value in found.attrs.values())
    named = between[0].to_xarray()
    assert named.corrected.dims == ("token", "other_token")
    assert list(named.text.values) == list(between[0].tokens)
    against = compare(between[0], between[0], k=3).to_xarray()
    assert against.difference.dims == ("token", "other_token")
    assert float(against.a.sel(token=3, other_token=2)) == between[0].scores(k=3)[3, 2].corrected
    assert not against.counted.values.diagonal().any()


def test_certificates_and_precision_stand_in_the_attributes(depth):
    first, *others = depth.certificates
    failed = replace(first, certified=False, reason="a residual is large")
    doubtful = replace(depth, certificates=(failed, *others))
    told = [each.scores(k=3).to_xarray().attrs["certificate"] for each in (depth, doubtful)]
    assert "all 5" in told[0]
    assert "1 of 5" in told[1]
    assert "a residual is large" in told[1]
    other = replace(
        depth,
        request=replace(depth.request, dtype="bfloat16", final_norm="exclude"),
        provenance=depth.provenance | {"weights": "bfloat16", "dtype": "float32"},
    )
    attributes = other.to_pandas().attrs
    assert attributes["precision"] != depth.to_pandas().attrs["precision"]
    assert "bfloat16" in attributes["precision"]
    assert attributes["final_norm"] != depth.to_pandas().attrs["final_norm"]


def test_tables_and_arrays_come_back_from_files(depth, between, tmp_path):
    for result in (depth, *between, *OTHERS):
        table, named = result.to_pandas(), result.to_xarray()
        table.to_parquet(tmp_path / "t.parquet")
        again = pd.read_parquet(tmp_path / "t.parquet")
        pd.testing.assert_frame_equal(again, table)
        assert again.attrs.items() >= result.attributes().items()
        out = exports.to_parquet(exports.frame(result, result.default_view()))
        (tmp_path / "out.parquet").write_bytes(out)
        assert pd.read_parquet(tmp_path / "out.parquet").attrs == again.attrs
        named.to_netcdf(tmp_path / "t.nc", engine="scipy")
        with xarray.open_dataset(tmp_path / "t.nc", engine="scipy") as again:
            for name in named.data_vars:
                np.testing.assert_array_equal(again[name].values, named[name].values)
            assert again.attrs["model"] == named.attrs["model"]
        back = pickle.loads(pickle.dumps(result))
        assert back == result or not result.key
        for name, array in vars(result).items():
            if isinstance(array, np.ndarray):
                np.testing.assert_array_equal(getattr(back, name), array)
    scores = pickle.loads(pickle.dumps(depth.scores(k=3)))
    same(scores, depth.scores(k=3))
    scores.to_pandas().to_parquet(tmp_path / "s.parquet")
    told = pd.read_parquet(tmp_path / "s.parquet").attrs
    assert (told["K"], told["definition"], told["model"]) == (3, "paper", depth.model_name)


def test_every_axis_of_arrays_is_had_by_its_number():
    """But that of the residual stream's entries, which are counted from 0 everywhere."""
    for result in (random_result(), *OTHERS):
        found = result.to_xarray()
        assert {str(axis) for axis in found.dims} - {*found.coords} <= {"d"}
        for axis in {"k", "u_k", "v_k", "token", "outcome", "draw", "place"} & {*found.dims}:
            assert found[axis].values.tolist() == list(range(1, found.sizes[axis] + 1))
    found, table = directions_result().to_xarray(), directions_result().to_pandas()
    second = table.query("block == 1 and component == 2 and readout == 'writes'")
    at = found.peakedness.sel(block=1, readout="writes", k=2)
    assert float(at) == second.peakedness.item()
    assert found.text.sel(token=4).item() == " down"
    paths = trajectory_result()
    of_paths = paths.to_xarray()
    for name, values in arrays(paths, paths.default_view()).items():
        if name not in ("tokens", "token_ids"):
            np.testing.assert_array_equal(of_paths[name].values, values)
    assert of_paths.norms.dims == ("state", "token")
    assert of_paths.one_step.dims == ("block", "token")


def test_dimensions_have_names(depth):
    assert depth.dims["diagonal"] == ("role", "block", "block", "k")
    for name, dims in depth.dims.items():
        assert getattr(depth, name).ndim == len(dims)
    assert depth.dims.keys() <= {item.name for item in fields(DepthResult)}


def test_results_are_equal_by_key(depth):
    again = replace(depth, provenance={})
    assert again == depth
    assert hash(again) == hash(depth)
    assert {depth: 1}[again] == 1
    assert random_result(seed=1) != depth
    assert depth != depth.key
    nameless = replace(depth, key="")
    assert nameless == nameless
    assert nameless != replace(depth, key="")


# ---- figures


def test_every_figure_has_its_name_and_is_drawn(depth, between):
    pair, means = between
    drawn = [
        *((depth, name) for name in get_args(depth_views.FigureName)),
        *((depth, name) for name in get_args(depth_views.GraphFigure)),
        *((pair, name) for name in get_args(token_views.FigureName)),
        *((means, name) for name in ("grid", "distance")),
        *((trajectory_result(), name) for name in get_args(path_views.FigureName)),
        *((what_if_result(), name) for name in get_args(edit_views.FigureName)),
        *((spectrum_result(), name) for name in get_args(spectrum_views.FigureName)),
        *((perturbation_result(), name) for name in get_args(perturbation_views.FigureName)),
        (directions_result(), "readouts"),
    ]
    names = {name for kind in get_args(FigureName) for name in get_args(kind)}
    assert names == {name for _, name in drawn} | {""}
    plots = [result.plot(name) for result, name in drawn]
    told = {(repr(plot), plot.figure.data[0].type) for plot in plots}  # paths in 3-D are told alike
    assert len(told) == len(plots)
    uids = [trace.uid or "" for plot in plots for trace in plot.figure.data]
    assert all(re.fullmatch(r"[\w -]*", uid) for uid in uids)  # a selector, where a browser draws


def test_a_figure_is_that_of_its_scores_and_is_saved(depth, between, tmp_path):
    for result in (depth, *between, *OTHERS):
        saved = result.plot().save(tmp_path / "map.html")
        assert saved.read_bytes().startswith(b"<!doctype html>")
    some = depth.scores(k=3, blocks="2-4")
    raw = some.plot(corrected=False).figure
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(raw.data[0].z[off], some.coupling[off], rtol=1e-6)
    expected = figures.mosaic(depth, View(3, blocks=(2, 3, 4)))
    np.testing.assert_array_equal(some.plot("mosaic").figure.data[0].z, expected.data[0].z)


def test_figures_take_their_options(depth):
    circle = depth.plot("graph", threshold=0.2, layout="circle").figure
    expected = figures.graph(depth, depth.default_view(), threshold=0.2, layout="circle")
    assert circle == expected
    assert circle != depth.plot("graph").figure
    assert depth.scores(k=3).plot(auto_range=True).figure.data[0].zmax != 0.25
    paths = trajectory_result()
    assert repr(paths.plot("norms", token=-1)) == repr(paths.plot("norms"))
    assert repr(paths.plot("norms", token=2)) != repr(paths.plot("norms"))
