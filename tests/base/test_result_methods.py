"""What results do of themselves: scores, tables, named arrays, figures, a repr, equality by key."""

import copy
import inspect
import os
import pickle
import re
import subprocess
import sys
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
    InputError,
    Store,
    View,
    compare,
    effect_maps,
    figures,
    jacobian,
    load,
    locality,
    measure,
    score_pairs,
    score_positions,
    shared_of,
)
from coupling_core.analysis import exports
from coupling_core.base.drawing import FigureName, options_of
from coupling_core.base.kinds import kinds
from coupling_core.base.results import Result
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


@pytest.mark.parametrize(
    ("blocks", "numbers"),
    [
        (None, (1, 2, 3, 4, 5)),
        ("2-4", (2, 3, 4)),
        ("-2--1", (4, 5)),
        (range(2, 4), (2, 3)),
        ([5, 1], (5, 1)),
        (np.array([1, 3]), (1, 3)),
        ([-1, 2], (5, 2)),
        (3, (3,)),
    ],
)
def test_scores_are_those_of_the_function_whatever_names_the_blocks(depth, blocks, numbers):
    view = View(k=3, definition="page", role="B", blocks=numbers)
    found = depth.scores(k=3, blocks=blocks, definition="page", role="B")
    same(found, score_pairs(depth, view))
    assert found.blocks == numbers
    assert found.view.definition == "page"


@pytest.mark.parametrize("blocks", ["six", [0], [7], [], [1, 1], "4-2"])
def test_blocks_that_are_none_are_refused(depth, blocks):
    with pytest.raises(InputError):
        depth.scores(blocks=blocks)


UNREADABLE = """
from coupling_core import InputError
from coupling_core.base.blocks import blocks_of
for blocks in ([1.5], object(), slice(0, 2), {"a": 1}):
    try:
        print(blocks_of(blocks, 5))
    except InputError as error:
        print("expected a text such as '9-16', a range" in str(error))
"""


