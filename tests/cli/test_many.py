"""Many prompts on the command line: means, figures, what is kept, and what Ctrl-C leaves.

That each prompt has its row, and that the means are theirs, is in tests/kinds/test_contract.py.
"""

import json
import os
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray
from command_line import printed

from coupling_core import Request, Store, compare_models, figures, mean_interval, means_by, measure
from coupling_core.base import bars
from coupling_core.base.numbers import array_of
from coupling_core.base.records import AnyView, PathView
from coupling_core.cli import one_or_many
from coupling_core.cli.rows import Row, mean_of_each
from coupling_core.cli.shown import Shown
from coupling_core.kinds.trajectory.command import CURVES, Paths
from coupling_core.measuring import many
from coupling_core.sources.prompts import Prompt

PROMPTS = ("The cat sat on the mat", "the dog lay down", "a dog sat")
TOKENS = ("tokens", "--block", 2, "--k", 4)


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
    return lambda *words, prompts=listed: run(
        *words, "--model", folder, "--prompts", prompts, "--store", shelf.root
    )


@pytest.fixture
def each(folder, shelf):
    """What each prompt gives alone."""
    return lambda **asked: [measure(Request(p, model=str(folder), **asked), shelf) for p in PROMPTS]


@pytest.fixture
def drawn(monkeypatch, ask):
    """The figure that a command writes, before it becomes a file."""
    found = []

    def keep(figure, *_):
        found.append(figure)
        return b""

    monkeypatch.setattr(figures, "render", keep)

    def drawn(*words, **more):
        status, _, err = ask(*words, "--out", "many.html", **more)
        assert status == 0, err
        return found[-1]

    return drawn


@pytest.fixture
def table_of(ask, tmp_path):
    """The table that a command writes."""

    def table_of(*words):
        status, _, err = ask(*words, "--out", "table.csv")
        assert status == 0, err
        return pd.read_csv(tmp_path / "table.csv", dtype={"blocks": str})

    return table_of


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


def test_curves_of_many_prompts_are_the_mean_of_their_medians(ask, drawn, each, tmp_path):
    results = each(kind="trajectory")
    listed = write(tmp_path / "own.csv", "Category", (" odd ", "even", "odd"))
    told = printed(ask("trajectory", "--json", prompts=listed))["by_depth"]
    assert ask("trajectory", "--out", "paths.nc", prompts=listed)[0] == 0
    dataset = xarray.load_dataset(tmp_path / "paths.nc")
    assert dataset["category"].to_numpy().tolist() == ["odd", "even", "odd"]
    for name, curve in CURVES.items():
        called = name.replace("-", "_")
        wanted = []
        for result in results:
            own = array_of(result, PathView(), curve.numbers[0])
            known = np.isfinite(own).any(1)
            wanted.append(np.full(len(own), np.nan))
            wanted[-1][known] = np.nanmedian(own[known], axis=1)
        np.testing.assert_allclose(dataset[called], wanted, rtol=1e-5)
        first = dataset[called].dims[1]
        assert (dataset[called].dims[0], int(dataset[first][0])) == ("prompt", curve.first)
        for what, expected in (
            (told[called]["mean"], np.mean(wanted, axis=0)),
            (told[called]["low"], np.quantile(wanted, 0.1, axis=0)),
            (told[called]["by_category"]["odd"]["mean"], np.mean(wanted[::2], axis=0)),
        ):
            np.testing.assert_allclose(np.array(what, float), expected, rtol=1e-5)
        assert told[called]["n"] == np.isfinite(wanted).sum(0).tolist()
    figure = drawn("trajectory", "--figure", "growth")
    (line,) = [trace for trace in figure.data if trace.name == "mean over prompts"]
    np.testing.assert_allclose(line.y, told["growth"]["mean"], rtol=1e-5)


def test_floors_of_pairs_that_turn_the_mean_round_are_reported():
    def of(**means):
        return {name: mean_interval(np.array([value])) for name, value in means.items()}

    assert mean_of_each(of(coupling=0.74, chance=0.75, corrected=0.05))
    assert not mean_of_each(of(coupling=0.76, chance=0.75, corrected=0.05))
    assert not mean_of_each(of(line_shape=1.0))


