"""A model is looked for once, by whatever a request passes through."""

import ast
from pathlib import Path

import pytest
import tiny

from coupling_core import Request, Store, measure
from coupling_core.measuring.measure import answer
from coupling_core.sources import resolved
from coupling_core.sources.identity import Source, identity_of, locate
from coupling_core.sources.resolved import resolve

ROOT = Path(__file__).parents[2]
LOOKING = {
    "coupling_core/sources/resolved.py",
    "explorer/server/backend.py",  # once a page
    # What asks where a model is, and measures nothing.
    "coupling_core/cli/models.py",
    "coupling_core/engine/loading/convert.py",
    "coupling_core/serving/doctor.py",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.folder(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def looked(monkeypatch):
    """The requests whose model was looked for."""
    found = []
    monkeypatch.setattr(resolved, "locate", lambda asked: found.append(asked) or locate(asked))
    return found


def test_a_model_is_looked_for_in_one_place():
    files = [path for room in ("coupling_core", "explorer") for path in (ROOT / room).rglob("*.py")]
    found = {
        str(path.relative_to(ROOT))
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id == "locate"
    }
    assert found == LOOKING


def test_a_measurement_looks_for_its_model_once(folder, looked, tmp_path):
    store = Store(tmp_path)
    for asked in (
        {"k": 4},
        {"kind": "trajectory"},
        {"kind": "fixed-input", "block": 1, "other_block": 2, "k": 4},
        {"untrained": 0, "k": 4},
    ):
        looked.clear()
        request = Request("The cat sat", model=str(folder), **asked)
        first = measure(request, store)
        assert len(looked) == 1
        assert measure(request, store).key == first.key
        assert len(looked) == 2


def test_a_command_looks_for_its_model_once(folder, looked, run, monkeypatch):
    import coupling_core.measuring.measure as door

    for _ in range(2):  # measured, then stored
        looked.clear()
        assert run("depth", "--model", folder, "--prompt", "The cat sat", "--k", 4)[0] == 0
        assert looked == [Request("The cat sat", model=str(folder), k=4)]
    assert door.resolve is resolve


def test_what_was_found_is_not_looked_for_again(folder, looked, tmp_path):
    asked = resolve(Request("The cat sat", model=str(folder), k=4))
    result = answer(asked, Store(tmp_path))
    assert len(looked) == 1
    assert result.identity == asked.identity
    assert asked.n_tokens == len(asked.tokens.ids) == len(result.tokens)
    assert asked.config["model_type"] == "llama"
    twin = resolve(Request("The dog", model=str(folder), untrained=0), asked.source)
    assert len(looked) == 1
    assert twin.identity == identity_of(asked.source, twin.request)


def test_of_files_that_are_not_here_nothing_is_known():
    away = Source("hub", "model", "someone/else", "0" * 40)
    asked = resolve(Request("The cat sat", model="someone/else"), away)
    assert asked.tokens is None
    assert asked.config == {}
    assert asked.n_tokens == len("The cat sat") // 3 + 1