def test_what_names_no_blocks_is_refused_in_words():
    done = subprocess.run(  # a process of its own checks no types at run time
        [sys.executable, "-c", UNREADABLE], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True"] * 4


def test_k_is_50_or_what_there_is(depth):
    assert depth.scores().view.k == depth.k_max < 50
    with pytest.raises(InputError, match="K must lie in"):
        depth.scores(k=depth.k_max + 1)


def test_scores_of_tokens_are_those_of_the_function(between):
    for result in between:
        same(result.scores(k=3), score_positions(result, View(k=3)))
        assert result.scores().view.k == 4  # as it was asked for
        assert "K = 4" in result.verdict
    _, means = between
    with pytest.raises(InputError, match="is kept at K"):
        means.scores(k=4 if 4 not in means.k_grid else 6)


def test_tokens_are_looked_at_in_the_blocks_that_were_compared(between):
    pair, means = between
    assert pair.scores(k=3, blocks=1) == pair.scores(3, [1]) == pair.scores(k=3)
    assert means.scores(k=3, blocks=f"1-{means.n_blocks}") == means.scores(k=3)
    told = r"in block 1: leave blocks out, or measure others with .*kind='self', block=12"
    with pytest.raises(InputError, match=told):
        pair.scores(k=3, blocks="1-2")
    with pytest.raises(InputError, match="in all pairs of blocks: leave blocks out"):
        means.scores(k=3, blocks=[2])
    with pytest.raises(InputError, match="block 99 is out of range"):
        pair.scores(blocks=99)


def test_means_are_by_name_and_without_a_jacobian_against_itself(depth, between):
    mean = depth.scores(k=3).mean()
    off = ~np.eye(5, dtype=bool)
    found = score_pairs(depth, View(k=3))
    assert mean._fields == ("corrected", "coupling", "chance")
    for name in MEASURES:
        assert getattr(mean, name) == getattr(found, name)[off].mean()
    pair, _ = between
    scores = pair.scores(k=3)
    for name in MEASURES:
        values = np.where(scores.itself, np.nan, getattr(scores, name))
        assert getattr(scores.mean(), name) == pytest.approx(np.nanmean(values), rel=1e-12)


def test_some_of_the_blocks_are_had_by_their_numbers(depth):
    scores = depth.scores(k=3)
    same(scores["2-4"], depth.scores(k=3, blocks="2-4"))
    some = scores["2-4"]
    assert some.view.blocks == some.blocks == (2, 3, 4)
    same(some[[-2, 2]], depth.scores(k=3, blocks=[4, 2]))
    with pytest.raises(InputError, match="block 1 is not among"):
        some["1-2"]


def test_one_pair_is_had_by_its_two_numbers(depth, between):
    scores = depth.scores(k=3)
    of = scores[4, 2]
    assert of == (scores.corrected[3, 1], scores.coupling[3, 1], scores.chance[3, 1])
    assert of.corrected == scores["2-4"][4, 2].corrected == scores[np.int64(-2), 2].corrected
    assert repr(of).startswith(f"PairScores(corrected={of.corrected:.4f}, coupling=")
    pair, _ = between
    tokens = pair.scores(k=3)
    assert tokens[5, 2].coupling == tokens.coupling[4, 1] == tokens[-1, 2].coupling
    assert tokens[5, 2].chance == tokens.chance[4, 1]


NO_PAIRS = """
import tiny
from cases import random_result
from coupling_core import InputError, measure
tokens = measure((3, 1, 4, 1, 5), model=tiny.model("llama"), k=4, kind="self", block=1)
for scores, keys in (
    (random_result().scores(k=3), [(1, 2, 3), (1,), (1, "2"), (1.5, 2), (1, 9), (0, 1)]),
    (random_result().scores(k=3)["2-4"], [(1, 2)]),
    (tokens.scores(k=3), [3, "1-2", [1, 2, 3], (0, 1), (1, 99), slice(0, 2)]),
):
    for key in keys:
        try:
            print(key, scores[key])
        except InputError as error:
            words = ("such as scores[3, 2]", "is out of range", "is not among the blocks")
            print("refused:", any(told in str(error) for told in words))
        except BaseException as error:
            print(key, repr(error))
"""


def test_what_is_no_pair_is_refused_in_words():
    done = subprocess.run(
        [sys.executable, "-c", NO_PAIRS],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.splitlines() == ["refused: True"] * 13


def test_scores_are_equal_by_their_numbers(depth, between):
    scores = depth.scores(k=3)
    assert scores == depth.scores(k=3)
    assert scores == replace(scores, result=None, view=None)
    assert scores != depth.scores(k=2)
    assert scores["2-3"] == depth.scores(k=3, blocks="2-3")
    assert scores["2-3"] != replace(scores["2-3"], blocks=(3, 4))
    assert scores != 3
    pair, means = between
    assert pair.scores(k=3) == pair.scores(k=3)  # with pairs that have no score
    assert np.isnan(pair.scores(k=3).coupling).any() or means.scores(k=3) == means.scores(k=3)
    assert pair.scores(k=3) != pair.scores(k=2)
    with pytest.raises(TypeError):
        hash(scores)


def test_a_notebook_shows_scores_with_their_map(depth, between):
    for scores in (depth.scores(k=3), depth.scores(k=3)["2-4"], between[0].scores(k=3)):
        shown = scores._repr_html_()
        assert repr(scores).split(",")[0] in shown
        assert "plotly" in shown
    alone = replace(depth.scores(k=3), result=None)
    assert "<table" in alone._repr_html_()
    assert "plotly" not in alone._repr_html_()


def test_tables_have_a_row_a_pair(depth, between):
    table = depth.scores(k=3, blocks="2-3").to_pandas()
    pd.testing.assert_frame_equal(table, exports.frame(depth, View(k=3, blocks=(2, 3))))
    assert list(table["block"]) == [2, 2, 3, 3]
    assert list(table["basis"]) == [2, 3, 2, 3]
    for result in between:
        table = result.scores(k=3).to_pandas()
        assert list(table["text"][:6]) == [result.tokens[0]] * 5 + [result.tokens[1]]
        np.testing.assert_array_equal(table["coupling"], result.scores(k=3).coupling.ravel())


def test_named_arrays_say_what_they_are_of(depth, between):
    found = depth.scores(k=3, blocks="2-4").to_xarray()
    assert found.coupling.dims == ("block", "basis")
    assert found.coupling.sel(block=2, basis=4) == depth.scores(k=3).coupling[1, 3]
    said = {"K": 3, "definition": "paper", "role": "A", "model": "random"}
    assert said.items() <= found.attrs.items()
    assert found.attrs["certificate"] == "all 5 SVDs certified"
    assert all(isinstance(value, str | int | float) for value in found.attrs.values())
    pair, _ = between
    named = pair.to_xarray()
    assert named.corrected.dims == ("token", "other_token")
    assert list(named.text.values) == list(pair.tokens)


def test_a_failed_certificate_is_told(depth):
    first, *others = depth.certificates
    failed = replace(first, certified=False, reason="a residual is large")
    doubtful = replace(depth, certificates=(failed, *others))
    told = doubtful.scores(k=3).to_xarray().attrs["certificate"]
    assert told == "1 of 5 SVDs not certified: a residual is large"
    assert repr(doubtful).endswith("not all certified)")


def test_a_trajectory_has_the_same():
    result = trajectory_result()
    found = result.to_xarray()
    for name, values in arrays(result, result.default_view()).items():
        if name not in ("tokens", "token_ids"):
            np.testing.assert_array_equal(found[name].values, values)
    assert found.norms.dims == ("state", "token")
    assert found.one_step.dims == ("block", "token")
    assert found.sizes == {"state": 13, "token": 6, "block": 12, "component": 3}
    pd.testing.assert_frame_equal(result.to_pandas(), exports.frame(result, result.default_view()))
    assert "straight path" in result.verdict
    assert found.component.values.tolist() == [1, 2, 3]
    assert {"fit", "part", "first", "model"} <= set(found.attrs)
    assert all(found[name].attrs["long_name"] for name in found.data_vars)


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
        assert pickle.loads(pickle.dumps(result)) == result or not result.key
    scores = pickle.loads(pickle.dumps(depth.scores(k=3)))
    same(scores, depth.scores(k=3))
    scores.to_pandas().to_parquet(tmp_path / "s.parquet")
    told = pd.read_parquet(tmp_path / "s.parquet").attrs
    assert (told["K"], told["definition"], told["model"]) == (3, "paper", depth.model_name)


def test_one_block_is_no_pair_and_no_map(depth):
    scores = depth.scores(k=3)
    for one in (2, -1, np.int64(2)):
        with pytest.raises(InputError, match="alone makes no pair"):
            scores[one]
    assert scores[np.array([1, 2])].blocks == (1, 2)


def test_the_figure_is_the_page_s(depth, between, tmp_path):
    for result in (depth, *between, *OTHERS):
        drawn = result.plot()
        saved = drawn.save(tmp_path / "map.html")
        assert drawn.figure.layout.meta["alt"] in repr(drawn)
        assert saved.read_bytes().startswith(b"<!doctype html>")
        with pytest.raises(InputError, match="a figure is written as"):
            drawn.save(tmp_path / "map.docx")
        with pytest.raises(InputError, match="save has no argument 'width': it has path"):
            drawn.save(tmp_path / "map.html", width=800)
    raw = depth.scores(k=3, blocks="2-4").plot(corrected=False).figure
    off, found = ~np.eye(3, dtype=bool), depth.scores(k=3, blocks="2-4").coupling
    np.testing.assert_allclose(raw.data[0].z[off], found[off], rtol=1e-6)


def test_every_figure_of_the_command_line_has_its_name_here(depth, between):
    pair, means = between
    drawn = [
        *((depth, name) for name in (*get_args(depth_views.FigureName), "graph", "locality")),
        *((pair, name) for name in get_args(token_views.FigureName)),
        *((means, name) for name in ("grid", "distance")),
        *((trajectory_result(), name) for name in get_args(path_views.FigureName)),
        *((what_if_result(), name) for name in get_args(edit_views.FigureName)),
        *((spectrum_result(), name) for name in get_args(spectrum_views.FigureName)),
        *((perturbation_result(), name) for name in get_args(perturbation_views.FigureName)),
        (directions_result(), "readouts"),
    ]
    plots = [result.plot(name) for result, name in drawn]
    told = {(repr(plot), plot.figure.data[0].type) for plot in plots}  # paths in 3-D are told alike
    assert len(told) == len(plots)
    assert repr(depth.plot("scores")) == repr(depth.plot())
    uids = [trace.uid or "" for plot in plots for trace in plot.figure.data]
    assert all(re.fullmatch(r"[\w -]*", uid) for uid in uids)  # a selector, where a browser draws
    seen = depth.scores(k=3, blocks="2-4").plot("mosaic").figure
    expected = figures.mosaic(depth, View(3, blocks=(2, 3, 4)))
    np.testing.assert_array_equal(seen.data[0].z, expected.data[0].z)


@pytest.mark.parametrize(
    ("which", "name", "told"),
    [
        ("depth", "map", "figure must be one of mosaic, scores, .*locality, and 'map' came"),
        ("pair", "map", "figure must be one of grid, mosaic"),
        ("means", "mosaic", "the figure mosaic is of one pair of blocks"),
        ("paths", "map", "figure must be one of paths, .*norms"),
        ("edits", "map", "figure must be one of interchange, replace"),
        ("spectra", "map", "figure must be one of eigenvalues, maps, products"),
        ("directions", "map", "figure must be one of readouts"),
    ],
)
def test_a_figure_that_is_none_is_refused_with_those_that_are(depth, between, which, name, told):
    results = {"depth": depth, "pair": between[0], "means": between[1]}
    results |= {"paths": trajectory_result(), "edits": what_if_result()}
    results |= {"spectra": spectrum_result(), "directions": directions_result()}
    results |= {"noise": perturbation_result()}
    with pytest.raises(InputError, match=told):
        inspect.unwrap(Result.plot)(results[which], name)


def of(views):
    return get_args(views.FigureName)


def test_help_lists_every_figure_with_its_options(depth, between):
    told = " ".join(Result.plot.__doc__.split("Args:")[0].split())
    paths, edits, spectra = trajectory_result(), what_if_result(), spectrum_result()
    made = {
        **{n: depth_views.maker(depth, View(k=3), n) for n in depth_views.FIGURES},
        **{n: path_views.maker(paths, paths.default_view(), n, 1) for n in of(path_views)},
        **{n: edit_views.maker(edits, edits.default_view(), n) for n in of(edit_views)},
        **{n: spectrum_views.maker(spectra, n) for n in of(spectrum_views)},
    }
    noise = perturbation_result()
    pairs = [*made.items()]
    pairs += [(n, perturbation_views.maker(noise, n)) for n in of(perturbation_views)]
    pairs += [(n, token_views.maker(between[0], View(k=3), n)) for n in of(token_views)]
    listed = [f"{n} ({', '.join(o)})" if (o := options_of(make)) else n for n, make in pairs]
    assert [one for one in listed if one not in told] == []
    assert told.count(" (") == sum("(" in one for one in listed) + 1  # and the readouts


def test_figures_take_their_options(depth):
    circle = depth.plot("graph", threshold=0.2, layout="circle").figure
    expected = figures.graph(depth, depth.default_view(), threshold=0.2, layout="circle")
    assert circle == expected
    assert circle != depth.plot("graph").figure
    assert depth.scores(k=3).plot(auto_range=True).figure.data[0].zmax != 0.25
    paths = trajectory_result()
    assert "Token 2 goes" in repr(paths.plot("norms", token=2))
    assert repr(paths.plot("norms", token=-1)) == repr(paths.plot("norms"))


@pytest.mark.parametrize(
    ("figure", "options", "told"),
    [
        (
            "graph",
            {"treshold": 0.1},
            "no option 'treshold' .did you mean 'threshold'..: it has cor",
        ),
        ("graph", {"layout": "circel"}, "layout must be one of line, .*did you mean 'circle'"),
        ("graph", {"threshold": "0.1"}, "threshold is a number, and '0.1' came"),
        ("scores", {"auto_range": 1}, "auto_range is True or False, and 1 came"),
        ("mosaic", {"corrected": False}, "the figure mosaic has no option 'corrected'"),
    ],
)
def test_an_option_that_is_none_is_refused_with_those_that_are(depth, figure, options, told):
    with pytest.raises(InputError, match=told):
        depth.plot(figure, **options)
    with pytest.raises(InputError, match=told):
        depth.scores(k=3).plot(figure, **options)


def test_scores_without_their_result_say_why_they_are_not_drawn(depth):
    alone = replace(depth.scores(k=3), result=None)
    with pytest.raises(InputError, match=r"result\.scores"):
        alone.plot()
    assert alone.mean() == depth.scores(k=3).mean()


def test_a_comparison_between_tokens_has_arrays_too(between):
    pair, _ = between
    found = compare(pair, pair, k=3).to_xarray()
    assert found.difference.dims == ("token", "other_token")
    scores = pair.scores(k=3)
    assert float(found.a.sel(token=3, other_token=2)) == scores[3, 2].corrected
    assert found.attrs["a_model"] == pair.model_name
    assert not found.counted.values.diagonal().any()


def test_what_sets_results_apart_stands_in_their_line():
    usual = random_result()
    other = replace(
        usual,
        request=replace(usual.request, dtype="bfloat16", final_norm="exclude"),
        provenance=usual.provenance | {"weights": "bfloat16", "dtype": "float32"},
    )
    had = "random, weights in bfloat16, arithmetic in float32, final norm excluded, "
    assert repr(other).startswith(f"DepthResult({had}'The cat sat down', 5 blocks, ")
    assert other.to_pandas().attrs["precision"] == "weights in bfloat16, arithmetic in float32"
    assert f"{had}'The cat sat down', token 4" in repr(other.scores(k=3))
    assert f"Locality({had}'The cat" in repr(locality(other, k=3))
    assert ", final norm excluded, weights in bfloat16" in repr(compare(usual, other, k=3))
    assert ", blocks 2-4, K = 3, " in repr(locality(usual, k=3, blocks="2-4"))


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: random_result().to_pandas(k=10), "to_pandas has no argument 'k': it takes none"),
        (lambda: random_result().to_pandas("x"), "to_pandas takes nothing, and 1 came"),
        (lambda: random_result().to_xarray(k=10), "to_xarray has no argument 'k'"),
        (lambda: random_result().scores(k=3).to_pandas(k=10), "no argument 'k'"),
        (
            lambda: random_result().scores(k=3).strongest(3, by="x"),
            "strongest has no argument 'by'",
        ),
        (lambda: effect_maps(what_if_result()).to_pandas(k=1), "no argument 'k'"),
    ],
)
def test_arguments_that_a_method_has_not_are_told_in_words(ask, told):
    with pytest.raises(InputError, match=told):
        ask()


