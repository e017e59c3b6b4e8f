"""Many prompts on the command line: what is told, what is kept, and what Ctrl-C leaves."""

import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import psutil
import pytest
import tiny
import xarray
from waiting import PATIENCE, until

from coupling_core import (
    PathView,
    Request,
    Store,
    View,
    compare_models,
    figures,
    means_by,
    measure,
)
from coupling_core.analysis.path_curves import CURVES
from coupling_core.analysis.scores import mean_interval
from coupling_core.base import pace
from coupling_core.base.cores import cores
from coupling_core.base.units import about, decimals
from coupling_core.cli.rows import mean_of_each
from coupling_core.kinds.perturbation import command as perturbation
from coupling_core.kinds.tokens import export as tokens_export
from coupling_core.kinds.trajectory import export as trajectory_export
from coupling_core.measuring import many

PROMPTS = ("The cat sat on the mat", "the dog lay down", "a bird sang at dawn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.folder(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("prompt,topic\n" + "".join(f"{p},t{i}\n" for i, p in enumerate(PROMPTS)))
    return path


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_trajectories_of_many_prompts_are_the_same_as_each(run, folder, listed, tmp_path):
    asked = ("trajectory", "--model", folder, "--prompts", listed, "--out", "r.csv")
    status, out, _ = run(*asked)
    assert status == 0
    assert "3 measured, 0 of them from the store" in out
    for row, prompt in zip(rows(tmp_path / "r.csv"), PROMPTS, strict=True):
        alone = measure(Request(prompt, model=str(folder), kind="trajectory"))
        wanted = trajectory_export.row(alone, PathView())
        assert row["prompt"] == prompt
        assert row["topic"].startswith("t")
        for name, value in wanted.items():
            assert float(row[name]) == pytest.approx(value, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("command", ["depth", "trajectory"])
def test_the_means_of_each_category_are_told(run, folder, tmp_path, command):
    path = tmp_path / "own.csv"
    categories = ("fact", "story", "fact")
    lines = [f"{p},{of}\n" for p, of in zip(PROMPTS, categories, strict=True)]
    path.write_text("prompt,category\n" + "".join(lines))
    more = ("--k", 4) if command == "depth" else ()
    asked = (command, "--model", folder, "--prompts", path, *more)
    said = json.loads(run(*asked, "--json")[1])
    assert set(said["by_category"]) == {"fact", "story"}
    assert (said["measured"]["model"], said["measured"]["final_norm"]) == ("tiny-llama", "include")
    assert ("K" in said["measured"]) == (command == "depth")
    assert "written     r.nc" in run(*asked, "--out", "r.nc")[1]
    with xarray.open_dataset(tmp_path / "r.nc") as found:
        assert found.attrs.items() >= said["measured"].items()
    for name, over in said["by_category"]["fact"].items():
        of_facts = [said["prompts"][i]["mean"][name] for i in (0, 2)]
        wanted = mean_interval(np.array(of_facts))
        assert (over["n"], over["mean"]) == (2, pytest.approx(wanted.mean))
        assert (over["low"], over["high"]) == pytest.approx((wanted.low, wanted.high))
    out = run(*asked)[1]
    shown = out[out.index("category") :]
    assert shown.count("fact") == shown.count("story") == len(said["by_category"]["fact"])
    assert "none of one prompt" in shown
    path.write_text("prompt,category\n" + "".join(f"{p},fact\n" for p in PROMPTS))
    assert json.loads(run(*asked, "--json")[1])["by_category"] == {}
    assert "category" not in run(*asked)[1]


def test_a_result_is_of_one_prompt(run, folder, listed):
    asked = ("depth", "--model", folder, "--prompts", listed, "--out")
    status, _, err = run(*asked, "many.safetensors")
    assert status == 2
    assert "a .safetensors file holds the result of one prompt, with --prompt" in err
    _, _, err = run(*asked, "many.xlsx")
    assert "of one prompt" not in err


def drawn(monkeypatch, run, *asked):
    """The figure of many prompts that a command writes, before it becomes a file."""
    found, render = [], figures.render

    def keep(figure, ending, *more):
        found.append(figure)
        return render(figure, ending, *more)

    monkeypatch.setattr(figures, "render", keep)
    status, out, err = run(*asked, "--out", "many.html")
    assert status == 0, err
    assert "written     many.html" in out
    (figure,) = found
    return figure


@pytest.fixture
def scored(folder):
    """What each prompt gives at K = 4, measured one by one."""
    return [measure(Request(p, model=str(folder), k=4)).scores(k=4) for p in PROMPTS]


@pytest.mark.parametrize("name", ["corrected", "coupling"])
def test_the_map_of_many_prompts_is_their_mean(monkeypatch, run, folder, listed, scored, name):
    raw = ("--raw",) if name == "coupling" else ()
    figure = drawn(
        *(monkeypatch, run, "depth", "--model", folder, "--prompts", listed, "--k", 4, *raw)
    )
    wanted = np.mean([getattr(one, name) for one in scored], axis=0)
    shown = np.array(figure.data[0].z, dtype=float)
    apart = ~np.eye(len(wanted), dtype=bool)
    assert shown[apart] == pytest.approx(wanted[apart], abs=1e-6)
    assert "mean over 3 prompts of own.csv" in figure.layout.meta["source"]


def test_the_graph_of_many_prompts_is_of_their_mean(monkeypatch, run, folder, listed, scored):
    how = ("--k", 4, "--raw", "--threshold", 0.47, "--layout", "circle")
    figure = drawn(monkeypatch, run, "graph", "--model", folder, "--prompts", listed, *how)
    mean = np.mean([one.coupling for one in scored], axis=0)
    weight = (mean + mean.T) / 2
    expected = np.argwhere(np.triu(weight >= 0.47, 1)) + 1
    (edges,) = [trace for trace in figure.data if trace.name == "edges"]
    assert sorted(map(tuple, edges.customdata)) == sorted(map(tuple, expected))
    last = sum(len(weight) in pair for pair in expected)
    assert 0 < last < len(expected)
    assert (
        f"{last} of {len(expected)} edges {'is' if last == 1 else 'are'} of block 4"
        in figure.layout.meta["summary"]
    )


OF_ONE_NUMBER = {
    "tokens": ("corrected", "--block", 2, "--k", 4),
    "trajectory": ("line_shape",),
    "trajectory --figure equidistance": ("equidistance",),
    "spectrum": ("departure",),
    "spectrum --figure products": ("effective_rank",),
    "perturbation": ("cosine",),
    "perturbation --figure radius": ("radius",),
    "whatif": ("interchange_kl",),
    "whatif --figure replace": ("replace_kl",),
    "whatif --figure blocks": ("skip_kl",),
    "directions": ("writes_beyond",),
    "directions --side v": ("reads_beyond",),
}


@pytest.mark.parametrize("command", OF_ONE_NUMBER)
def test_a_figure_of_many_prompts_has_a_dot_for_each(monkeypatch, run, folder, listed, command):
    name, *more = OF_ONE_NUMBER[command]
    asked = (*command.split(), "--model", folder, "--prompts", listed, *more)
    figure = drawn(monkeypatch, run, *asked)
    plain = [part for part in command.split()[:1]]
    said = json.loads(run(*plain, "--model", folder, "--prompts", listed, *more, "--json")[1])
    numbers = {one["line"]: one["mean"][name] for one in said["prompts"]}
    known = {line: value for line, value in numbers.items() if value is not None}
    (dots,) = [trace for trace in figure.data if trace.name == "prompts"]
    shown = dict(zip(dots.customdata.ravel().tolist(), dots.x, strict=True))
    assert shown == pytest.approx(known, rel=1e-5)
    lines = [shape for shape in figure.layout.shapes if shape.name == "mean"]
    assert known
    assert lines[0].x0 == pytest.approx(said["over_prompts"][name]["mean"], rel=1e-5)
    assert "the mean of the prompts' floors" not in figure.layout.meta["caption"]
    source = figure.layout.meta["source"]
    assert "3 prompts of own.csv" in source
    assert source.count("final norm included") == 1
    assert ("K = 4" in source) == ("--k" in asked)


def test_raw_scores_of_tokens_stand_beside_their_floors(monkeypatch, run, folder, listed):
    how = ("--model", folder, "--prompts", listed, "--block", 2, "--k", 4)
    caption = drawn(monkeypatch, run, "tokens", *how, "--raw").layout.meta["caption"]
    chance = json.loads(run("tokens", *how, "--json")[1])["over_prompts"]["chance"]["mean"]
    assert f"The dotted line is chance: {chance:.3f}, the mean of the prompts' floors" in caption


@pytest.mark.parametrize("name", CURVES)
def test_curves_of_many_prompts_are_the_mean_of_their_medians(
    monkeypatch, run, folder, listed, name
):
    asked = ("trajectory", "--model", folder, "--prompts", listed, "--figure", name)
    if name == "line-shape-by-depth":  # this model is too shallow for it
        status, _, err = run(*asked, "--out", "many.html")
        assert status == 2
        assert "choose another, such as line-shape" in err
        return
    figure = drawn(monkeypatch, run, *asked)
    each = [measure(Request(p, model=str(folder), kind="trajectory")) for p in PROMPTS]
    wanted = np.mean([np.nanmedian(CURVES[name].values(one), axis=1) for one in each], axis=0)
    (mean,) = [trace for trace in figure.data if trace.name == "mean over prompts"]
    assert np.array(mean.y, dtype=float) == pytest.approx(wanted, rel=1e-5, nan_ok=True)


def test_numbers_of_the_curves_are_in_json_and_in_files_of_arrays(run, folder, listed, tmp_path):
    prompts = rows(listed)
    asked = ("trajectory", "--model", folder, "--prompts", listed)
    status, out, err = run(*asked, "--json")
    assert status == 0, err
    told = json.loads(out)["by_depth"]
    for ending in ("npz", "nc"):
        status, _, err = run(*asked, "--out", tmp_path / f"paths.{ending}")
        assert status == 0, err
    archive = np.load(tmp_path / "paths.npz")
    dataset = xarray.load_dataset(tmp_path / "paths.nc")
    for name, curve in CURVES.items():
        of_each = []
        for row in prompts:
            one = measure(Request(row["prompt"], model=str(folder), kind="trajectory"))
            values = curve.values(one)
            known = np.isfinite(values).any(1)
            middle = np.full(len(values), np.nan)
            middle[known] = np.nanmedian(values[known], axis=1)
            of_each.append(middle)
        wanted, called = np.array(of_each), name.replace("-", "_")
        np.testing.assert_allclose(archive[called], wanted, rtol=1e-5)
        np.testing.assert_allclose(dataset[called], wanted, rtol=1e-5)
        first = dataset[called].dims[1]
        assert (dataset[called].dims[0], int(dataset[first][0])) == ("prompt", curve.first)
        mean = np.array(told[called]["mean"], dtype=float)
        np.testing.assert_allclose(mean, wanted.mean(0), rtol=1e-5)
        low = np.array(told[called]["low"], dtype=float)
        np.testing.assert_allclose(low, np.quantile(wanted, 0.1, axis=0), rtol=1e-5)
        assert told[called]["first"] == curve.first
        assert told[called]["n"] == np.isfinite(wanted).sum(0).tolist()


def test_curves_of_categories_are_drawn_and_told(monkeypatch, run, folder, tmp_path):
    listed = tmp_path / "own.csv"
    pairs = list(zip(PROMPTS, ("odd", "even", "odd"), strict=True))
    listed.write_text("prompt,Category\n" + "".join(f"{p}, {t} \n" for p, t in pairs))
    asked = ("trajectory", "--model", folder, "--prompts", listed)
    figure = drawn(monkeypatch, run, *asked, "--figure", "growth")
    assert (
        "Each thinner line is the mean over one group of prompts." in figure.layout.meta["caption"]
    )
    lines = {trace.name: np.array(trace.y, dtype=float) for trace in figure.data}
    told = json.loads(run(*asked, "--json")[1])["by_depth"]["growth"]["by_category"]
    each = [measure(Request(p, model=str(folder), kind="trajectory")) for p in PROMPTS]
    curves = [np.median(CURVES["growth"].values(one), axis=1) for one in each]
    for category, of, called in (
        ("odd", (0, 2), "odd: mean over 2 prompts"),
        ("even", (1,), "even: mean over 1 prompt"),
    ):
        wanted = np.mean([curves[at] for at in of], axis=0)
        np.testing.assert_allclose(lines[called], wanted, rtol=1e-5)
        np.testing.assert_allclose(told[category]["mean"], wanted, rtol=1e-5)
    status, _, err = run(*asked, "--out", tmp_path / "paths.npz")
    assert status == 0, err
    assert np.load(tmp_path / "paths.npz")["category"].tolist() == ["odd", "even", "odd"]


def test_a_file_in_the_place_of_a_prompt_is_told(run, folder, listed, monkeypatch):
    monkeypatch.chdir(listed.parent)
    for name, told in ((listed.name, True), ("other.csv", False)):
        status, _, err = run("trajectory", "--model", folder, "--prompt", name)
        assert status == 0, err
        assert (f"{name} is a file here, and its name is measured: --prompts" in err) == told


def test_numbers_that_are_close_have_more_decimals(monkeypatch, run, folder, listed):
    monkeypatch.setattr("coupling_core.cli.many.DIGITS", 1)
    asked = ("perturbation", "--model", folder, "--prompts", listed)
    cosine = [one["mean"]["cosine"] for one in json.loads(run(*asked, "--json")[1])["prompts"]]
    digits = decimals(cosine, 1)
    assert 1 < digits <= 8
    (line,) = [line for line in run(*asked)[1].splitlines() if line.startswith("cosine")]
    assert line.split()[1] == f"{np.mean(cosine):.{digits}f}"


def test_few_prompts_have_a_wide_interval_in_words(monkeypatch, run, folder, listed):
    figure = drawn(monkeypatch, run, "spectrum", "--model", folder, "--prompts", listed)
    assert "An interval of fewer than 5 prompts is wide" in figure.layout.meta["caption"]


def test_the_graph_of_the_means_is_in_json(run, folder, listed):
    asked = ("graph", "--model", folder, "--prompts", listed, "--k", 4, "--threshold", 0.0)
    found = json.loads(run(*asked, "--json")[1])["mean_graph"]
    each = [measure(Request(p, model=str(folder), k=4)).scores(k=4).corrected for p in PROMPTS]
    mean = np.mean(each, axis=0)
    weight = (mean + mean.T) / 2
    wanted = {
        (i + 1, j + 1): weight[i, j]
        for i, j in zip(*np.triu_indices(len(mean), 1), strict=True)
        if weight[i, j] >= 0
    }
    edges = {(edge["block"], edge["basis"]): edge["weight"] for edge in found["edges"]}
    assert edges == pytest.approx(wanted, rel=1e-4)
    assert f"mean graph  {len(wanted)} of {found['pairs']} pairs at 0 or more" in run(*asked)[1]


def test_an_interval_beyond_what_a_number_can_be_is_told(monkeypatch, run, folder, listed):
    of_figures = perturbation._OF_MANY
    asked = ("perturbation", "--model", folder, "--prompts", listed)
    high = json.loads(run(*asked, "--json")[1])["over_prompts"]["cosine"]["high"]
    caption = drawn(monkeypatch, run, *asked).layout.meta["caption"]
    assert ("The interval goes beyond 1, which no number" in caption) == (high > 1)
    monkeypatch.setitem(of_figures, "cosine", of_figures["cosine"]._replace(most=-1.0))
    caption = drawn(monkeypatch, run, *asked).layout.meta["caption"]
    assert "The interval goes beyond -1, which no number of a prompt does." in caption


def test_dots_of_categories_have_their_colours(monkeypatch, run, folder, tmp_path):
    listed = tmp_path / "own.csv"
    pairs = zip(PROMPTS, ("odd", "even", "odd"), strict=True)
    listed.write_text("prompt,category\n" + "".join(f"{p},{t}\n" for p, t in pairs))
    figure = drawn(monkeypatch, run, "spectrum", "--model", folder, "--prompts", listed)
    _, out, _ = run("spectrum", "--model", folder, "--prompts", listed, "--json")
    told = json.loads(out)
    means = {name: of["departure"]["mean"] for name, of in told["by_category"].items()}
    dots = {trace.name: trace for trace in figure.data}
    n = {name: of["departure"]["n"] for name, of in told["by_category"].items()}
    assert list(dots) == [
        f"{name}: mean {mean:.3f} (n = {n[name]})" for name, mean in means.items()
    ]
    assert all(text.startswith(("line 2:", "line 4:")) for text in dots[next(iter(dots))].text)
    assert len({trace.marker.color for trace in figure.data}) == 2
    lines = {row["line"]: row["mean"]["departure"] for row in told["prompts"]}
    for trace in figure.data:
        assert [lines[int(line)] for (line,) in trace.customdata] == pytest.approx(trace.x)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("depth", "--figure", "spectrum"), "choose scores"),
        (("graph", "--figure", "locality"), "choose graph"),
        (("trajectory", "--figure", "paths-3d"), "choose line-shape, expodistance"),
        (("tokens", "--figure", "grid"), "without it, each stands in one figure"),
    ],
)
def test_a_figure_of_one_prompt_is_not_drawn_of_many(run, folder, listed, asked, told):
    status, _, err = run(*asked, "--model", folder, "--prompts", listed, "--out", "many.html")
    assert status == 2
    assert f"{asked[-1]} is a figure of one prompt, and --prompts gives many: {told}" in err


