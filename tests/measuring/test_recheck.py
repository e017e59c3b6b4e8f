"""A recheck tells whether the model still gives what a result rests on, and what has changed."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import vision_models
from cases import content

from coupling_core import Request, Store, measure, recheck
from coupling_core.base.kinds import kind_of
from coupling_core.base.results import Result

TEXT = "The cat sat on the mat"
KINDS: dict[str, dict[str, Any]] = {
    "depth": {},
    "depth at a token": {"token": 2},
    "self": {"kind": "self", "block": 2},
    "means": {"kind": "self"},
    "fixed output": {"kind": "fixed-output", "block": 2, "token": 3},
    "trajectory": {"kind": "trajectory"},
    "without its norm": {"kind": "trajectory", "final_norm": "exclude"},
    "what-if": {"kind": "what-if"},
    "spectrum": {"kind": "spectrum", "token": 2},
    "noise": {"kind": "perturbation", "token": 2},
    "directions": {"kind": "directions", "token": 2},
    "untrained": {"untrained": 3},
    "rounded": {"dtype": "bfloat16"},
}
OWN = {
    "bidirectional": (tiny.model, "bert", (5, 6, 7), None),
    "encoder": (tiny.model, "t5", (5, 6, 7), "encoder"),
    "decoder": (tiny.model, "t5", (5, 6, 7), "decoder"),
    "experts": (tiny.model, "mixtral", (5, 6, 7), None),
    "image": (vision_models.model, "vit", vision_models.picture(), None),
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


def estimated(result: Result, by: float) -> float:
    """What a recheck of a result that was so scaled says: relative to what was before."""
    parts = [result.provenance["passport"][name] for name in ("states", "logits")]
    return abs(1 - 1 / by) * max(np.linalg.norm(part["sums"]) / part["norm"] for part in parts)


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


@pytest.mark.parametrize(("build", "family", "prompt", "stack"), OWN.values(), ids=OWN)
def test_a_module_of_ones_own_is_rechecked(
    build: Callable[..., Any], family: str, prompt: Any, stack: Any
) -> None:
    given = {"model": build(family)}
    if build is vision_models.model:
        given["tokenizer"] = vision_models.processor()
    result = measure(Request(prompt, k=2, stack=stack), **given)
    assert recheck(result, **given).words == "unchanged to the bit"
    assert recheck(result).words.startswith("unknown: it was measured of a module of your own")


def test_other_weights_are_told_with_their_identity(measured: Result, folder: Path) -> None:
    tiny.model("llama", seed=1).save_pretrained(folder)
    found = recheck(measured)
    assert found.verdict == "changed"
    assert found.change is not None
    assert found.change > 0.1
    (other,) = found.others
    assert other.startswith(another(measured))
    assert found.words == f"changed by {found.change:.1e}, since {other}"


def test_another_file_that_moves_nothing_is_told_too(measured: Result, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"note": "read by nobody"}))
    assert recheck(measured).words.startswith(f"unchanged to the bit, although {another(measured)}")


def test_another_tokenizer_is_told(measured: Result, folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["merges"] = []
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    found = recheck(measured)
    assert found.verdict == "changed"
    assert "its prompt is read as other tokens" in found.others


def test_another_attention_of_the_config_is_told(measured: Result, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"attn_implementation": "eager"}))
    found = recheck(measured)
    assert found.verdict == "unchanged"
    assert "attention sdpa -> eager" in found.others


def test_another_attention_of_a_module_is_told() -> None:
    model = tiny.model("llama", attention="sdpa")
    result = measure(Request((5, 6, 7), k=2), model=model)
    model.set_attn_implementation("eager")
    found = recheck(result, model=model)
    assert (found.verdict, found.others) == ("unchanged", ("attention sdpa -> eager",))
    assert found.change is not None
    assert 0 < found.change < 1e-5
    assert f"unchanged to rounding ({found.change:.1e}), although attention" in found.words


def test_other_experts_are_told() -> None:
    model = tiny.model("mixtral")
    result = measure(Request((5, 6, 7), k=2), model=model)
    model.set_experts_implementation("batched_mm")
    assert recheck(result, model=model).others == ("experts eager -> batched_mm",)


@pytest.mark.parametrize(
    ("by", "verdict"),
    [(1 + 1e-6, "unchanged"), (1 - 1e-3, "changed"), (1.5, "changed")],
    ids=["rounding", "little", "much"],
)
def test_a_change_without_a_known_cause_says_so(by: float, verdict: str, measured: Result) -> None:
    found = recheck(scaled(measured, by))
    assert (found.verdict, found.others) == (verdict, ())
    assert found.change == pytest.approx(estimated(measured, by), rel=1e-4)
    if verdict == "changed":
        assert "since nothing that is known of" in found.words


def test_another_library_and_processor_are_told(measured: Result) -> None:
    before = with_passport(scaled(measured, 1.25), lambda found: found | {"instructions": "none"})
    versions = before.provenance["versions"]
    made = dict(before.provenance) | {"versions": versions | {"transformers": "4.0.0"}}
    found = recheck(replace(before, provenance=made | {"threads": 99}))
    assert found.words.startswith(
        f"changed by {estimated(measured, 1.25):.1e}, since "
        f"transformers 4.0.0 -> {versions['transformers']}; instructions none -> "
    )
    assert f"threads 99 -> {measured.provenance['threads']}" in found.others


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


def test_a_damaged_passport_is_told(measured: Result) -> None:
    found = recheck(with_passport(measured, lambda found: found | {"states": None}))
    assert found.words.startswith("unknown: its passport is damaged: states")


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def repository(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of the hub in the cache of its client, which is offline."""
    import huggingface_hub.constants as constants

    found = tmp_path / "hub" / "models--someone--tiny"
    shutil.copytree(original, found / "snapshots" / COMMIT)
    (found / "refs").mkdir()
    (found / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return found


def test_of_the_hub_the_commit_is_taken_that_was_measured(repository: Path) -> None:
    result = measure(Request(TEXT, model="someone/tiny", k=2))
    later = repository / "snapshots" / COMMIT[::-1]
    tiny.folder(later, seed=1)
    (repository / "refs" / "main").write_text(later.name)
    assert recheck(result).words == "unchanged to the bit"


def test_weights_are_not_fetched(repository: Path) -> None:
    result = measure(Request(TEXT, model="someone/tiny", k=2))
    (repository / "snapshots" / COMMIT / "model.safetensors").unlink()
    found = recheck(result)
    assert found.verdict == "unknown"
    assert "not on this disk, and a recheck fetches none" in found.why


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
    first, second = json.loads(out)
    assert [first["key"], first["verdict"], first["change"]] == [keys[0], "unknown", None]
    assert [second["key"], second["verdict"]] == [keys[1], "changed"]
    assert second["change"] == pytest.approx(estimated(measured, 1.25))
    assert second["words"].startswith(f"changed by {second['change']:.1e}, since")


@pytest.mark.parametrize("words", [(), ("abc", "--all")], ids=["neither", "both"])
def test_the_command_wants_keys_or_all(
    words: tuple[str, ...], run: Callable[..., tuple[object, str, str]]
) -> None:
    status, _, err = run("runs", "recheck", *words)
    assert status == 2
    assert "give keys of stored results, or --all" in err


def test_a_recheck_leaves_the_result_as_it_is(measured: Result) -> None:
    before = content(measured)  # type: ignore[arg-type]
    recheck(measured)
    assert content(measured) == before  # type: ignore[arg-type]