def test_few_prompts_bear_no_claim_and_one_block_alone_has_no_score(ask, drawn):
    assert "no claim" in ask("trajectory")[2]
    assert "no claim" in drawn("trajectory").layout.meta["caption"]
    status, _, err = ask("depth", "--blocks", 2)
    assert (status, "No pair" in err) == (0, True)


def test_an_interval_beyond_what_a_number_can_be_is_reported(each):
    (result, *_) = each(kind="perturbation")
    rows = [
        Row.of(
            Prompt(PROMPTS[0], "own.csv", n), result, {"cosine": x, "radius": x}, AnyView(),
            stored=True,
        )
        for n, x in enumerate((1.0, 1.0, 0.2), 1)
    ]  # fmt: skip
    for name, beyond in (("cosine", True), ("radius", False)):
        figure = Shown("perturbation", None, name).draw(rows)
        assert ("beyond 1" in figure.layout.meta["caption"]) == beyond


# ---- figures


def test_the_map_of_many_prompts_is_their_mean(drawn, each):
    figure = drawn("depth", "--k", 4, "--raw")
    wanted = np.mean([one.scores(k=4).coupling for one in each(k=4)], axis=0)
    apart = ~np.eye(len(wanted), dtype=bool)
    shown = np.array(figure.data[0].z, dtype=float)
    assert shown[apart] == pytest.approx(wanted[apart], abs=1e-6)
    assert "3 prompts of own.csv" in figure.layout.meta["source"]


def test_the_graph_of_many_prompts_is_of_their_mean(ask, drawn, each):
    how = ("graph", "--k", 4, "--raw", "--threshold", 0.48)
    mean = np.mean([one.scores(k=4).coupling for one in each(k=4)], axis=0)
    weight = (mean + mean.T) / 2
    pairs = zip(*np.triu_indices(len(mean), 1), strict=True)
    expected = {(i + 1, j + 1): weight[i, j] for i, j in pairs if weight[i, j] >= 0.48}
    assert 0 < len(expected) < 6
    (edges,) = [t for t in drawn(*how, "--layout", "circle").data if t.name == "edges"]
    assert sorted(map(tuple, edges.customdata)) == sorted(expected)
    told = printed(ask(*how, "--json"))["mean_graph"]["edges"]
    found = {(edge["block"], edge["basis"]): edge["weight"] for edge in told}
    assert found == pytest.approx(expected, rel=1e-4)


# ---- what was asked stands with the numbers


CHOSEN = {
    ("depth", "--k", 4, "--blocks", "2-3"): {"kind": "depth", "blocks": "2-3", "K": 4},
    ("depth", "--k", 4, "--blocks", "1-4"): {"kind": "depth", "K": 4},
    ("graph", "--k", 4, "--blocks", "2-4", "--raw", "--threshold", 0.3): (
        {"kind": "depth", "blocks": "2-4", "weighed_by": "coupling", "threshold": 0.3}
    ),
    ("directions", "--block", 2, "--k", 3): {"kind": "directions", "blocks": "2", "K": 3},
    (*TOKENS, "--other-block", 3): {"kind": "self", "blocks": "2 and 3", "K": 4},
    ("whatif", "--tokens", -1): {"kind": "what-if", "over_tokens": "token -1"},
    ("spectrum", "--token", 2): {"kind": "spectrum", "token": 2},
}


@pytest.mark.full
def test_what_was_chosen_stands_in_json_and_in_the_table(ask, table_of):
    for asked, chosen in CHOSEN.items():
        found = printed(ask(*asked, "--json"))["measured"]
        assert found.items() >= chosen.items()
        assert ("blocks" in found) == ("blocks" in chosen)
        table = table_of(*asked).rename(columns={"k": "K"})
        assert {name: set(table[name]) for name in chosen} == {
            name: {value} for name, value in chosen.items()
        }