def test_every_axis_of_arrays_is_had_by_its_number():
    """But that of the residual stream's entries, which are counted from 0 everywhere."""
    for result in (random_result(), what_if_result(), *OTHERS):
        found = result.to_xarray()
        assert {str(axis) for axis in found.dims} - {*found.coords} <= {"d"}
        for axis in {"k", "u_k", "v_k", "token", "outcome", "draw", "place"} & {*found.dims}:
            assert found[axis].values.tolist() == list(range(1, found.sizes[axis] + 1))
    found, table = directions_result().to_xarray(), directions_result().to_pandas()
    second = table.query("block == 1 and component == 2 and readout == 'writes'")
    at = found.peakedness.sel(block=1, readout="writes", k=2)
    assert float(at) == second.peakedness.item()
    assert found.text.sel(token=4).item() == " down"


def test_a_repr_is_one_line(depth, between):
    told = "random, 'The cat sat down', 5 blocks, token 4 of 4 ' down', K <= 8, certified"
    assert repr(depth) == f"DepthResult({told})"
    pair, means = between
    shown = "{whose}, 4 blocks, self, {}, 5 tokens, K <= 16, certified)"
    n = pair.n_blocks
    shown = shown.replace("{whose}, 4 blocks", f"{pair.whose}, {n} blocks")
    shown = shown.replace("K <= 16", f"K <= {pair.k_max} ({pair.default_k} by default)")
    assert repr(pair) == "TokensResult(" + shown.format("block 1")
    assert repr(means) == "TokenMeansResult(" + shown.format("all pairs of blocks")
    assert repr(trajectory_result()) == (
        "TrajectoryResult(random, 'The cat sat down', 12 blocks, 6 tokens)"
    )
    partial = replace(depth, jacobian_norm=np.full(5, np.nan))
    assert "not complete" in repr(partial)
    for scores in (depth.scores(k=3), pair.scores(k=3)):
        assert len(repr(scores)) < 200