@pytest.mark.parametrize(
    "asked",
    [
        ("trajectory", "--token", 2),
        ("trajectory", "--fit", "all"),
        ("trajectory", "--part", "deeper"),
        ("trajectory", "--without-first"),
        ("perturbation", "--size", 1),
    ],
)
def test_an_option_of_the_figure_of_one_prompt_is_refused_for_many(run, folder, listed, asked):
    status, _, err = run(*asked, "--model", folder, "--prompts", listed)
    assert status == 2
    assert "it says how a figure of one prompt is drawn, and --prompts gives many" in err


def test_effects_over_some_tokens_say_so_and_are_kept_apart(run, folder, listed, tmp_path):
    asked = ("whatif", "--model", folder, "--prompts", listed)
    tables = []
    for name, more in {"all": (), "last": ("--tokens", -1)}.items():
        path = tmp_path / f"{name}.csv"
        status, _, err = run(*asked, *more, "--out", path)
        assert status == 0, err
        tables.append(pd.read_csv(path))
    every, last = tables
    assert "over_tokens" not in every
    assert last["over_tokens"].tolist() == ["token -1"] * 3
    assert last["measured"].iloc[0].endswith(", over token 6 of 6")
    one = measure(Request(PROMPTS[0], model=str(folder), kind="what-if"))
    skips = [at for at, edit in enumerate(one.edits) if edit.startswith("skip")]
    assert last["skip_kl"][0] == pytest.approx(np.median(one.divergence[skips, -1]), rel=1e-4)
    groups = means_by(pd.concat(tables), "topic", measure="skip_kl")
    assert set(groups["n"]) == {1}
    source = json.loads(run(*asked, "--tokens", -1, "--json")[1])["measured"]
    assert source["over_tokens"] == "token -1"


