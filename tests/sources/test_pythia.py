"""Suites of the hub, as Pythia's revisions are: from a cache that is laid out, and from a hub."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from fake_hub import FakeHub, client, lay_out

from coupling_core import Request, Store, View, mean_off_diagonal, measure, score_pairs
from coupling_core.engine.loading import load, loading
from coupling_core.engine.loading.keeping import Kept
from coupling_core.measuring.probe import probe
from coupling_core.sources import hub
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full  # a hub, and training runs from it

REPO = "EleutherAI/pythia-70m"
STEPS = ("step0", "step128", "step1000")
PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("pythia")
    return {name: tiny.pythia(path / name, seed) for seed, name in enumerate(STEPS)}


@pytest.fixture
def commits(folders, tmp_path, monkeypatch) -> dict[str, str]:
    """A cache with three steps, and no hub within reach."""
    client(monkeypatch, tmp_path)
    monkeypatch.setattr(loading, "_kept", Kept())
    return lay_out(tmp_path / "hub", folders, REPO)


@pytest.fixture
def server(folders, tmp_path, monkeypatch):
    """A hub within reach that has three steps, and an empty cache."""
    fake = FakeHub({"main": folders["step1000"]} | folders, REPO)
    client(monkeypatch, tmp_path, fake)
    monkeypatch.setattr(loading, "_kept", Kept())
    yield fake
    fake.close()


def depth(run, revision: str) -> dict:
    arguments = ("--model", REPO, "--revision", revision, "--prompt", PROMPT, "--k", 4, "--json")
    status, out, err = run("depth", *arguments)
    assert status == 0, err
    return json.loads(out)


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


# ---- what a revision holds


def test_an_old_config_and_what_lies_beside_the_weights_are_understood(folders, tmp_path):
    new = tiny.folder(tmp_path / "new", "gpt_neox", seed=STEPS.index("step128"))
    config = json.loads((new / "config.json").read_text())
    (new / "config.json").write_text(json.dumps(config | {"rope_parameters": tiny.PYTHIA_ROPE}))
    expected = measure(Request(PROMPT, model=str(new), k=4, dtype="float16"))
    found = measure(Request(PROMPT, model=str(folders["step128"]), k=4))
    assert (found.singular_values == expected.singular_values).all()


def test_a_streamed_revision_stays_in_half_precision(folders, monkeypatch):
    request = Request(PROMPT, model=str(folders["step0"]), k=4)
    whole = measure(request)
    loading.forget()
    monkeypatch.setattr(loading, "usable_memory", lambda device: 0)
    held = load(resolve(request)).model
    assert held.gpt_neox.embed_in.weight.dtype == torch.float16
    assert held.gpt_neox.rotary_emb.inv_freq.dtype == torch.float32
    streamed = measure(request)
    assert (streamed.singular_values == whole.singular_values).all()
    loading.forget()


def test_masks_are_not_told_as_weights(folders):
    assert probe(resolve(Request(PROMPT, model=str(folders["step0"])))).stored == "float16"


# ---- offline


def test_each_revision_of_a_cache_is_a_measurement_of_its_own(commits, folders, run):
    said = {step: depth(run, step) for step in STEPS}
    assert {one["model"] for one in said.values()} == {f"{REPO}@{step}" for step in STEPS}
    assert len({one["key"] for one in said.values()}) == len(STEPS)
    for step, one in said.items():
        own = measure(Request(PROMPT, model=str(folders[step]), k=4))
        found = score_pairs(own, View(k=4)).corrected
        assert np.array(one["corrected"]) == pytest.approx(found, abs=1e-6)
    values = [np.array(one["corrected"]) for one in said.values()]
    assert all(np.abs(a - b).max() > 1e-3 for a, b in itertools.pairwise(values))


def test_the_steps_of_a_suite_are_listed_offline(commits, run):
    measure(Request(PROMPT, model=REPO, revision="step128", k=4), Store())
    status, out, err = run("suite", "list", "pythia-70m", "--json")
    assert status == 0
    assert err.startswith("warning: ")
    said = json.loads(out)
    assert (said["here"], said["stored"]) == ([0, 128, 1000], [128])
    assert said["size"] > 0
    assert said["checkpoint_bytes"] == 166_000_000
    by_step = {one["step"]: one for one in said["checkpoints"]}
    assert len(by_step) == 154
    assert by_step[128]["commit"] == commits["step128"]
    assert [by_step[step]["weights"] for step in (0, 64)] == ["here", "not known"]
    assert [by_step[step]["results"] for step in (0, 128)] == [0, 1]
    (row,) = [row for row in table(run("suite", "list")[1]) if row[:1] == ["pythia-70m"]]
    assert row[3:12] == ["154,", "0", "to", "143000", "3", "of", "154", "1", "of"]


# ---- within reach of the hub


def test_what_the_hub_has_and_lacks_is_listed(server, run):
    status, out, err = run("suite", "list", "pythia-70m", "--json")
    assert (status, err) == (0, "")
    by_step = {one["step"]: one for one in json.loads(out)["checkpoints"]}
    assert by_step[128]["weights"] == "on the hub"
    assert by_step[128]["commit"] == server.commits["step128"]
    assert by_step[64]["weights"] == "missing on the hub"
    assert server.fetched() == set()


def test_a_repository_that_was_renamed_is_found_by_its_former_name(server, folders):
    server.former = "EleutherAI/pythia-14m"
    result = measure(Request(PROMPT, model=server.former, revision="step128", k=4))
    own = measure(Request(PROMPT, model=str(folders["step128"]), k=4))
    assert (result.singular_values == own.singular_values).all()
    assert [one.name for one in hub.revisions(server.former)] == ["main", *STEPS]


def test_what_is_wrong_with_a_suite_is_said(server, run):
    assert "end of training" in run("suite", "list", "pythia-2.8b")[2]
    assert "Pythia 2.8B (*)" in run("suite", "list")[1]
    status, out, err = run("training", "--suite", "pythia-2.8b", "--prompt", PROMPT)
    assert (status, out) == (1, "")
    assert err.startswith("warning: pythia-2.8b: ")


# ---- a training run of the hub


def training(run, *more: object) -> tuple[dict, str]:
    arguments = ("--suite", "pythia-70m", "--prompt", PROMPT, "--k", 4, "--json")
    status, out, err = run("training", *arguments, *more)
    assert status == 0, err
    return json.loads(out), err


def curve(said: dict) -> dict[int, float | None]:
    """The chance-corrected score by step."""
    (suite,) = said["suites"]
    return {one["step"]: one["corrected"] for one in suite["steps"]}


def test_a_run_of_the_hub_is_measured_and_leaves_no_weights(
    server, folders, tmp_path, monkeypatch, run
):
    said, err = training(run, "--steps", "0,128,1000")
    assert all(f"{REPO} at {server.commits[step][:8]}" in err for step in STEPS)
    assert hub.cached(REPO) == []
    for step, corrected in curve(said).items():
        own = measure(Request(PROMPT, model=str(folders[f"step{step}"]), k=4))
        found = score_pairs(own, View(k=4)).corrected
        assert corrected == pytest.approx(mean_off_diagonal(found), abs=1e-6)
    client(monkeypatch, tmp_path)
    again, err = training(run, "--steps", "0,128,1000")
    assert again["stored"]
    assert REPO not in err  # nothing is fetched; how far it is may be told where it takes long
    assert curve(again) == curve(said)
    listed = json.loads(run("suite", "list", "pythia-70m", "--json")[1])
    assert (listed["here"], listed["stored"]) == ([], [0, 128, 1000])


def test_weights_are_kept_where_that_is_wanted(server, run):
    training(run, "--steps", "0,128", "--keep")
    assert hub.cached(REPO) == ["step0", "step128"]


def test_a_step_that_the_hub_lacks_is_a_gap(server, run):
    said, err = training(run, "--steps", "0,64")
    assert curve(said)[0] is not None
    assert curve(said)[64] is None
    assert said["suites"][0]["missing"] == [64]
    assert "step 64 of pythia-70m" in err


def test_a_run_is_measured_from_the_cache_offline(commits, run):
    said, err = training(run)
    assert [step for step, score in curve(said).items() if score is not None] == [0, 128, 1000]
    assert "151 steps from 1 to 143000" in err
    assert hub.cached(REPO) == list(STEPS)


def test_steps_that_serve_the_same_weights_are_told(server, run):
    server.folders["step128"] = server.folders["step1000"]
    _, err = training(run, "--steps", "0,128,1000")
    assert "warning: pythia-70m: steps 128, 1000 " in err