def test_a_notebook_shows_figure_and_verdict(depth, between):
    for result in (depth, *between, *OTHERS):
        shown = result._repr_html_()
        assert "plotly" in shown
        assert any(word in shown for word in ("mean", "average", "median"))
    hostile = replace(depth, tokens=("a", "b", "c", "<script>alert(1)</script>"))
    assert "<p>DepthResult" in hostile._repr_html_()
    assert "<script>alert" not in hostile._repr_html_().split("<div")[0]


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


def test_dimensions_have_names(depth):
    assert depth.dims["diagonal"] == ("role", "block", "block", "k")
    for name, dims in depth.dims.items():
        assert getattr(depth, name).ndim == len(dims)
    stored = {item.name for item in fields(DepthResult)}
    assert depth.dims.keys() <= stored


def test_every_kind_of_result_is_short_and_equal_by_key():
    for kind in kinds().values():
        for of in filter(None, (kind.result, kind.means)):
            assert (of.__repr__, of.__eq__, of.__hash__) == (
                Result.__repr__,
                Result.__eq__,
                Result.__hash__,
            )


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda scores: scores[0], "block 0 is out of range"),
        (lambda scores: scores[1], r"scores\[1, 2\] is one with block 2"),
        (lambda scores: scores[2], r"scores\[2, 1\] is one with block 1"),
        (
            lambda scores: scores[2:4],
            r"scores\['2-4'\] goes to block 4, and scores\[range\(2, 4\)\]",
        ),
        (list, r"scores\.blocks, or pair by pair, scores\.to_pandas\(\)\.itertuples"),
        (lambda scores: scores.strongest(0), "a whole number from 1 on, and 0 came"),
    ],
)
def test_scores_that_are_asked_otherwise_say_how_to_ask(depth, ask, told):
    with pytest.raises(InputError, match=told):
        ask(depth.scores(k=3))


