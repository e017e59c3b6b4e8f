"""Many prompts on the command line: means, figures, what is kept, and what Ctrl-C leaves.

That each prompt has its row, and that the means are theirs, is in tests/kinds/test_contract.py.
"""

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
import xarray
from command_line import printed
from waiting import PATIENCE, until

from coupling_core import Request, Store, compare_models, figures, means_by, measure
from coupling_core.analysis.path_curves import CURVES
from coupling_core.analysis.scores import mean_interval
from coupling_core.base import pace
from coupling_core.base.cores import cores
from coupling_core.base.records import AnyView
from coupling_core.cli import forewarning
from coupling_core.cli.many_drawn import Drawn, strip
from coupling_core.cli.rows import Row, mean_of_each
from coupling_core.kinds.trajectory import prompts as trajectory_prompts
from coupling_core.measuring import many
from coupling_core.sources.prompts import Prompt

PROMPTS = ("The cat sat on the mat", "the dog lay down", "a bird sang at dawn")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A store in which what one test measured is there for the next."""
    return Store(tmp_path_factory.mktemp("shelf"), gallery=tmp_path_factory.mktemp("none"))


@pytest.fixture
def listed(tmp_path):
    """The prompts in a file, each with a topic of its own."""
    return write(tmp_path / "own.csv", "topic", ("t0", "t1", "t2"))


def write(path, column, values):
    lines = [f"{prompt},{value}\n" for prompt, value in zip(PROMPTS, values, strict=True)]
    path.write_text(f"prompt,{column}\n" + "".join(lines))
    return path


@pytest.fixture
def ask(run, folder, listed, shelf):
    """A command on the prompts, whose results are kept."""

    def ask(*words, prompts=listed):
        return run(*words, "--model", folder, "--prompts", prompts, "--store", shelf.root)

    return ask


@pytest.fixture
def each(folder, shelf):
    """What each prompt gives alone."""
    return lambda **asked: [measure(Request(p, model=str(folder), **asked), shelf) for p in PROMPTS]


@pytest.fixture
def drawn(monkeypatch, ask):
    """The figure that a command writes, before it becomes a file."""

    def drawn(*words, **more):
        found, render = [], figures.render

        def keep(figure, ending, *others):
            found.append(figure)
            return render(figure, ending, *others)

        with monkeypatch.context() as patched:
            patched.setattr(figures, "render", keep)
            status, _, err = ask(*words, "--out", "many.html", **more)
        assert status == 0, err
        (figure,) = found
        return figure

    return drawn


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# ---- means, over all and over categories


def test_each_category_has_its_means(ask, tmp_path):
    listed = write(tmp_path / "own.csv", "category", ("fact", "", "fact"))
    said = printed(ask("trajectory", "--json", prompts=listed))
    assert list(said["by_category"]) == ["fact", "no category"]
    for name, over in said["by_category"]["fact"].items():
        wanted = mean_interval(np.array([said["prompts"][i]["mean"][name] for i in (0, 2)]))
        assert (over["n"], over["mean"]) == (2, pytest.approx(wanted.mean))
        assert (over["low"], over["high"]) == pytest.approx((wanted.low, wanted.high))
    out = ask("trajectory", prompts=listed)[1]
    assert out[out.index("category") :].count("fact") == len(said["by_category"]["fact"])
    write(listed, "category", ("fact",) * 3)
    assert printed(ask("trajectory", "--json", prompts=listed))["by_category"] == {}


def test_dots_and_curves_of_categories_are_apart(ask, drawn, each, tmp_path):
    listed = write(tmp_path / "own.csv", "Category", (" odd ", "even", "odd"))
    figure = drawn("spectrum", prompts=listed)
    told = printed(ask("spectrum", "--json", prompts=listed))
    lines = {row["line"]: row["mean"]["departure"] for row in told["prompts"]}
    assert [trace.name.split(":")[0] for trace in figure.data] == ["odd", "even"]
    for trace in figure.data:
        assert [lines[int(line)] for (line,) in trace.customdata] == pytest.approx(trace.x)
        mean = told["by_category"][trace.name.split(":")[0]]["departure"]["mean"]
        assert f"{mean:.3f}" in trace.name
    curves = [np.median(CURVES["growth"].values(one), axis=1) for one in each(kind="trajectory")]
    told = printed(ask("trajectory", "--json", prompts=listed))["by_depth"]["growth"]["by_category"]
    for category, of in (("odd", (0, 2)), ("even", (1,))):
        wanted = np.mean([curves[at] for at in of], axis=0)
        np.testing.assert_allclose(told[category]["mean"], wanted, rtol=1e-5)
    ask("trajectory", "--out", "paths.npz", prompts=listed)
    assert np.load(tmp_path / "paths.npz")["category"].tolist() == ["odd", "even", "odd"]


def test_floors_of_pairs_that_turn_the_mean_round_are_reported():
    def of(**means):
        return {name: mean_interval(np.array([value])) for name, value in means.items()}

    assert mean_of_each(of(coupling=0.74, chance=0.75, corrected=0.05))
    assert not mean_of_each(of(coupling=0.76, chance=0.75, corrected=0.05))
    assert not mean_of_each(of(line_shape=1.0))


def test_few_prompts_bear_no_claim(ask, drawn):
    assert "no claim" in ask("trajectory")[2]
    assert "no claim" in drawn("trajectory").layout.meta["caption"]


def test_an_interval_beyond_what_a_number_can_be_is_reported(folder, shelf):
    rows = []
    for row, value in enumerate((1.0, 1.0, 0.2), 1):
        result = measure(Request(PROMPTS[0], model=str(folder), kind="spectrum"), shelf)
        prompt = Prompt(PROMPTS[0], "own.csv", row)
        rows.append(Row.of(prompt, result, {"cosine": value}, AnyView(), stored=True))
    for most, beyond in ((1.0, True), (9.0, False)):
        drawn = strip(Drawn("cosine", "Cosine", most=most), None, rows)
        assert (f"beyond {most:g}" in drawn.layout.meta["caption"]) == beyond


# ---- figures


@pytest.mark.parametrize("name", ["corrected", "coupling"])
def test_the_map_of_many_prompts_is_their_mean(drawn, each, name):
    figure = drawn("depth", "--k", 4, *(("--raw",) if name == "coupling" else ()))
    wanted = np.mean([getattr(one.scores(k=4), name) for one in each(k=4)], axis=0)
    shown = np.array(figure.data[0].z, dtype=float)
    apart = ~np.eye(len(wanted), dtype=bool)
    assert shown[apart] == pytest.approx(wanted[apart], abs=1e-6)
    assert "3 prompts of own.csv" in figure.layout.meta["source"]


def test_the_graph_of_many_prompts_is_of_their_mean(ask, drawn, each):
    how = ("graph", "--k", 4, "--raw", "--threshold", 0.47)
    mean = np.mean([one.scores(k=4).coupling for one in each(k=4)], axis=0)
    weight = (mean + mean.T) / 2
    expected = {
        (i + 1, j + 1): weight[i, j]
        for i, j in zip(*np.triu_indices(len(mean), 1), strict=True)
        if weight[i, j] >= 0.47
    }
    assert 0 < len(expected) < 6
    (edges,) = [t for t in drawn(*how, "--layout", "circle").data if t.name == "edges"]
    assert sorted(map(tuple, edges.customdata)) == sorted(expected)
    told = printed(ask(*how, "--json"))["mean_graph"]["edges"]
    found = {(edge["block"], edge["basis"]): edge["weight"] for edge in told}
    assert found == pytest.approx(expected, rel=1e-4)


DOTS = {
    "corrected": ("tokens", "--block", 2, "--k", 4),
    "equidistance": ("trajectory", "--figure", "equidistance"),
    "departure": ("spectrum",),
    "effective_rank": ("spectrum", "--figure", "products"),
    "cosine": ("perturbation",),
    "radius": ("perturbation", "--figure", "radius"),
    "interchange_kl": ("whatif",),
    "replace_kl": ("whatif", "--figure", "replace"),
    "skip_kl": ("whatif", "--figure", "blocks"),
    "writes_beyond": ("directions",),
    "reads_beyond": ("directions", "--side", "v"),
}
"""Figures, by the number of each prompt that stands for it."""


@pytest.mark.parametrize("command", sorted({words[0] for words in DOTS.values()}))
def test_a_figure_of_many_prompts_has_a_dot_for_each(ask, drawn, command):
    for name, words in DOTS.items():
        if words[0] == command:
            figure = drawn(*words)
            plain = words[: words.index("--figure")] if "--figure" in words else words
            said = printed(ask(*plain, "--json"))
            means = {prompt["line"]: prompt["mean"][name] for prompt in said["prompts"]}
            (dots,) = [trace for trace in figure.data if trace.name == "prompts"]
            shown = dict(zip(dots.customdata.ravel().tolist(), dots.x, strict=True))
            known = {line: mean for line, mean in means.items() if mean is not None}
            assert shown == pytest.approx(known, rel=1e-5)
            (line, *_) = [shape for shape in figure.layout.shapes if shape.name == "mean"]
            assert line.x0 == pytest.approx(said["over_prompts"][name]["mean"], rel=1e-5)


def test_raw_scores_of_tokens_stand_beside_their_floors(ask, drawn):
    how = ("tokens", "--block", 2, "--k", 4)
    chance = printed(ask(*how, "--json"))["over_prompts"]["chance"]["mean"]
    assert f"{chance:.3f}" in drawn(*how, "--raw").layout.meta["caption"]
    assert f"{chance:.3f}" not in drawn(*how).layout.meta["caption"]


def test_curves_of_many_prompts_are_the_mean_of_their_medians(ask, drawn, each, tmp_path):
    results = each(kind="trajectory")
    told = printed(ask("trajectory", "--json"))["by_depth"]
    assert ask("trajectory", "--out", "paths.nc")[0] == 0
    dataset = xarray.load_dataset(tmp_path / "paths.nc")
    for name, curve in CURVES.items():
        called, values = name.replace("-", "_"), np.array([curve.values(one) for one in results])
        wanted = np.full(values.shape[:2], np.nan)
        known = np.isfinite(values).any(2)
        wanted[known] = np.nanmedian(values[known], axis=1)
        np.testing.assert_allclose(dataset[called], wanted, rtol=1e-5)
        first = dataset[called].dims[1]
        assert (dataset[called].dims[0], int(dataset[first][0])) == ("prompt", curve.first)
        over = {"mean": wanted.mean(0), "low": np.quantile(wanted, 0.1, axis=0)}
        for what, expected in over.items():
            found = np.array(told[called][what], dtype=float)
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert told[called]["n"] == np.isfinite(wanted).sum(0).tolist()
    figure = drawn("trajectory", "--figure", "growth")
    (line,) = [trace for trace in figure.data if trace.name == "mean over prompts"]
    np.testing.assert_allclose(line.y, told["growth"]["mean"], rtol=1e-5)


# ---- what was asked stands with the numbers


CHOSEN = {
    ("depth", "--k", 4, "--blocks", "2-3"): {"kind": "depth", "blocks": "2-3", "K": 4},
    ("depth", "--k", 4, "--blocks", "1-4"): {"kind": "depth", "K": 4},
    ("graph", "--k", 4, "--blocks", "2-4", "--raw", "--threshold", 0.3): {
        "kind": "depth",
        "blocks": "2-4",
        "weighed_by": "coupling",
        "threshold": 0.3,
    },
    ("directions", "--block", 2, "--k", 3): {"kind": "directions", "blocks": "2", "K": 3},
    ("tokens", "--kind", "fixed-input", "--block", 2, "--other-block", 3, "--k", 4): {
        "kind": "fixed-input",
        "blocks": "2 and 3",
        "K": 4,
    },
    ("spectrum", "--token", 2): {"kind": "spectrum", "token": 2},
}


def test_what_was_chosen_stands_in_json_and_in_the_table(ask, tmp_path):
    for asked, chosen in CHOSEN.items():
        found = printed(ask(*asked, "--json"))["measured"]
        assert found.items() >= chosen.items()
        assert ("blocks" in found) == ("blocks" in chosen)
        assert ask(*asked, "--out", "r.csv")[0] == 0
        for row in rows(tmp_path / "r.csv"):
            told = {name: row["k" if name == "K" else name] for name in chosen}
            assert told == {name: str(value) for name, value in chosen.items()}


def table_of(ask, *words):
    status, _, err = ask(*words, "--out", "table.csv")
    assert status == 0, err
    return pd.read_csv("table.csv", dtype={"blocks": str})


def test_effects_over_some_tokens_are_kept_apart(ask, each):
    every, last = (table_of(ask, "whatif", *more) for more in ((), ("--tokens", -1)))
    assert "over_tokens" not in every
    assert last["over_tokens"].tolist() == ["token -1"] * 3
    one = each(kind="what-if")[0]
    skips = [at for at, edit in enumerate(one.edits) if edit.startswith("skip")]
    assert last["skip_kl"][0] == pytest.approx(np.median(one.divergence[skips, -1]), rel=1e-4)
    groups = means_by(pd.concat([every, last]), "topic", measure="skip_kl")
    assert set(groups["n"]) == {1}


def test_models_and_blocks_of_tables_are_compared(ask):
    trained, twin, late, early = (
        table_of(ask, "depth", *more)
        for more in ((), ("--untrained", 0), ("--blocks", "3-4"), ("--blocks", "1-2"))
    )
    names = trained["model"][0], twin["model"][0]
    assert compare_models(pd.concat([trained, twin]), *names).untrained == names[1:]
    halves = pd.concat([late, early])
    assert compare_models(halves, "3-4", "1-2", column="blocks").last_block_of == "a"
    assert (set(halves["layers"]), set(halves["width"])) == ({4}, {32})
    found = means_by(trained, "topic", measure="corrected")
    assert found["topic"].tolist() == ["t0", "t1", "t2"]
    assert found["mean"].tolist() == pytest.approx(trained["corrected"].tolist())
    assert (found.attrs["model"], found.attrs["k"]) == ("tiny-llama", 32)


def test_graphs_of_many_prompts_are_the_same_as_each(ask, run, folder, each, tmp_path):
    how = ("graph", "--k", 4, "--threshold", 0.0, "--blocks", "1-3")
    assert ask(*how, "--out", "g.csv")[0] == 0
    alone = [one.scores(k=4, blocks="1-3").mean() for one in each(k=4)]
    for row, prompt, mean in zip(rows(tmp_path / "g.csv"), PROMPTS, alone, strict=True):
        found = printed(run(*how, "--model", folder, "--prompt", prompt, "--json"))
        assert float(row["edges"]) == len(found["edges"]) > 0
        several = [group for group in found["communities"] if len(group) > 1]
        assert float(row["communities"]) == len(several)
        assert float(row["neighbours"]) == pytest.approx(found["locality"]["mean"][0], rel=1e-5)
        assert float(row["corrected"]) == pytest.approx(mean.corrected, rel=1e-5)


def test_a_narrow_model_is_looked_at_at_its_width_where_no_k_is_given(ask, each):
    asked = {("depth",): {}, ("tokens", "--block", 2): {"kind": "self", "block": 2}, ("graph",): {}}
    for words, changes in asked.items():
        mean = printed(ask(*words, "--json"))["prompts"][0]["mean"]["corrected"]
        wanted = each(**changes)[0].scores(k=32).mean().corrected
        assert mean == pytest.approx(wanted, abs=1e-9)


# ---- what is wrong with some of them


def test_an_svd_that_fails_its_checks_is_reported(run, folder, listed, tmp_path):
    asked = ("depth", "--model", folder, "--prompts", listed, "--k", 4)
    assert "not certified" not in run(*asked, "--out", "r.csv")[2]
    store = Store()
    result = store.get(rows(tmp_path / "r.csv")[1]["key"])
    bad = replace(result.certificates[0], certified=False, reason="planted")
    store.put(replace(result, certificates=(bad, *result.certificates[1:])))
    status, out, err = run(*asked, "--json")
    assert (status, "1 of 3 prompts is not certified" in err) == (0, True)
    assert [one["certified"] for one in json.loads(out)["prompts"]] == [True, False, True]


def test_one_block_alone_has_no_score_and_that_is_reported(ask):
    status, _, err = ask("depth", "--blocks", 2)
    assert (status, "No pair" in err) == (0, True)


def test_a_reason_is_given_once_for_all_lines_that_have_it(ask, tmp_path):
    listed = tmp_path / "prompts.txt"
    listed.write_text("\n".join(["The cat", "The cat sat on the mat", "A dog", "Two"]))
    status, _, err = ask("depth", "--token", 3, "--quiet", prompts=listed)
    (left_out,) = [line for line in err.splitlines() if "left out" in line]
    assert status == 0
    assert left_out.startswith("error: lines 1, 3 are left out: token 3 ")


def test_the_name_of_a_file_in_the_place_of_a_prompt_is_warned_about(run, folder, listed):
    for name, told in ((listed.name, True), ("other.csv", False)):
        status, _, err = run("trajectory", "--model", folder, "--prompt", name)
        assert (status, "--prompts" in err) == (0, told)


# ---- while it goes on


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
    assert [one["stored"] for one in printed(run(*asked))["prompts"]] == [True, True, False]


def test_ctrl_c_while_a_result_is_looked_at_is_told_alike(ask, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(trajectory_prompts, "row", interrupted)
    status, _, err = ask("trajectory")
    assert status == 130
    assert err.splitlines()[-1].startswith("stopped: ")


def test_progress_is_plain_lines_where_no_terminal_is_and_quiet_has_none(
    run, folder, listed, monkeypatch
):
    monkeypatch.setattr(pace, "APART", 0.0)
    asked = ("depth", "--model", folder, "--prompts", listed, "--k", 4)
    told = [line for line in run(*asked)[2].splitlines() if line.startswith("prompt ")]
    assert [line.split(",")[0] for line in told] == ["prompt 2 of 3", "prompt 3 of 3"]
    status, out, err = run(*asked, "--token", 2, "-q")
    assert (status, err) == (0, "")
    assert "3 measured, 0 of them from the store" in out


def test_what_grows_with_the_square_is_estimated_before(run, folder, monkeypatch):
    def told(prompt):
        return "square" in run("tokens", "--model", folder, "--prompt", prompt, "--k", 4)[2]

    assert not told("The cat")  # too short to say
    monkeypatch.setattr(forewarning, "SHORT", 0.0)
    assert not told("The cat")  # stored by now
    assert told("A dog")


@pytest.mark.full
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
    until(lambda: any(store.glob("*.safetensors")))
    others = psutil.Process(going.pid).children()
    going.send_signal(signal.SIGINT)
    _, err = going.communicate()
    assert len(others) > 1
    stored = len(list(store.glob("*.safetensors")))
    assert err.splitlines()[-1] == f"stopped: {stored} of 4000 stored, the same command goes on"
    assert going.returncode == 130
    psutil.wait_procs(others, PATIENCE)
    assert {*store.iterdir()} == {*store.glob("*.safetensors")}  # nothing is half written
