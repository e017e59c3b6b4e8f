"""`coupling training`: over checkpoints in a cache of the hub, and over a suite of our own.

That every step is measured at its own weights is in tests/experiments/test_steps.py.
"""

import json

import numpy as np
import pandas as pd
import pytest
import tiny
from command_line import printed, refusal
from fake_hub import client, lay_out

from coupling_core import ComputeError, Request, Store, View, find_suite, measure, numbers
from coupling_core.cli import terminal
from coupling_core.experiments.own import plans
from coupling_core.measuring import filling
from coupling_core.measuring.stored_steps import collect
from coupling_core.sources.suites import MINI_STEPS

PROMPT = "The cat sat on the mat"
REPO = "EleutherAI/pythia-70m"
STEPS = (0, 16, 1000)
VIEW = View(k=4)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Weights of three steps."""
    path = tmp_path_factory.mktemp("steps")
    names = [f"step{step}" for step in STEPS]
    return {name: tiny.folder(path / name, "gpt_neox", i) for i, name in enumerate(names)}


@pytest.fixture
def commits(monkeypatch, tmp_path, folders):
    """A cache that has these steps of a Pythia model, and no hub."""
    client(monkeypatch, tmp_path)
    return lay_out(tmp_path / "hub", folders, REPO)


@pytest.fixture
def own(commits, tmp_path, folders):
    """The same steps as those of a suite of our own, with losses of all its steps."""
    suites = tmp_path / "home" / "suites"
    lay_out(suites, folders, "coupling-explorer/mini-64")
    rows = [f"{step},3.5,{4 - i / 4}" for i, step in enumerate(STEPS)]
    text = "\n".join(["step,train,held_out", *rows, ""])
    (suites / "models--coupling-explorer--mini-64" / "losses.csv").write_text(text)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A store in which what one test measured is there for the next."""
    return Store(tmp_path_factory.mktemp("shelf"), gallery=tmp_path_factory.mktemp("none"))


@pytest.fixture
def command(run, shelf):
    return lambda *args: run("training", "--prompt", PROMPT, "--k", 4, "--store", shelf.root, *args)


@pytest.fixture
def pythia(command, commits):
    return lambda *args: command("--suite", "pythia-70m", "--steps", "0,16,1000", *args)


@pytest.fixture
def expected(shelf):
    """The numbers of what the store has, as records."""

    def expected(**more):
        course = collect(find_suite("pythia-70m"), Request(PROMPT, k=4), shelf, STEPS, **more)
        return [found.to_dict() for found in numbers(course, VIEW)]

    return expected


def plain(numbers):
    return {name: None if value != value else value for name, value in numbers.items()}


def test_only_what_is_missing_is_measured_and_the_second_time_nothing(run, commits):
    asked = ("training", "--prompt", PROMPT, "--k", 4, "--suite", "pythia-70m", "--json")
    printed(run(*asked, "--steps", "16"))
    before = {entry.key: entry.path.stat().st_ino for entry in Store().entries()}
    first, again = (printed(run(*asked, "--steps", "0,16")) for _ in range(2))
    assert (first["stored"], again["stored"]) == (False, True)
    assert first["seconds"] > 0 == again["seconds"]
    assert first["suites"] == again["suites"]
    after = {entry.key: entry.path.stat().st_ino for entry in Store().entries()}
    assert len(after) - len(before) == 2
    assert before.items() <= after.items()


def test_json_has_the_numbers_of_every_step_and_of_spectra_where_they_are_asked_for(
    pythia, expected
):
    said = printed(pythia("--json"))
    assert (said["k"], len(said["key"])) == (4, 6)
    (suite,) = said["suites"]
    assert (suite["name"], suite["model"], suite["missing"]) == ("pythia-70m", REPO, [])
    assert [one["step"] for one in suite["steps"]] == list(STEPS)
    assert suite["steps"] == [plain(one) for one in expected()]
    assert {one["departure"] for one in suite["steps"]} == {None}
    (suite,) = printed(pythia("--spectra", "--json"))["suites"]
    assert suite["steps"] == [plain(one) for one in expected(spectra=True)]
    assert len({one["departure"] for one in suite["steps"]}) == 3


def test_the_table_has_a_line_a_step_and_says_where_the_peak_is(pythia, expected):
    status, out, _ = pythia()
    assert status == 0
    assert "12 of 12 certified" in out
    found = expected()
    best = max(found, key=lambda one: one["corrected"])
    assert f"Coupling is highest before training, at {best['corrected']:.3f}" in out
    rows = {row[0]: row for row in map(str.split, out.splitlines()) if row}
    for one in found:
        numbers = {f"{one['corrected']:.4g}", f"{one['line_shape']:.4g}"}
        assert numbers <= set(rows[str(one["step"])])