def test_the_strongest_pairs_are_a_table(depth, between):
    scores = depth.scores(k=3)
    found = scores.strongest(4)
    assert list(found.columns) == ["block", "basis", "coupling", "chance", "corrected"]
    off = scores.corrected[~np.eye(5, dtype=bool)]
    assert found.corrected.to_list() == sorted(off, reverse=True)[:4]
    first = found.iloc[0]
    assert scores[int(first.block), int(first.basis)].corrected == first.corrected
    assert found.attrs["K"] == 3
    assert len(scores.strongest(1000)) == 20
    of_tokens = between[0].scores(k=4)
    pairs = of_tokens.strongest(3)
    assert (pairs.token != pairs.other_token).all()
    assert pairs.corrected[0] == np.nanmax(np.where(of_tokens.itself, np.nan, of_tokens.corrected))


def test_blocks_that_are_no_range_do_not_read_as_one(depth):
    told = f"Scores({depth.model_name}, {depth.prompt_text!r}, token 4 of 4 ' down', "
    assert repr(depth.scores(k=3)[[2, 4]]).startswith(f"{told}2 blocks: 2, 4, K = 3")
    assert repr(depth.scores(k=3)).startswith(f"{told}5 blocks: 1-5, K = 3")


def test_what_is_offered_of_a_result_is_for_who_looks_at_it(depth):
    paths = trajectory_result()
    assert {"scores", "plot", "tokens", "default_k", "matrix"} <= {*dir(depth)}
    assert {"line_shape", "states", "verdict"} <= {*dir(paths)}
    for found in (depth, paths):
        within = {"part", "sizes_of", "typed", "consistency", "each_certificate"}
        assert all(hasattr(found, name) for name in within)
        assert not within & {*dir(found)}
    assert not {"k_max", "default_k"} & {*dir(paths)}