@pytest.mark.parametrize("command", ["depth", "graph", "spectrum", "directions", "perturbation"])
def test_the_token_stands_in_tables_json_and_figures(monkeypatch, run, folder, listed, command):
    for token, words in ((None, "the last token"), (2, "token 2")):
        more = () if token is None else ("--token", token)
        asked = (command, "--model", folder, "--prompts", listed, *more)
        figure = drawn(monkeypatch, run, *asked)
        assert words in figure.layout.meta["source"]
        assert run(*asked, "--out", "table.csv")[0] == 0
        assert set(pd.read_csv("table.csv")["token"]) == {-1 if token is None else token}
    if command != "depth":
        assert json.loads(run(*asked, "--json")[1])["measured"]["token"] == 2


def test_a_floor_of_each_pair_that_turns_the_mean_round_is_told() -> None:
    def of(**means):
        return {name: mean_interval(np.array([value])) for name, value in means.items()}

    told = mean_of_each(of(coupling=0.74, chance=0.75, corrected=0.05))
    assert told.startswith("the mean of c is on the other side of its floors' mean")
    assert not mean_of_each(of(coupling=0.76, chance=0.75, corrected=0.05))
    assert not mean_of_each(of(line_shape=1.0))


def test_a_comparison_of_tables_of_the_command_line_says_what_that_of_measure_many_does(
    run, folder, listed
):
    tables = {}
    for name, more in {
        "trained": (),
        "twin": ("--untrained", 0),
        "late": ("--blocks", "3-4"),
        "early": ("--blocks", "1-2"),
    }.items():
        asked = ("depth", "--model", folder, "--prompts", listed, *more, "--out", "table.csv")
        assert run(*asked)[0] == 0
        tables[name] = pd.read_csv("table.csv")
    names = tables["trained"]["model"][0], tables["twin"]["model"][0]
    both = pd.concat([tables["trained"], tables["twin"]])
    assert compare_models(both, *names).untrained == names[1:]
    halves = pd.concat([tables["late"], tables["early"]])
    assert compare_models(halves, "3-4", "1-2", column="blocks").last_block_of == "a"
    assert set(halves["layers"]) == {4}
    assert set(halves["width"]) == {32}


