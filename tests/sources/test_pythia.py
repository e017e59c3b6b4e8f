"""Suites of the hub, as Pythia's revisions are: from a cache that is laid out, and from a hub.

How they are measured, step by step, is in tests/cli/test_training_cli.py.
"""

import json
from pathlib import Path

import pytest
import tiny
import torch
from fake_hub import FakeHub, client, lay_out

from coupling_core import Request, Store, measure
from coupling_core.engine.loading import load, loading
from coupling_core.engine.loading.keeping import Kept
from coupling_core.measuring.probe import probe
from coupling_core.sources import hub
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full  # a hub

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


# ---- what a revision holds


def test_an_old_config_and_what_lies_beside_the_weights_are_understood(folders, tmp_path):
    new = tiny.folder(tmp_path / "new", "gpt_neox", seed=STEPS.index("step128"))
    config = json.loads((new / "config.json").read_text())
    (new / "config.json").write_text(json.dumps(config | {"rope_parameters": tiny.PYTHIA_ROPE}))
    expected = measure(Request(PROMPT, model=str(new), k=4, dtype="float16"))
    found = measure(Request(PROMPT, model=str(folders["step128"]), k=4))
    assert (found.singular_values == expected.singular_values).all()
    assert probe(resolve(found.request)).stored == "float16"  # masks are no weights


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


# ---- offline


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
    rows = map(str.split, run("suite", "list")[1].splitlines())
    (row,) = [row for row in rows if row[:1] == ["pythia-70m"]]
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


def test_a_suite_with_an_erratum_is_marked(server, run):
    assert "end of training" in run("suite", "list", "pythia-2.8b")[2]
    assert "Pythia 2.8B (*)" in run("suite", "list")[1]