def test_a_k_that_was_asked_for_is_the_one_that_is_looked_at(tmp_path):
    asked = {"model": tiny.model("llama"), "store": Store(tmp_path / "kept")}
    first, usual = measure(IDS, **asked, k=3), measure(IDS, **asked)
    assert (first.default_k, usual.default_k) == (3, min(50, usual.k_max))
    assert first == usual
    assert first.scores().view.k == first.to_xarray().attrs["K"] == 3
    assert "K = 3 " in first.verdict
    back = load(first.save(tmp_path / "one.safetensors"))
    assert back.default_k == usual.default_k
    assert copy.deepcopy(first).default_k == pickle.loads(pickle.dumps(first)).default_k == 3
    assert measure(IDS, **asked, k=usual.k_max).default_k == usual.k_max
    # Whatever was asked for first, what is stored serves who asks for more.
    assert first.matrices.shape == usual.matrices.shape
    assert first.k_view == min(32, first.width)


def test_of_one_input_the_first_token_is_fixed_where_nobody_says(tmp_path):
    asked = {"model": tiny.model("llama"), "kind": "fixed-input", "block": 1, "store": None}
    assert measure(IDS, **asked).token == 1
    assert measure(IDS, **asked, token=2).token == 2


def test_the_names_of_figures_are_a_type():
    of_kinds = [
        *get_args(depth_views.FigureName), *get_args(depth_views.GraphFigure),
        *get_args(token_views.FigureName), *get_args(path_views.FigureName),
        *get_args(edit_views.FigureName), *get_args(spectrum_views.FigureName),
        *get_args(perturbation_views.FigureName), "readouts", "",
    ]  # fmt: skip
    assert {name for kind in get_args(FigureName) for name in get_args(kind)} == set(of_kinds)