@pytest.mark.parametrize("command", ["depth", "graph", "trajectory", "spectrum"])
def test_a_figure_of_few_prompts_says_that_they_bear_no_claim(
    monkeypatch, run, folder, listed, command
):
    figure = drawn(monkeypatch, run, command, "--model", folder, "--prompts", listed)
    assert "here there are 3: no claim about the model" in figure.layout.meta["caption"]


def test_two_blocks_of_tokens_are_kept_apart(run, folder, listed, tmp_path):
    tables = []
    for name, more in {"one": ("--block", 2), "two": ("--block", 2, "--other-block", 1)}.items():
        path = tmp_path / f"{name}.csv"
        asked = ("tokens", "--model", folder, "--prompts", listed, *more, "--out", path)
        status, out, err = run(*asked)
        assert status == 0, err
        tables.append(pd.read_csv(path, dtype={"blocks": str}))
    assert [table["blocks"].unique().tolist() for table in tables] == [["2"], ["2 and 1"]]
    assert "blocks: 2 and 1" in out
    means = means_by(pd.concat(tables), "kind")
    assert means["n"].tolist() == [3, 3]
    found = compare_models(pd.concat(tables), "2", "2 and 1", column="blocks")
    assert found.a_mean == pytest.approx(tables[0]["corrected"].mean())


