"""A recheck tells whether the model still gives what a result rests on, and what has changed."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tiny

from coupling_core import Request, Store, measure, recheck
from coupling_core.base.results import Result


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A model that a test may change."""
    return shutil.copytree(folder, tmp_path / "tiny")


@pytest.fixture
def measured(own: Path) -> Result:
    return measure(Request("The cat sat", model=str(own), k=2), Store())


@pytest.mark.parametrize("changes", [{"kind": "trajectory", "final_norm": "exclude"}, {"k": 2}])
def test_nothing_changes_by_itself(changes: dict[str, object], folder: Path) -> None:
    result = measure(Request("The cat sat", model=str(folder), **changes), Store())
    found = recheck(result)
    assert (found.verdict, found.change, found.others) == ("unchanged", 0, ())


def test_other_weights_are_told_with_their_identity(measured: Result, own: Path) -> None:
    tiny.model("llama", seed=1).save_pretrained(own)
    found = recheck(measured)
    assert found.verdict == "changed"
    assert found.change > 0.1
    assert f"digest {measured.identity['digest'][:12]} -> " in found.others[0]


def test_another_attention_of_a_module_is_told() -> None:
    model = tiny.model("llama", attention="sdpa")
    result = measure(Request((5, 6, 7), k=2), model=model)
    model.set_attn_implementation("eager")
    found = recheck(result, model=model)
    assert (found.verdict, found.others) == ("unchanged", ("attention sdpa -> eager",))
    assert 0 < found.change < 1e-5


def test_the_command_tells_each_verdict_fails_and_leaves_the_result_as_it_is(
    measured: Result, own: Path, run: Callable[..., tuple[object, str, str]]
) -> None:
    path = Store().path(measured.key)
    before = path.read_bytes()
    status, out, _ = run("runs", "recheck", measured.key[:10])
    assert (status, out) == (0, f"{measured.key}  unchanged to the bit\n")
    assert path.read_bytes() == before
    plain = {name: value for name, value in measured.provenance.items() if name != "passport"}
    old = replace(measured, provenance=plain)  # made before there were passports
    Store().put(old)
    lost = measure(replace(measured.request, token=2), Store())
    shutil.rmtree(own)
    status, out, _ = run("runs", "recheck", old.key, lost.key, "--json")
    assert status == 1
    assert [one["verdict"] for one in json.loads(out)] == ["unknown", "unknown"]
