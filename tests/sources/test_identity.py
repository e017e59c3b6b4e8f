"""Who a model is: every file that loading reads, every field of a config, and no old half of it."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import vision_models
from config_mutations import mutated
from safetensors.torch import load_file, save_file

from coupling_core import ComputeError, Request, Store, measure
from coupling_core.engine.loading import convert, forget, load
from coupling_core.experiments import gallery
from coupling_core.measuring.measure import find_stored
from coupling_core.sources import identity
from coupling_core.sources.file_hashes import folder_digest
from coupling_core.sources.identity import Source, locate
from coupling_core.sources.identity_form import FORM, is_corrected
from coupling_core.sources.resolved import resolve
from coupling_core.store.request_key import make_key

IDS = (5, 17, 42, 9)
TEXT = "The cat sat on the mat"


def request(folder, **changes):
    return Request(**{"prompt": TEXT, "model": str(folder), "k": 4} | changes)


def numbers(result):
    return [result.singular_values, result.diagonal, result.token_ids, result.jacobian_norm]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(numbers(a), numbers(b), strict=True))


# ---- folders, one of each kind of tokenizer


def fast(path):
    return tiny.folder(path)


def words(path):
    """A BERT as it was shared before fast tokenizers: its words in a text file, and no more."""
    tiny.model("bert").save_pretrained(path)
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TEXT.lower().split()]
    (path / "vocab.txt").write_text("\n".join(dict.fromkeys(known)))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    (path / "special_tokens_map.json").write_text(json.dumps({"unk_token": "[UNK]"}))
    (path / "added_tokens.json").write_text(json.dumps({"mat": 12}))
    return path


def merges(path):
    """A GPT-2 with its vocabulary and merges in files of their own."""
    tiny.model("gpt2").save_pretrained(path)
    backend = json.loads(tiny.tokenizer().backend_tokenizer.to_str())["model"]
    pairs = "\n".join(" ".join(pair) for pair in backend["merges"])
    (path / "vocab.json").write_text(json.dumps(backend["vocab"]))
    (path / "merges.txt").write_text(f"#version: 0.2\n{pairs}\n")
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    return path


def shards(path):
    tiny.model("llama").save_pretrained(path, max_shard_size="40KB")
    tiny.tokenizer().save_pretrained(path)
    return path


def adapter(path):
    """A model whose folder holds an adapter too, which is loaded with it."""
    import behaviours

    tiny.folder(path)
    behaviours.adapted().save_pretrained(path / "all", selected_adapters=["one"])
    for file in (path / "all" / "one").iterdir():
        file.rename(path / file.name)
    return path


def picture(path):
    vision_models.model("vit").save_pretrained(path)
    vision_models.processor().save_pretrained(path)
    return path


KINDS = (fast, words, merges, shards, adapter, picture)
SOME = [
    *(fast, words, merges, adapter),
    *(pytest.param(make, marks=pytest.mark.slow) for make in (shards, picture)),
]
"""Those that the default tier measures again after every change."""
_watching: list[list[str]] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _watching and isinstance(arguments[0], str | Path):
        _watching[-1].append(str(arguments[0]))


@contextmanager
def opened(folder: Path) -> Iterator[set[str]]:
    """The files of a folder that are opened meanwhile, by name."""
    if not hasattr(sys, "_opened_is_watched"):
        sys.addaudithook(_note)  # for good: Python has no way to take one off
        sys._opened_is_watched = True  # type: ignore[attr-defined]
    names: set[str] = set()
    _watching.append([])
    yield names
    found = [Path(path) for path in _watching.pop()]
    names |= {str(p.relative_to(folder)) for p in found if p.is_relative_to(folder)}


def ask(folder):
    if (folder / "preprocessor_config.json").exists():
        return request(folder, prompt=vision_models.picture(), token=1)
    return request(folder)


@pytest.mark.full
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_every_file_that_loading_opens_belongs_to_the_hash(make, tmp_path):
    folder = make(tmp_path / "model")
    with opened(folder) as names:
        load(resolve(ask(folder)), "cpu")
    assert {"config.json"} < names
    before = folder_digest(folder)
    for name in sorted(names - {"generation_config.json"}):  # nothing is generated
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole + b" ")
        assert folder_digest(folder) != before, name
        (folder / name).write_bytes(whole)
        os.utime(folder / name)
    assert folder_digest(folder) == before


def changed(path):
    """Change what a file says: its numbers, or the order of its words."""
    if path.suffix == ".safetensors":
        weights = {name: w + 0.25 if w.is_floating_point() else w
                   for name, w in load_file(path).items()}  # fmt: skip
        save_file(weights, path, {"format": "pt"})
    elif path.suffix == ".json":
        content = json.loads(path.read_text())
        if path.name == "vocab.json":
            content = dict(zip(content, reversed(content.values()), strict=True))
        path.write_text(json.dumps(content | {"changed": 1}))
    else:
        path.write_text("\n".join(reversed(path.read_text().splitlines())))


@pytest.mark.full
@pytest.mark.parametrize("make", SOME)
def test_a_file_that_changes_gives_another_key_or_the_same_numbers(make, tmp_path):
    folder = make(tmp_path / "model")
    (folder / "README.md").write_text("# A model")
    (folder / "optimizer.pt").write_bytes(b"left over from training")
    (folder / "checkpoint-5").mkdir()
    before, first = resolve(ask(folder)).identity, None
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        whole = path.read_bytes()
        if path.suffix == ".pt":
            path.write_bytes(b"changed")
        else:
            changed(path)
        if resolve(ask(folder)).identity == before:
            first = first or measure(ask(make(tmp_path / "again")))
            forget()  # or what was read before the change would be measured again
            assert same(measure(ask(folder)), first), path.name
        path.write_bytes(whole)


def test_a_new_file_that_a_tokenizer_may_read_is_another_model(tmp_path):
    folder = words(tmp_path / "model")
    before, first = resolve(request(folder)).identity, measure(request(folder))
    (folder / "vocab.txt").write_text((folder / "vocab.txt").read_text().replace("cat", "dog"))
    assert resolve(request(folder)).identity != before
    assert measure(request(folder)).token_ids.tolist() != first.token_ids.tolist()


# ---- fields of a config


def test_every_field_of_a_folders_config_names_another_model(tmp_path):
    for family in ("llama", "t5"):
        folder = tiny.folder(tmp_path / family, family)
        config = json.loads((folder / "config.json").read_text())
        before = resolve(request(folder)).identity
        assert len(config) > 15
        for name, value in config.items():
            (folder / "config.json").write_text(json.dumps(config | {name: mutated(value)}))
            assert resolve(request(folder)).identity != before, (family, name)


# ---- what is no part of a file's hash


def test_what_lies_beside_a_gguf_file_changes_nothing(tmp_path):
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir()
    beside.mkdir()
    file = tiny.gguf_file(alone / "m.gguf")
    (beside / "m.gguf").write_bytes(file.read_bytes())
    for name, content in (
        ("tokenizer_config.json", {"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": True}),
        ("config.json", {"model_type": "gpt2"}),
        ("adapter_config.json", {"base_model_name_or_path": "elsewhere"}),
    ):
        (beside / name).write_text(json.dumps(content))
    found = measure(request(beside / "m.gguf"))
    other = locate(request(file))
    for path in other.converted.iterdir():
        path.unlink()
    other.converted.rmdir()
    expected = measure(request(file))
    assert found.identity["digest"] == expected.identity["digest"]
    assert same(found, expected)


def test_a_gguf_file_that_is_replaced_while_it_is_read_leaves_nothing(tmp_path, monkeypatch):
    file = tiny.gguf_file(tmp_path / "m.gguf")
    other = tiny.gguf_file(tmp_path / "other.gguf", seed=1).read_bytes()
    source, rewrite = locate(request(file)), convert._rewrite

    def replaced(path, alone, folder):
        path.write_bytes(other)
        rewrite(path, alone, folder)

    monkeypatch.setattr(convert, "_rewrite", replaced)
    with pytest.raises(ComputeError, match="changed"):
        convert.convert(source)
    assert not source.converted.exists()


def test_weights_that_are_missing_are_no_random_ones(tmp_path):
    for number, lost in enumerate(("model.layers.1.mlp.up_proj.weight", "model.norm.weight")):
        folder = tiny.folder(tmp_path / str(number))
        weights = load_file(folder / "model.safetensors")
        del weights[lost]
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(ComputeError, match=lost):
            measure(request(folder))


# ---- what was stored when less was noted


def test_old_results_of_folders_and_rounded_weights_answer_nothing_and_stay(tmp_path, run):
    store = Store(tmp_path / "s", gallery=tmp_path / "none")
    folder = tiny.folder(tmp_path / "m")
    for asked in (request(folder), request(folder, dtype="bfloat16")):
        found = measure(asked)
        old = {name: each for name, each in found.identity.items() if name != "form"}
        stale = replace(found, identity=old, key=str(make_key(found.request, old)))
        store.put(stale)
        anew = measure(asked, store)
        assert anew.key != stale.key
        assert store.get(stale.key).key == stale.key
        by_key = {entry.key: entry for entry in store.entries()}
        assert by_key[stale.key].outdated
        assert by_key[anew.key].outdated == ""
    assert run("runs", "ls", "--store", store.root)[1].count(by_key[stale.key].outdated) == 2


def test_what_was_told_by_an_identity_keeps_its_key():
    for kind, changes, is_new in (
        ("hub", {}, False),
        ("gguf", {}, False),
        ("hub", {"untrained": 0, "dtype": "bfloat16"}, False),
        ("hub", {"dtype": "bfloat16"}, True),
        ("gguf", {"dtype": "float16"}, True),
    ):
        model = {"hub": "coupling-explorer/mini-64", "gguf": "smollm2-135m"}[kind]
        revision = {"revision": "step0"} if kind == "hub" else {}
        found = resolve(Request("x", model=model, **revision, **changes)).identity
        assert found["kind"] == kind
        assert found.get("form") == (FORM if is_new else None)


def test_every_result_that_ships_answers_as_before():
    store = Store()
    assert not [entry.key for entry in store.entries() if entry.outdated]
    asked = [
        *gallery.requests(), *gallery.token_requests(), *gallery.path_requests(),
        *gallery.effect_requests(), *gallery.map_requests(), *gallery.training_requests(),
        *gallery.vision_requests(),
    ]  # fmt: skip
    digests = store.keys()
    found = {make_key(each, resolve(each).identity).digest for each in asked}
    assert len(asked) == 218
    assert found == digests.keys()
    assert find_stored(resolve(asked[0]), store) is not None


# --- what was measured wrongly before


def test_what_was_measured_wrongly_before_has_another_key():
    right = (
        {"model_type": "llama", "num_attention_heads": 4},
        {"model_type": "granitemoe", "num_local_experts": None},
        {"model_type": "llama", "rope_parameters": {"rope_type": "llama3"}},
    )
    wrong = (
        {"model_type": "olmoe", "num_experts": 64},
        {"model_type": "deepseek_v3", "n_routed_experts": 256},
        {"model_type": "phi3", "rope_scaling": {"type": "longrope"}},
        {"model_type": "m2m_100"},
        {"model_type": "llama4", "text_config": {"num_local_experts": 16}},
    )
    assert [config for config in right if is_corrected(config)] == []
    assert [config for config in wrong if not is_corrected(config)] == []


def test_a_mixture_of_experts_of_the_hub_is_measured_anew(tmp_path, monkeypatch):
    asked = Request("a text", model="owner/model")
    source = Source("hub", "model", "owner/model", "0" * 40)
    monkeypatch.setattr(identity.hub, "snapshot", lambda *_: tmp_path)
    keys = []
    for config in ({"model_type": "llama"}, {"model_type": "mixtral", "num_local_experts": 8}):
        (tmp_path / "config.json").write_text(json.dumps(config))
        keys.append(make_key(asked, identity.identity_of(source, asked)).digest)
    assert (
        keys[0] == make_key(asked, {"kind": "hub", "digest": "0" * 40, "id": "owner/model"}).digest
    )
    assert keys[1] != keys[0]