def test_prompts_without_a_category_are_a_group(monkeypatch, run, folder, tmp_path):
    listed = tmp_path / "own.csv"
    pairs = zip(PROMPTS, ("odd", "", "odd"), strict=True)
    listed.write_text("prompt,category\n" + "".join(f"{p},{t}\n" for p, t in pairs))
    figure = drawn(monkeypatch, run, "spectrum", "--model", folder, "--prompts", listed)
    assert [trace.name.split(":")[0] for trace in figure.data] == ["odd", "no category"]
    told = json.loads(run("spectrum", "--model", folder, "--prompts", listed, "--json")[1])
    assert {name: of["departure"]["n"] for name, of in told["by_category"].items()} == {
        "odd": 2,
        "no category": 1,
    }


def test_one_block_alone_has_no_score_and_that_is_said(run, folder, listed):
    status, out, err = run("depth", "--model", folder, "--prompts", listed, "--blocks", 2)
    assert status == 0
    assert "No pair of different blocks has a score at K = " in err
    assert "there is one block alone" in err
    assert "none of one prompt" not in out


def test_a_token_that_one_prompt_has_is_called_as_it_was_asked(run, folder, listed):
    status, out, _ = run("depth", "--model", folder, "--prompts", listed, "--token", 6)
    assert status == 0
    assert "token       token 6 of each prompt" in out