def test_steps_out_of_reach_are_gaps_and_said(command, commits):
    status, out, err = command("--suite", "pythia-70m", "--steps", "0,1,2,16", "--json")
    assert status == 0
    assert err.startswith("warning: steps 1, 2 of pythia-70m left out: ")
    suite = json.loads(out)["suites"][0]
    assert suite["missing"] == [1, 2]
    for wrong in (("--k", 33), ("--token", 99)):
        assert str(wrong[1]) in refusal(command("--suite", "pythia-70m", "--steps", "0", *wrong))
    assert [one["corrected"] is None for one in suite["steps"]] == [False, True, True, False]


def test_two_suites_side_by_side_with_their_losses(command, own, tmp_path):
    names = ("--suite", "mini-64", "--suite", "pythia-70m", "--suite", "mini-64")
    status, _, err = command(*names, "--steps", "16", "--out", tmp_path / "curve.csv")
    assert (status, err) == (0, "")
    table = pd.read_csv(tmp_path / "curve.csv")
    assert table["suite"].tolist() == ["mini-64", "pythia-70m"]
    np.testing.assert_array_equal(table["loss"], [3.75, np.nan])
    same = table.drop(columns=["suite", "loss"])  # since the weights are
    pd.testing.assert_frame_equal(same[:1], same[1:].reset_index(drop=True))


def test_a_suite_of_our_own_says_how_its_weights_are_made(command, own, run):
    status, out, err = command("--json")
    assert status == 0
    missing = json.loads(out)["suites"][0]["missing"]
    assert missing == [step for step in MINI_STEPS if step not in STEPS]
    assert "`python -m studies.pretraining mini" in err
    assert "15 steps" in refusal(command("--suite", "mini-128-seed1"), status=1)
    suite = find_suite("pythia-2.8b")
    status, _, err = command("--suite", suite.name)
    assert (status, err.startswith(f"warning: pythia-2.8b: {suite.caution}")) == (1, True)
    status, out, err = run("suite", "list", suite.name)  # of which nothing is here
    assert (status, suite.caution in err, out.count("not known")) == (0, True, len(suite.steps))


def test_npz_has_the_numbers_and_the_maps(pythia, expected, tmp_path):
    assert pythia("--out", tmp_path / "curve.npz")[0] == 0
    with np.load(tmp_path / "curve.npz", allow_pickle=False) as arrays:
        assert list(arrays["suites"]) == ["pythia-70m"]
        assert list(arrays["steps"]) == list(arrays["pythia-70m_steps"]) == list(STEPS)
        for name in ("coupling", "corrected", "alignment", "locality", "line_shape", "loss"):
            np.testing.assert_array_equal(arrays[name][0], [one[name] for one in expected()])
        maps = arrays["pythia-70m_corrected"]
        off = ~np.eye(4, dtype=bool)
        np.testing.assert_allclose(maps[:, off].mean(1), arrays["corrected"][0])


def test_a_figure_is_drawn_also_of_spectra(pythia, tmp_path):
    for figure in ("corrected", "departure"):
        status, _, err = pythia("--figure", figure, "--out", f"{figure}.html")
        assert status == 0, err
        assert "Pythia 70M (3 of 3 steps)" in (tmp_path / f"{figure}.html").read_text()


@pytest.fixture
def filled(commits, monkeypatch, shelf):
    """A course over steps of which some fail, in the order in which they are measured."""

    def filled(steps, failing):
        def one(request, store, **options):
            if int(request.revision.removeprefix("step")) in failing:
                raise ComputeError("the disk is full")
            store.put(result := measure(request, shelf, **options))
            return result

        monkeypatch.setattr(filling, "within_reach", lambda _: (list(steps), ""))
        asked = (find_suite("pythia-70m"), Request(PROMPT, k=4), Store(), tuple(sorted(steps)))
        told = {"watching": lambda _: terminal.progress_bar(), "warn": terminal.warn}
        return filling.fill(collect(*asked), Store(), one, **told)

    return filled


def test_a_step_that_fails_does_not_lose_the_others(filled, capsys):
    course, computed = filled(STEPS, {16})
    assert (course.missing, len(computed)) == ((16,), 4)
    assert "step 16 of pythia-70m is left out: the disk is full" in capsys.readouterr().err


def test_after_three_failures_in_a_row_the_rest_is_left_out(filled, capsys):
    with pytest.raises(ComputeError, match="the disk is full"):
        filled((0, 1, 2, 16), {0, 1, 2})
    assert "3 steps failed in a row" in capsys.readouterr().err
    course, _ = filled((0, 1, 16, 2, 1000), {0, 1, 2})  # not in a row
    assert set(course.depth) == {16, 1000}


@pytest.mark.full
def test_a_small_model_of_ones_own_is_trained_and_measured(run, monkeypatch):
    monkeypatch.setattr(plans, "STEPS", (0, 2))
    made = ("suite", "new", "mine", "--n-blocks", "2", "--width", "32", "--goal", "lower")
    status, out, err = run(*made)
    assert status == 0, err
    assert "mine: 2 blocks of width 32" in out
    said = printed(run("training", "--suite", "mine", "--prompt", "for x in y", "--k", 4, "--json"))
    assert [one["step"] for one in said["suites"][0]["steps"]] == [0, 2]
    assert refusal(run(*made))
    assert refusal(run("suite", "new", "other", "--goal", "up"))