@pytest.mark.parametrize(
    "asked", [slice(0, 3), slice(-3, None), slice(None, None, 2), slice(2, 4), slice(None)]
)
def test_what_is_offered_in_place_of_a_slice_works(depth, asked):
    scores = depth.scores(k=3)
    with pytest.raises(InputError, match="a slice does not say") as refused:
        inspect.unwrap(type(scores).__getitem__)(scores, asked)
    offered = re.findall(r"scores\[(.+?)\](?= )", str(refused.value))
    chosen = [scores[eval(each)].blocks for each in offered]
    assert len(chosen) == 2
    assert chosen[1] == chosen[0][: len(chosen[1])]


def test_one_pair_of_tokens_is_asked_for_as_one():
    found = measure((3, 1, 4), kind="self", block=1, k=4, model=tiny.model("llama"), store=None)
    scores = found.scores(k=4)
    with pytest.raises(InputError, match=r"such as scores\[3, 2\], and the list \[2, 1\] came"):
        inspect.unwrap(type(scores).__getitem__)(scores, [2, 1])


def test_tables_of_what_was_made_of_a_result_say_whose_it_is():
    directions, what_if = directions_result(), what_if_result()
    shared = shared_of(directions, blocks="1-3").to_pandas()
    assert shared.attrs.items() >= directions.attributes().items()
    assert shared.attrs["side"] == "u"
    effects = effect_maps(what_if).to_pandas()
    assert effects.attrs.items() >= what_if.attributes().items()


def test_what_people_ask_for_is_told_where_it_is():
    asked = [
        (jacobian(tiny.model("llama"), (3, 1, 4), block=1, k=4), "singular_values", "they are .s"),
        (random_result().scores(k=3), "to_csv", "to_pandas() is the table"),
        (random_result().scores(k=3), "key", "it is .result.key"),
        (locality(random_result(), k=3), "to_xarray", "to_pandas() is its table"),
        (locality(random_result(), k=3), "to_csv", "to_pandas() is the table, which has it"),
        (trajectory_result(), "mean", "to_pandas() has the numbers of this one"),
        *((of, "scores", "as measure(prompt) compares them") for of in OTHERS),
    ]
    for found, name, told in asked:
        with pytest.raises(AttributeError, match=re.escape(told)):
            getattr(found, name)