@pytest.mark.parametrize(
    ("command", "measure", "k"),
    [
        (("depth", "--k", 4), "corrected", 4),
        (("tokens", "--k", 4), "corrected", 4),
        (("trajectory",), "line_shape", None),
        (("graph", "--k", 4), "edges", 4),
    ],
)
def test_a_table_of_prompts_goes_on_in_python(run, folder, listed, tmp_path, command, measure, k):
    assert run(*command, "--model", folder, "--prompts", listed, "--out", "r.csv")[0] == 0
    table = pd.read_csv(tmp_path / "r.csv")
    found = means_by(table, "topic", measure=measure)
    assert found["topic"].tolist() == ["t0", "t1", "t2"]
    assert found["mean"].tolist() == pytest.approx(table[measure].tolist())
    assert (found.attrs["model"], found.attrs.get("k")) == ("tiny-llama", k)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("depth", "--k", 4, "--blocks", "2-3"), {"kind": "depth", "blocks": "2-3", "K": 4}),
        (("depth", "--k", 4, "--blocks", "1-4"), {"kind": "depth", "K": 4}),
        (
            ("graph", "--k", 4, "--blocks", "2-4", "--raw", "--threshold", 0.3),
            {"kind": "depth", "blocks": "2-4", "weighed_by": "coupling", "threshold": 0.3},
        ),
        (("directions", "--block", 2, "--k", 3), {"kind": "directions", "blocks": "2", "K": 3}),
        (
            ("tokens", "--kind", "fixed-input", "--block", 2, "--other-block", 3, "--k", 4),
            {
                "kind": "fixed-input",
                "measured": "in blocks 2 and 3",
                "blocks": "2 and 3",
                "K": 4,
            },
        ),
    ],
)
def test_what_was_chosen_is_told_of_many_prompts(run, folder, listed, tmp_path, asked, said):
    how = (*asked, "--model", folder, "--prompts", listed)
    found = json.loads(run(*how, "--json")[1])["measured"]
    assert found.items() >= said.items()
    assert ("blocks" in found) == ("blocks" in said)
    assert run(*how, "--out", "r.csv")[0] == 0
    for row in rows(tmp_path / "r.csv"):
        for name, value in said.items():
            cell = row["k" if name == "K" else name]
            assert str(value) in cell if name == "measured" else cell == str(value)


def test_the_file_of_the_prompts_is_not_written_over(run, folder, listed):
    before = listed.read_bytes()
    status, _, err = run("depth", "--model", folder, "--prompts", listed, "--out", listed)
    assert status == 2
    assert "is the file of the prompts, which would be lost: name another" in err
    assert listed.read_bytes() == before


def test_intervals_of_few_prompts_bear_nothing_out(run, folder, listed):
    for command in ("depth", "trajectory"):
        _, _, err = run(command, "--model", folder, "--prompts", listed)
        assert "an interval of fewer than 5 prompts is wide" in err


