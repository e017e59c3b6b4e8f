"""Loading models: alias, folder, GGUF file; those of the hub are in tests/sources/test_hub.py."""

import os

import pytest
import tiny
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers import models as tokenizer_models

from coupling_core import InputError, Request
from coupling_core.engine.hardware import choose_device
from coupling_core.engine.loading import load, prepare
from coupling_core.sources.identity import ALIASES, locate
from coupling_core.sources.resolved import resolve
from coupling_core.sources.tokens import is_byte_level, readable


@pytest.fixture
def folder(tmp_path):
    return tiny.folder(tmp_path / "tiny")


def request(model, **changes):
    return Request("The cat sat", model=str(model), **changes)


def test_a_folder_loads_in_float32_and_evaluation_mode(folder):
    loaded = load(resolve(request(folder)))
    assert {p.dtype for p in loaded.model.parameters()} == {torch.float32}
    assert not loaded.model.training
    assert loaded.device.type == choose_device().type
    expected = tiny.model("llama").state_dict()
    for name, tensor in loaded.model.state_dict().items():
        assert torch.equal(tensor.cpu(), expected[name])


def test_a_device_that_is_not_here_is_refused(folder):
    for name in ("gpu", "cuda:99", "meta"):
        with pytest.raises(InputError, match=f"device '{name}'"):
            load(resolve(request(folder)), name)


def test_what_a_conversion_that_died_left_behind_goes(tmp_path):
    source = resolve(request(tiny.gguf_file(tmp_path / "m.gguf"))).files
    dead, living = (source.converted.parent / f".converting-{name}" for name in ("dead", "living"))
    for place in (dead, living):
        (place / "new").mkdir(parents=True)
        (place / "new" / "model.safetensors").write_bytes(b"half")
    os.utime(dead, (0, 0))
    load(resolve(request(tmp_path / "m.gguf")))
    assert [dead.exists(), living.exists()] == [False, True]


@pytest.mark.real
@pytest.mark.full
def test_the_alias_is_the_file_in_its_package():
    alias = locate(request("smollm2-135m"))
    assert prepare("smollm2-135m") == alias.converted
    assert (alias.converted / "model.safetensors").is_file()
    by_path = resolve(request(alias.location)).identity
    assert by_path["digest"] == ALIASES["smollm2-135m"].sha256
    assert resolve(request("smollm2-135m")).identity["digest"] == by_path["digest"]


@pytest.mark.real
@pytest.mark.full
def test_tokens_without_torch_are_those_of_the_model():
    prompt = "Héllo € wörld\n 日本 <|im_start|>"
    tokens = resolve(Request(prompt)).tokens
    loaded = load(resolve(Request(prompt)))
    assert list(tokens.ids) == loaded.encode(prompt)
    assert tokens.texts == loaded.texts(loaded.encode(prompt))
    assert tokens.texts[:2] == ("H", "é")
    assert "<|im_start|>" in tokens.texts


def test_pieces_of_other_vocabularies_are_readable():
    assert readable(["▁The", "▁cat"], byte_level=False) == (" The", " cat")
    assert readable(["Ġâ", "Ĥ", "¬"], byte_level=True) == (r" \xe2", r"\x82", r"\xac")


def test_a_tokenizer_of_bytes_is_known_by_its_parts():
    for part, value, expected in (
        ("decoder", decoders.ByteLevel(), True),
        ("decoder", decoders.Sequence([decoders.Fuse(), decoders.ByteLevel()]), True),
        ("pre_tokenizer", pre_tokenizers.ByteLevel(), True),
        ("decoder", decoders.Metaspace(), False),
    ):
        tokenizer = Tokenizer(tokenizer_models.BPE())
        assert not is_byte_level(tokenizer)
        setattr(tokenizer, part, value)
        assert is_byte_level(tokenizer) == expected, value
