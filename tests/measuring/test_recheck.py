"""A recheck tells whether the model still gives what a result rests on, and what has changed."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
import vision_models
from cases import content

from coupling_core import Request, Store, measure, recheck
from coupling_core.base.kinds import kind_of
from coupling_core.base.results import Result

TEXT = "The cat sat on the mat"
KINDS: dict[str, dict[str, Any]] = {
    "depth at a token": {"token": 2},
    "means": {"kind": "self"},
    "without its norm": {"kind": "trajectory", "final_norm": "exclude"},
    "directions": {"kind": "directions", "token": 2},
    "untrained": {"untrained": 3},
    "rounded": {"dtype": "bfloat16"},
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A model that a test may change."""
    return shutil.copytree(original, tmp_path / "tiny")


@pytest.fixture
def measured(folder: Path) -> Result:
    return measure(asked(folder), Store())


def asked(folder: Path, **changes: Any) -> Request:
    k = {"k": 2} if kind_of(changes.get("kind", "depth")).has_k else {}
    return Request(TEXT, model=str(folder), **k, **changes)


def with_passport(result: Result, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Result:
    made = dict(result.provenance)
    return replace(result, provenance=made | {"passport": change(made["passport"])})


def scaled(result: Result, by: float) -> Result:
    """A result of a model that gave all states and logits so many times as large."""

    def change(passport: dict[str, Any]) -> dict[str, Any]:
        for name in ("states", "logits"):
            part = passport[name]
            sums = [by * each for each in part["sums"]]
            part = {"digest": "0" * 64, "norm": by * part["norm"], "sums": sums}
            passport = passport | {name: part}
        return passport

    return with_passport(result, change)


def another(result: Result) -> str:
    """How a recheck begins to say that what it found is another model."""
    was = result.identity["digest"][:12]
    return f"the model there is not the one that was measured (digest {was} -> "


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_nothing_changes_by_itself(changes: dict[str, Any], original: Path) -> None:
    result = measure(asked(original, **changes), Store())
    found = recheck(result)
    assert (found.verdict, found.change, found.others) == ("unchanged", 0, ())
    assert found.words == "unchanged to the bit"


def test_a_module_of_ones_own_is_rechecked() -> None:
    given = {"model": vision_models.model("vit"), "tokenizer": vision_models.processor()}
    result = measure(Request(vision_models.picture(), k=2), **given)
    assert recheck(result, **given).verdict == "unchanged"
    assert recheck(result).verdict == "unknown"


def test_other_weights_are_told_with_their_identity(measured: Result, folder: Path) -> None:
    tiny.model("llama", seed=1).save_pretrained(folder)
    found = recheck(measured)
    assert found.verdict == "changed"
    assert found.change is not None
    assert found.change > 0.1
    (other,) = found.others
    assert other.startswith(another(measured))
    assert found.words == f"changed by {found.change:.1e}, since {other}"


def test_another_attention_of_a_module_is_told() -> None:
    model = tiny.model("llama", attention="sdpa")
    result = measure(Request((5, 6, 7), k=2), model=model)
    model.set_attn_implementation("eager")
    found = recheck(result, model=model)
    assert (found.verdict, found.others) == ("unchanged", ("attention sdpa -> eager",))
    assert found.change is not None
    assert 0 < found.change < 1e-5
    assert f"unchanged to rounding ({found.change:.1e}), although attention" in found.words


@pytest.mark.parametrize(
    ("by", "verdict"),
    [(1 + 1e-6, "unchanged"), (1 - 1e-3, "changed"), (1.5, "changed")],
    ids=["rounding", "little", "much"],
)
def test_a_change_without_a_known_cause_says_so(by: float, verdict: str, measured: Result) -> None:
    found = recheck(scaled(measured, by))
    assert (found.verdict, found.others) == (verdict, ())


def test_a_passport_is_no_part_of_what_is_asked(measured: Result) -> None:
    store = Store()
    plain = dict(measured.provenance)
    del plain["passport"]
    store.put(replace(measured, provenance=plain))
    again = measure(measured.request, store)
    assert (again.key, again.provenance) == (measured.key, plain)
    assert recheck(again).words == (
        "unknown: it was made before passports and cannot be compared; measure it again"
    )


def test_a_model_that_went_away_is_told(measured: Result, folder: Path) -> None:
    shutil.rmtree(folder)
    found = recheck(measured)
    assert (found.verdict, found.change) == ("unknown", None)
    assert f"model {str(folder)!r}: there is no such file or folder" in found.why


# ---- the command


def test_the_command_says_that_nothing_changed(
    measured: Result, run: Callable[..., tuple[object, str, str]]
) -> None:
    path = Store().path(measured.key)
    before = path.read_bytes()
    status, out, _ = run("runs", "recheck", measured.key[:10])
    assert (status, out) == (0, f"{measured.key}  unchanged to the bit\n")
    assert path.read_bytes() == before


def test_the_command_tells_each_verdict_and_fails(
    measured: Result, folder: Path, run: Callable[..., tuple[object, str, str]]
) -> None:
    store = Store(folder.parent / "own", layers=(), gallery=folder.parent / "none")
    other = replace(measured.request, token=2)
    results = [measure(other, store), scaled(measured, 1.25)]
    for result in results:
        store.put(result)
    keys = [result.key for result in results]
    store.path(keys[0]).write_bytes(b"damaged")
    status, out, err = run("runs", "recheck", *keys, "--json", "--store", store.root)
    assert status == 1
    assert "of 2 results 1 changed, and 1 could not be compared" in err
    assert [one["verdict"] for one in json.loads(out)] == ["unknown", "changed"]


def test_a_recheck_leaves_the_result_as_it_is(measured: Result) -> None:
    before = content(measured)  # type: ignore[arg-type]
    recheck(measured)
    assert content(measured) == before  # type: ignore[arg-type]