def test_an_svd_that_fails_its_checks_is_told_of_many_prompts(run, folder, listed, tmp_path):
    asked = ("depth", "--model", folder, "--prompts", listed, "--k", 4)
    assert "not certified" not in run(*asked, "--out", "r.csv")[2]
    assert [row["certified"] for row in rows(tmp_path / "r.csv")] == ["True"] * 3
    key = rows(tmp_path / "r.csv")[1]["key"]
    store = Store()
    result = store.get(key)
    bad = replace(result.certificates[0], certified=False, reason="planted")
    store.put(replace(result, certificates=(bad, *result.certificates[1:])))
    status, out, err = run(*asked, "--json")
    assert status == 0
    assert "1 of 3 prompts is not certified: an SVD did not pass its checks" in err
    assert [one["certified"] for one in json.loads(out)["prompts"]] == [True, False, True]


def test_tokens_of_many_prompts_are_the_same_as_each(run, folder, listed):
    asked = ("tokens", "--model", folder, "--prompts", listed, "--k", 4, "--block", 2, "--json")
    status, out, _ = run(*asked)
    assert status == 0
    for one, prompt in zip(json.loads(out)["prompts"], PROMPTS, strict=True):
        alone = measure(Request(prompt, model=str(folder), kind="self", block=2, k=4, token=-1))
        assert one["mean"] == pytest.approx(tokens_export.row(alone, View(k=4)), abs=1e-6)
        assert one["fields"] == {"topic": one["fields"]["topic"]}


def test_graphs_of_many_prompts_are_the_same_as_each(run, folder, listed, tmp_path):
    how = ("--model", folder, "--k", 4, "--threshold", 0.0, "--blocks", "1-3")
    status, _, err = run("graph", *how, "--prompts", listed, "--out", "g.csv")
    assert status == 0, err
    for row, prompt in zip(rows(tmp_path / "g.csv"), PROMPTS, strict=True):
        found = json.loads(run("graph", *how, "--prompt", prompt, "--json")[1])
        assert row["topic"].startswith("t")
        assert float(row["edges"]) == len(found["edges"]) > 0
        several = [group for group in found["communities"] if len(group) > 1]
        assert float(row["communities"]) == len(several)
        assert float(row["neighbours"]) == pytest.approx(found["locality"]["mean"][0], rel=1e-5)
        alone = measure(Request(prompt, model=str(folder), k=4)).scores(k=4, blocks="1-3").mean()
        assert float(row["corrected"]) == pytest.approx(alone.corrected, rel=1e-5)


@pytest.mark.parametrize("command", ["depth", "tokens", "graph"])
def test_a_narrow_model_is_looked_at_at_its_width_where_no_k_is_said(run, folder, listed, command):
    status, out, err = run(command, "--model", folder, "--prompt", PROMPTS[0])
    assert (status, "K = 32" in out) == (0, True), err
    status, _, err = run(command, "--model", folder, "--prompt", PROMPTS[0], "--k", 50)
    assert (status, "K must lie in 1..32" in err) == (2, True)
    status, out, _ = run(command, "--model", folder, "--prompts", listed, "--json")
    kind = "self" if command == "tokens" else "depth"
    alone = measure(Request(PROMPTS[0], model=str(folder), kind=kind)).scores(k=32)
    mean = json.loads(out)["prompts"][0]["mean"]["corrected"]
    assert mean == pytest.approx(alone.mean().corrected, abs=1e-9)


@pytest.mark.parametrize("command", ["depth", "graph", "tokens"])
def test_a_k_beyond_the_width_is_told_in_a_line(run, folder, listed, command):
    status, _, err = run(command, "--model", folder, "--prompts", listed, "--k", 33)
    assert (status, "Traceback" in err) == (2, False), err
    told = "K must lie in 1..32 (the model's width), and 33 came"
    assert err.splitlines()[-1] == f"error: {told}"
    assert err.count(told) == 1


def test_a_reason_is_told_once_for_all_lines_that_have_it(run, folder, tmp_path):
    listed = tmp_path / "prompts.txt"
    listed.write_text("\n".join(["The cat", "The cat sat on the mat", "A dog", "Two"]))
    asked = ("depth", "--model", folder, "--prompts", listed, "--token", 3)
    for how in ((), ("--quiet",)):
        status, _, err = run(*asked, *how)
        assert status == 0
        left_out = [line for line in err.splitlines() if "left out" in line]
        told = "left out: token 3 is out of range: this prompt has tokens 1..2"
        assert left_out[0].startswith(f"error: lines 1, 3 are {told}"), err
        assert len(left_out) == 1


