"""Suites by name; our own, which no hub has; and Pythia, of a cache that is laid out and of a hub.

How they are measured, step by step, is in tests/cli/test_training_cli.py.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from fake_hub import FakeHub, client, lay_out

from coupling_core import ComputeError, Request, Store, measure
from coupling_core.measuring.probe import probe
from coupling_core.sources import hub
from coupling_core.sources.hub import cache
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import (
    MINI_STEPS,
    PYTHIA_STEPS,
    find_suite,
    step_of,
    suites,
)

OWN = "coupling-explorer/mini-64"
NAMES = ("step0", "step16", "step4000", "main")
PROMPT = "The cat sat"
PYTHIA = "EleutherAI/pythia-70m"
STEPS = ("step0", "step128", "step1000")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("own")
    return {name: tiny.folder(path / name, "gpt_neox", seed) for seed, name in enumerate(NAMES)}


@pytest.fixture
def server(folders, tmp_path, monkeypatch):  # a hub that must not be asked
    fake = FakeHub(dict(folders), OWN)
    client(monkeypatch, tmp_path, fake)
    yield fake
    assert fake.asked == []
    fake.close()


@pytest.fixture
def shipped(server, folders, tmp_path, monkeypatch) -> dict[str, str]:
    """The suite as it comes with the program: the weights of three steps, the names of four."""
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "shipped")
    commits = lay_out(tmp_path / "shipped" / "suites", folders, OWN)
    (cache.repository(OWN) / "refs" / "step8").write_text("8" * 40)
    (cache.repository(OWN) / "losses.csv").write_text("step,train,held_out\n0,6,5.5\n1,5,\n")
    return commits


def request(step: str | None, **changes) -> Request:
    return Request(PROMPT, model=OWN, k=4, revision=step, **changes)


def test_there_are_six_of_ours_and_every_size_of_pythia():
    found = suites()
    assert all(suite.name == name for name, suite in found.items())
    own = [suite for suite in found.values() if suite.is_own]
    assert (len(own), len(found)) == (6, 6 + 2 * 10)
    assert {suite.steps for suite in own} == {MINI_STEPS}
    assert find_suite("mini-64-sd-seed1").repo == "coupling-explorer/mini-64-sd-seed1"
    assert find_suite("coupling-explorer/mini-64") == find_suite("mini-64")
    assert find_suite("pythia-1.4b-deduped").repo == "EleutherAI/pythia-1.4b-deduped"
    # 154 checkpoints: initialisation, ten powers of two, every 1000 steps to 143000.
    assert len(PYTHIA_STEPS) == 154
    assert PYTHIA_STEPS[:13] == (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000)
    assert PYTHIA_STEPS[-1] == 143_000
    assert MINI_STEPS == (*PYTHIA_STEPS[:11], 1000, 2000, 3000, 4000)


def test_a_step_is_asked_for_as_a_revision_and_trained():
    asked = Request(PROMPT, model="smollm2-135m", k=7, untrained=0, dtype="bfloat16")
    found = find_suite("pythia-70m").request(asked, 512)
    assert (found.model, found.revision) == ("EleutherAI/pythia-70m", "step512")
    assert (found.untrained, found.k, found.prompt) == (None, 7, PROMPT)
    assert [step_of(name) for name in ("step512", "step", "main")] == [512, None, None]


def test_a_shipped_checkpoint_is_measured_without_a_hub(shipped, folders):
    result = measure(request("step16"))
    own = measure(Request(PROMPT, model=str(folders["step16"]), k=4))
    assert (result.singular_values == own.singular_values).all()
    assert result.identity["digest"] == shipped["step16"]


def test_its_tokens_are_known_before_it_is_loaded(shipped):
    assert "".join(resolve(request("step16")).tokens.texts) == PROMPT
    assert resolve(request("step8")).tokens is None


def test_what_there_is_of_it_is_told(shipped):
    suite = find_suite("mini-64")
    assert suite.here() == (0, 16, 4000)
    assert suite.known() == (0, 8, 16, 4000)
    assert suite.losses() == {0: 5.5}
    assert [r.name for r in hub.revisions(OWN)] == ["main", "step0", "step8", "step16", "step4000"]
    assert resolve(request("step8")).identity["digest"] == "8" * 40


def test_what_was_never_made_is_told_with_the_command_that_makes_it(shipped):
    other = replace(find_suite("mini-64"), repo="coupling-explorer/mini-96")
    assert (other.here(), other.known(), other.losses()) == ((), (), {})
    for ask, told in (
        (lambda: resolve(other.request(Request(PROMPT), 8)), "mini-96@step8 .*training mini-96"),
        (lambda: measure(request("step8")), "mini-64@step8 .*training mini-64"),
        (lambda: hub.config(OWN, "8" * 40), "mini-64@step8 .*training mini-64"),
        (lambda: resolve(request("step9")), "step8 and step16"),
    ):
        with pytest.raises(ComputeError, match=told):
            ask()


def test_what_was_trained_here_comes_before_what_was_shipped(shipped, folders, tmp_path):
    lay_out(tmp_path / "home" / "suites", {"step8": folders["step0"]}, OWN)
    assert find_suite("mini-64").here() == (8,)


def test_the_steps_are_listed_with_their_losses(shipped, run):
    status, out, err = run("suite", "list", "mini-64")
    assert (status, err) == (0, "")
    rows = {line.split()[0]: line.split() for line in out.splitlines()}
    assert rows["0"] == ["0", "step0", shipped["step0"], "here", "0", "5.5"]
    assert rows["8"] == ["8", "step8", "8" * 40, "not", "made", "0"]
    out = run("models", "--revisions", OWN)[1]
    assert (out.count("True"), out.count("False")) == (4, 1)


# ---- Pythia


@pytest.fixture(scope="module")
def steps(tmp_path_factory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("pythia")
    return {name: tiny.pythia(path / name, seed) for seed, name in enumerate(STEPS)}


@pytest.fixture
def commits(steps, tmp_path, monkeypatch) -> dict[str, str]:
    """A cache with three steps, and no hub within reach."""
    client(monkeypatch, tmp_path)
    return lay_out(tmp_path / "hub", steps, PYTHIA)


@pytest.fixture
def upstream(steps, tmp_path, monkeypatch):
    """A hub within reach that has three steps, and an empty cache."""
    fake = FakeHub({"main": steps["step1000"]} | steps, PYTHIA)
    client(monkeypatch, tmp_path, fake)
    yield fake
    fake.close()


@pytest.mark.full
def test_an_old_config_and_what_lies_beside_the_weights_are_understood(steps, tmp_path):
    new = tiny.folder(tmp_path / "new", "gpt_neox", seed=STEPS.index("step128"))
    config = json.loads((new / "config.json").read_text())
    (new / "config.json").write_text(json.dumps(config | {"rope_parameters": tiny.PYTHIA_ROPE}))
    expected = measure(Request(PROMPT, model=str(new), k=4, dtype="float16"))
    found = measure(Request(PROMPT, model=str(steps["step128"]), k=4))
    assert (found.singular_values == expected.singular_values).all()
    assert probe(resolve(found.request)).stored == "float16"  # masks are no weights


@pytest.mark.full
def test_the_steps_of_a_suite_are_listed_offline(commits, run):
    measure(Request(PROMPT, model=PYTHIA, revision="step128", k=4), Store())
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
    rows = map(str.split, run("suite", "list")[1].splitlines())
    (row,) = [row for row in rows if row[:1] == ["pythia-70m"]]
    assert {"154", "143000", "3", "1"} <= {*row}


@pytest.mark.full
def test_what_the_hub_has_and_lacks_is_listed(upstream, run):
    status, out, err = run("suite", "list", "pythia-70m", "--json")
    assert (status, err) == (0, "")
    by_step = {one["step"]: one for one in json.loads(out)["checkpoints"]}
    assert by_step[128]["weights"] == "on the hub"
    assert by_step[128]["commit"] == upstream.commits["step128"]
    assert by_step[64]["weights"] == "missing on the hub"
    assert upstream.fetched() == set()


@pytest.mark.full
def test_a_repository_that_was_renamed_is_found_by_its_former_name(upstream, steps):
    upstream.former = "EleutherAI/pythia-14m"
    result = measure(Request(PROMPT, model=upstream.former, revision="step128", k=4))
    own = measure(Request(PROMPT, model=str(steps["step128"]), k=4))
    assert (result.singular_values == own.singular_values).all()
    assert [one.name for one in hub.revisions(upstream.former)] == ["main", *STEPS]
