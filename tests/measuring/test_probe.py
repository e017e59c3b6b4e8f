"""What a model is, before its weights are loaded."""

import json
from dataclasses import replace

import pytest
import tiny
from safetensors.torch import load_file, save_file

from benchmarks import architectures
from coupling_core import ComputeError, InputError, Request, measure
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import load, rehearsal, skeleton
from coupling_core.measuring import probe
from coupling_core.measuring.probe import Probe
from coupling_core.measuring.probe import probe as found_of
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import resolve


def request(model, **changes):
    return Request("-", model=str(model), **changes)


@pytest.fixture
def folder(tmp_path):
    return lambda family: tiny.folder(tmp_path / family, family)


@pytest.mark.real
def test_the_default_model_is_known():
    named = ("SmolLM2-135M-Instruct", "LlamaForCausalLM", 134_515_008, "GGUF, read as float32")
    shape = {"blocks": 30, "width": 576, "block_parameters": 3_540_096, "widest": 1536}
    known = Probe(*named, longest=8192, heads=9, causal=True, **shape)
    assert found_of(resolve(request("smollm2-135m"))) == known


def test_a_gguf_file_is_probed_without_converting_it(tmp_path):
    file = tiny.gguf_file(tmp_path / "tiny.gguf")
    found = found_of(resolve(request(file)))
    assert (found.blocks, found.width, found.stored) == (4, 32, "GGUF, read as float32")
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.mark.parametrize("family", "gpt2 gemma2 mixtral opt_350m bert bart mamba".split())
def test_a_probe_tells_what_the_model_then_is(folder, family):
    asked = request(folder(family))
    found = found_of(resolve(asked))
    loaded = load(resolve(asked), "cpu")
    ran = trace(loaded.model, [1, 2, 3, 4, 5], 5)
    assert found.refusal == ""
    assert found.architecture == type(loaded.model).__name__
    assert found.parameters == sum(p.numel() for p in loaded.model.parameters())
    assert (found.blocks, found.width) == (len(ran.blocks), ran.blocks[0].state.numel())
    assert found.causal is ran.kind.causal
    assert (found.stored, found.longest, found.heads) == ("float32", 64, 4)


@pytest.mark.parametrize(("stack", "causal"), [("encoder", False), ("decoder", True)])
def test_each_stack_is_probed_on_its_own(folder, stack, causal):
    found = found_of(resolve(request(folder("t5"), stack=stack)))
    assert found.stacks == ("encoder", "decoder")
    assert (found.stack, found.blocks, found.causal) == (stack, 4, causal)
    of_one = found_of(resolve(request(folder("gpt2"), stack=stack)))
    assert "one stack of blocks only" in of_one.refusal


@pytest.mark.parametrize(
    ("family", "reason"),
    [("albert", "no single list of transformer blocks"), ("swin", "and the same tokens")],
)
def test_what_cannot_be_measured_is_refused_in_the_words_of_measuring(folder, family, reason):
    found = found_of(resolve(request(folder(family))))
    assert reason in found.refusal
    assert found.causal is None
    assert ("refused", found.refusal) in found.facts()


def changed(folder, **changes):
    """A folder whose config says something else."""
    path = folder("llama")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | changes))
    return path


def test_weights_quantised_in_a_strange_form_are_refused(folder):
    path = changed(folder, quantization_config={"quant_method": "gptq", "bits": 4})
    with pytest.raises(InputError, match="quantised by gptq"):
        found_of(resolve(request(path)))


def test_no_weight_is_read_but_their_precision_is(folder):
    path = folder("llama")
    weights = {name: w.bfloat16() for name, w in load_file(path / "model.safetensors").items()}
    save_file(weights, path / "model.safetensors")
    header = (path / "model.safetensors").read_bytes()
    size = int.from_bytes(header[:8], "little") + 8
    (path / "model.safetensors").write_bytes(header[:size] + bytes(len(header) - size))
    found = found_of(resolve(request(path)))
    assert (found.stored, found.causal) == ("bfloat16", True)


def test_a_model_too_large_to_rehearse_says_that_it_runs_first(folder, monkeypatch):
    monkeypatch.setattr(probe, "REHEARSED_WORK", 1000)
    found = found_of(resolve(request(folder("gpt2"))))
    assert (found.causal, found.blocks, found.width) == (None, 4, 32)
    assert ("attention", "causal or not is found out when it runs") in found.facts()


def test_a_rehearsal_has_few_weights_and_every_block(folder):
    path = changed(folder, vocab_size=50_000, pad_token_id=40_000, num_hidden_layers=12)
    twin = rehearsal(skeleton(locate(request(path))))
    assert len(twin.model.layers) == 12
    storages = {p.untyped_storage().data_ptr(): p.numel() for p in twin.parameters() if p.ndim > 1}
    block = sum(p.numel() for p in twin.model.layers[0].parameters())
    assert sum(storages.values()) < 2 * block


def test_an_architecture_that_nobody_knows_is_told(folder):
    path = folder("llama")
    (path / "config.json").write_text(json.dumps({"model_type": "no-such-family"}))
    with pytest.raises(ComputeError, match="does not know its architecture"):
        found_of(resolve(request(path)))


@pytest.mark.parametrize(
    "name",
    ["xlnet", *(pytest.param(x, marks=pytest.mark.slow) for x in ("gemma3n_text", "prophetnet"))],
)
def test_a_probe_refuses_what_depth_refuses_in_the_same_words(tmp_path, name):
    built = architectures.build(name)
    built.save_pretrained(tmp_path / "model")
    tiny.tokenizer().save_pretrained(tmp_path / "model")
    asked = replace(request(tmp_path / "model"), prompt=tuple(range(1, 10)), k=4)
    with pytest.raises(InputError) as told:
        measure(asked, device="cpu")
    assert found_of(resolve(asked)).refusal == str(told.value)