def test_ctrl_c_says_how_many_are_stored_and_the_same_command_goes_on(
    run, folder, listed, monkeypatch
):
    measured = many.measure

    def stop_at_the_third(request, store, **more):
        if request.prompt == PROMPTS[2]:
            os.kill(os.getpid(), signal.SIGTERM)
        return measured(request, store, **more)

    asked = ("depth", "--model", folder, "--k", 4, "--prompts", listed, "--json")
    with monkeypatch.context() as patched:
        patched.setattr(many, "measure", stop_at_the_third)
        status, out, err = run(*asked)
    assert (status, out) == (130, "")
    assert err == "stopped: 2 of 3 stored, the same command goes on\n"
    status, out, _ = run(*asked)
    assert [one["stored"] for one in json.loads(out)["prompts"]] == [True, True, False]


def test_progress_is_plain_lines_where_no_terminal_is(run, folder, listed, monkeypatch):
    monkeypatch.setattr(pace, "APART", 0.0)
    _, _, err = run("depth", "--model", folder, "--k", 4, "--prompts", listed)
    told = [line for line in err.splitlines() if line.startswith("prompt ")]
    assert told == [
        "prompt 2 of 3, less than a minute",
        "prompt 3 of 3, less than a minute",
    ]


def test_quiet_says_nothing_beside_the_result(run, folder, listed, monkeypatch):
    monkeypatch.setattr(pace, "APART", 0.0)
    status, out, err = run("depth", "--model", folder, "--k", 4, "--prompts", listed, "-q")
    assert (status, err) == (0, "")
    assert "3 measured" in out


def test_quiet_still_says_what_went_wrong(run):
    assert run("depth", "--prompt", "x", "--model", "nobody", "-q")[2].startswith("error: model")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "less than a minute"),
        (50, "about 1 minute"),
        (125, "about 2 minutes"),
        (7300, "about 2 hours"),
    ],
)
def test_times_to_come_are_told_roughly(seconds, words):
    assert about(seconds) == words


def test_what_grows_with_the_square_is_estimated_before(run, folder, monkeypatch):
    from coupling_core.cli import forewarning

    asked = ("tokens", "--model", folder, "--prompt", PROMPTS[0], "--k", 10)
    assert "grows with the square" not in run(*asked)[2]  # too short to say
    monkeypatch.setattr(forewarning, "SHORT", 0.0)
    assert "grows with the square" not in run(*asked)[2]  # stored by now
    other = (*asked[:4], PROMPTS[1], *asked[5:])
    assert "all pairs of 4 blocks" in run(*other)[2]


def test_ctrl_c_while_a_result_is_looked_at_is_told_alike(run, folder, tmp_path, monkeypatch):
    from coupling_core.kinds.trajectory import prompts

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(prompts, "row", interrupted)
    listed = tmp_path / "some.txt"
    listed.write_text("the cat\na dog\nthe mat")
    status, _, err = run("trajectory", "--model", folder, "--prompts", listed)
    assert status == 130
    assert err.splitlines()[-1].startswith("stopped: ")
    assert err.splitlines()[-1].endswith(" of 3 stored, the same command goes on")


@pytest.mark.skipif(cores() < 2, reason="one core has one process")
def test_ctrl_c_stops_all_processes_and_counts_what_they_have_stored(folder, tmp_path):
    listed, store = tmp_path / "many.txt", tmp_path / "store"
    listed.write_text("\n".join(f"the cat number {n} sat" for n in range(4000)))
    command = [sys.executable, "-m", "coupling_core", "depth", "--model", str(folder), "--k", "4"]
    going = subprocess.Popen(
        [*command, "--prompts", str(listed), "--store", str(store)],
        stderr=subprocess.PIPE,
        text=True,
    )

    def is_stored() -> bool:
        return any(store.glob("*.safetensors"))

    until(is_stored)
    others = psutil.Process(going.pid).children()
    going.send_signal(signal.SIGINT)
    _, err = going.communicate()
    assert len(others) > 1
    stored = len(list(store.glob("*.safetensors")))
    first, *_, last = err.splitlines()
    assert first.startswith(f"{len(others)} processes measure side by side")
    assert last == f"stopped: {stored} of 4000 stored, the same command goes on"
    assert going.returncode == 130
    psutil.wait_procs(others, PATIENCE)
    assert {*store.iterdir()} == {*store.glob("*.safetensors")}  # nothing is half written