def test_models_and_blocks_of_tables_are_compared(table_of):
    trained, twin, late, early = (
        table_of("depth", *more)
        for more in ((), ("--untrained", 0), ("--blocks", "3-4"), ("--blocks", "1-2"))
    )
    names = trained["model"][0], twin["model"][0]
    told = compare_models(pd.concat([trained, twin]), *names).verdict
    assert f"{names[1]} are one random draw" in told
    halves = pd.concat([late, early])
    told = compare_models(halves, "3-4", "1-2", column="blocks").verdict
    assert "among blocks 3-4 alone" in told
    found = means_by(trained, "topic", measure="corrected")
    assert found["topic"].tolist() == ["t0", "t1", "t2"]
    assert found["mean"].tolist() == pytest.approx(trained["corrected"].tolist())
    assert (found.attrs["model"], found.attrs["k"]) == ("tiny-llama", 32)


def test_graphs_of_many_prompts_are_the_same_as_each(table_of, run, folder, shelf, each):
    how = ("graph", "--k", 4, "--threshold", 0.0, "--blocks", "1-3")
    alone = [one.scores(k=4, blocks="1-3").mean() for one in each(k=4)]
    for row, prompt, mean in zip(table_of(*how).itertuples(), PROMPTS, alone, strict=True):
        asked = (*how, "--model", folder, "--prompt", prompt, "--store", shelf.root, "--json")
        found = printed(run(*asked))
        several = [group for group in found["communities"] if len(group) > 1]
        assert (row.edges, row.communities) == (len(found["edges"]), len(several))
        assert row.neighbours == pytest.approx(found["locality"]["mean"][0], rel=1e-5)
        assert row.corrected == pytest.approx(mean.corrected, rel=1e-5)


def test_a_narrow_model_is_looked_at_at_its_width_where_no_k_is_given(ask, each):
    asked = {("depth",): {}, ("tokens", "--block", 2): {"kind": "self", "block": 2}, ("graph",): {}}
    for words, changes in asked.items():
        mean = printed(ask(*words, "--json"))["prompts"][0]["mean"]["corrected"]
        assert mean == pytest.approx(each(**changes)[0].scores(k=32).mean().corrected, abs=1e-9)


# ---- what is wrong with some of them


def test_an_svd_that_fails_its_checks_is_reported(run, folder, listed):
    asked = ("depth", "--model", folder, "--prompts", listed, "--k", 4, "--json")
    status, out, err = run(*asked)
    assert "not certified" not in err
    store = Store()
    result = store.get(json.loads(out)["key"][1])
    bad = replace(result.certificates[0], certified=False, reason="planted")
    store.put(replace(result, certificates=(bad, *result.certificates[1:])))
    status, out, err = run(*asked)
    assert (status, "1 of 3 prompts is not certified" in err) == (0, True)
    assert [one["certified"] for one in json.loads(out)["prompts"]] == [True, False, True]


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
    monkeypatch.setattr(Paths, "row", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    status, _, err = ask("trajectory")
    assert (status, err.splitlines()[-1][:9]) == (130, "stopped: ")


def test_progress_is_plain_lines_where_no_terminal_is_and_quiet_has_none(
    run, folder, listed, monkeypatch
):
    monkeypatch.setattr(bars, "APART", 0.0)
    asked = ("depth", "--model", folder, "--prompts", listed, "--k", 4)
    told = [line for line in run(*asked)[2].splitlines() if line.startswith("prompt ")]
    assert {line.split(",")[0] for line in told} == {f"prompt {n} of 3" for n in (1, 2, 3)}
    status, out, err = run(*asked, "--token", 2, "-q")
    assert (status, err) == (0, "")
    assert "3 measured, 0 of them from the store" in out


def test_what_grows_with_the_square_is_estimated_before(run, folder, monkeypatch):
    def told(prompt):
        return "square" in run("tokens", "--model", folder, "--prompt", prompt, "--k", 4)[2]

    assert not told("The cat")  # too short to say
    monkeypatch.setattr(one_or_many, "SHORT", 0.0)
    assert not told("The cat")  # stored by now
    assert told("A dog")
