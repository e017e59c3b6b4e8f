"""Who a model is: every file that loading reads, every field of a config, and no old half of it."""

import json
import shutil
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

TEXT = "The cat sat on the mat"


def request(folder, **changes):
    return Request(**{"prompt": TEXT, "model": str(folder), "k": 4} | changes)


def same(a, b):
    names = ("singular_values", "diagonal", "token_ids", "jacobian_norm")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


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
    adapter,  # which has the files of `fast` too
    *(pytest.param(make, marks=pytest.mark.slow) for make in KINDS if make is not adapter),
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
def test_every_file_that_loading_opens_belongs_to_the_hash(tmp_path):
    for make in KINDS:
        folder = make(tmp_path / make.__name__)
        with opened(folder) as names:
            load(resolve(ask(folder)), "cpu")
        assert {"config.json"} < names
        before = folder_digest(folder)
        for name in names - {"generation_config.json"}:  # nothing is generated
            whole = (folder / name).read_bytes()
            (folder / name).write_bytes(whole + b" ")
            assert folder_digest(folder) != before, (make, name)
            (folder / name).write_bytes(whole)
        assert folder_digest(folder) == before


def changed(path):
    """Change what a file says: its numbers, or the order of its words."""
    if path.suffix == ".safetensors":
        weights = load_file(path)
        floats = {name: w + 0.25 for name, w in weights.items() if w.is_floating_point()}
        save_file(weights | floats, path, {"format": "pt"})
    elif path.suffix == ".json":
        content = json.loads(path.read_text())
        if path.name == "vocab.json":
            content = dict(zip(content, reversed(content.values()), strict=True))
        path.write_text(json.dumps(content | {"changed": 1}))
    elif path.suffix == ".pt":
        path.write_bytes(b"changed")
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
        changed(path)
        if resolve(ask(folder)).identity == before:
            first = first or measure(ask(make(tmp_path / "again")))
            forget()  # or what was read before the change would be measured again
            assert same(measure(ask(folder)), first), path.name
        path.write_bytes(whole)


def test_every_field_of_a_folders_config_names_another_model(tmp_path):
    for family in ("llama", "t5"):
        folder = tiny.folder(tmp_path / family, family)
        config = json.loads((folder / "config.json").read_text())
        before = resolve(request(folder)).identity
        assert len(config) > 15
        for name, value in config.items():
            (folder / "config.json").write_text(json.dumps(config | {name: mutated(value)}))
            assert resolve(request(folder)).identity != before, (family, name)


def test_what_lies_beside_a_gguf_file_changes_nothing(tmp_path):
    file, beside = tiny.gguf_file(tmp_path / "m.gguf"), tmp_path / "beside"
    expected = measure(request(file))
    beside.mkdir()
    (beside / "m.gguf").write_bytes(file.read_bytes())
    for name, content in (
        ("tokenizer_config.json", {"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": True}),
        ("config.json", {"model_type": "gpt2"}),
        ("adapter_config.json", {"base_model_name_or_path": "elsewhere"}),
    ):
        (beside / name).write_text(json.dumps(content))
    shutil.rmtree(locate(request(file)).converted)  # so that it is converted beside them
    forget()
    found = measure(request(beside / "m.gguf"))
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
    folder = tiny.folder(tmp_path / "m")
    whole = load_file(folder / "model.safetensors")
    for lost in ("model.layers.1.mlp.up_proj.weight", "model.norm.weight"):
        weights = {name: each for name, each in whole.items() if name != lost}
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(ComputeError, match=lost):
            measure(request(folder))


def test_old_results_of_folders_and_rounded_weights_answer_nothing_and_stay(tmp_path, run):
    store = Store(tmp_path / "s", gallery=tmp_path / "none")
    folder = tiny.folder(tmp_path / "m")
    for asked in (request(folder), request(folder, dtype="bfloat16")):
        found = measure(asked)
        old = {name: each for name, each in found.identity.items() if name != "form"}
        stale = replace(found, identity=old, key=str(make_key(found.request, old)))
        store.put(stale)
        assert measure(asked, store).key != stale.key
        assert store.get(stale.key).key == stale.key
    words = [entry.outdated for entry in store.entries()]
    assert sorted(map(bool, words)) == [False, False, True, True]
    assert run("runs", "list", "--store", store.root)[1].count(max(words)) == 2


def test_what_was_told_by_an_identity_keeps_its_key():
    hub = {"model": "coupling-explorer/mini-64", "revision": "step0"}
    for asked, is_new in (
        (hub, False),
        ({"model": "smollm2-135m"}, False),
        (hub | {"untrained": 0, "dtype": "bfloat16"}, False),
        (hub | {"dtype": "bfloat16"}, True),
        ({"model": "smollm2-135m", "dtype": "float16"}, True),
    ):
        assert resolve(Request("x", **asked)).identity.get("form") == (FORM if is_new else None)


def test_every_result_that_ships_answers_as_before():
    store = Store()
    assert not [entry.key for entry in store.entries() if entry.outdated]
    asked = gallery.every_request()
    found = {make_key(each, resolve(each).identity).digest for each in asked}
    assert len(asked) == 237
    assert found == store.keys().keys()
    assert find_stored(resolve(asked[0]), store) is not None


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
    assert list(map(is_corrected, right + wrong)) == [False] * 3 + [True] * 5


def test_a_mixture_of_experts_of_the_hub_is_measured_anew(tmp_path, monkeypatch):
    asked, source = Request("x", model="a/b"), Source("hub", "model", "a/b", "0" * 40)
    monkeypatch.setattr(identity.hub, "snapshot", lambda *_: tmp_path)
    keys = [make_key(asked, {"kind": "hub", "digest": "0" * 40, "id": "a/b"}).digest]
    for config in ({"model_type": "llama"}, {"model_type": "mixtral", "num_local_experts": 8}):
        (tmp_path / "config.json").write_text(json.dumps(config))
        keys.append(make_key(asked, identity.identity_of(source, asked)).digest)
    assert keys[0] == keys[1] != keys[2]
