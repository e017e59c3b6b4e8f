"""Ways in which loading a model goes wrong without a word, each reproduced by its real cause.

What goes wrong further on is reproduced where it belongs: caches, causality and the final norm in
test_families.py, precision and streaming in test_weights.py, revisions in test_hub.py.
"""

import json
import pickle

import pytest
import tiny
import torch
from checks import relative
from hostile import Touch

from coupling_core import ComputeError, InputError, Request, measure
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import load, prepare
from coupling_core.engine.loading.weights import is_quantised
from coupling_core.sources.gguf_head import read_head
from coupling_core.sources.resolved import resolve

IDS = (5, 17, 42, 8, 99)


def request(model, **changes):
    return Request(IDS, model=str(model), k=8, k_view=8, **changes)


def test_float64_is_true_only_in_its_mode():
    """Norms, softmax and rotary angles are written in float32, whatever the model's precision.

    A central difference shows it: float32 inside drowns it in rounding.
    """
    model = tiny.model("gemma3").double()

    def difference():
        block = trace(model, list(IDS), 5).blocks[1]
        x, v = block.state, torch.ones_like(block.state)
        J = torch.autograd.functional.jacobian(block.replay, x[None, None])[:, 0, 0]
        with torch.no_grad():
            above, below = (block.replay((x + h * v)[None, None]) for h in (1e-5, -1e-5))
        return relative((above - below) / 2e-5, J @ v)

    with true_float64.TrueFloat64():
        assert difference() < 1e-8
    assert difference() > 1e-6


def test_4_bit_weights_that_were_repacked_are_refused(tmp_path, monkeypatch):
    """A first forward pass without gradients may repack them into a kernel without a derivative.

    It does on processors with bfloat16 instructions, and what the weights dequantise to from then
    on is wrong.
    """
    for side in ("hidden_size", "intermediate_size"):
        monkeypatch.setitem(tiny._SHAPE, side, 64)  # that kernel takes whole blocks of 64 numbers
    asked = request(tiny.folder(tmp_path / "model"), quantize="nf4")
    model = load(resolve(asked), "cpu").model
    with torch.no_grad():
        model(torch.tensor([IDS]))
    quantised = [module.weight.quant_state for module in model.modules() if is_quantised(module)]
    if not any(getattr(state, "packing_format_for_cpu", False) for state in quantised):
        quantised[0].packing_format_for_cpu = True  # as on other processors
    with pytest.raises(InputError, match="repacked"):
        measure(Request(IDS, k=8, k_view=8), model=model)


def test_a_converted_gguf_file_is_a_plain_model(tmp_path, capfd):
    """As it is read it says that it is quantised, which would block what needs plain weights."""
    file = tiny.gguf_file(tmp_path / "tiny.gguf")
    capfd.readouterr()
    folder = prepare(str(file))
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    assert capfd.readouterr() == ("", "")
    plain, twin, quantised = (
        load(resolve(request(file, **form)), "cpu").model
        for form in ({}, {"untrained": 0}, {"quantize": "nf4"})
    )
    weight = plain.model.layers[0].mlp.up_proj.weight
    assert weight.dtype == torch.float32
    assert 0 < relative(weight, tiny.model("llama").model.layers[0].mlp.up_proj.weight) < 0.01
    assert [sum(map(is_quantised, m.modules())) for m in (plain, twin, quantised)] == [0, 0, 4 * 7]


def test_a_gguf_file_that_was_cut_anywhere_is_damaged_and_long_lists_are_passed_over(
    tmp_path, monkeypatch
):
    told, contents, file = [], [], tiny.gguf_file(tmp_path / "m.gguf")
    whole = file.read_bytes()
    for long in (1000, 2):  # the vocabulary has 300 tokens
        monkeypatch.setattr("coupling_core.engine.loading.gguf_reading._LONG", long)
        monkeypatch.setenv("COUPLING_HOME", str(tmp_path / str(long)))
        folder = prepare(str(file), told.append)
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[0] == contents[1]
    assert [progress.stage for progress in told] == ["converting"] * 2
    head = read_head(file)
    assert (head.tokens, head.numbers) == (300, tiny.model("llama").num_parameters())
    for end in (0, 3, 4, 20, 60, 2000, 9000, len(whole) // 2, len(whole) - 40):
        file.write_bytes(whole[:end])
        with pytest.raises((InputError, ComputeError), match="cut short"):
            prepare(str(file))
    name = b"blk.1.attn_q.weight"
    at = whole.find(name) + len(name)  # then how many sides, two sides, the type, the offset
    for spoilt, new, words in (
        (at + 4, bytes(8), "damaged"),
        (at + 20, b"\x4d", "damaged"),
        (at + 24, b"\x21", "damaged"),
        (at - 1, b"z", f"^{file} has no weights for .* download it anew$"),
        (4, b"\x01", "another version of GGUF"),
    ):
        file.write_bytes(whole[:spoilt] + new + whole[spoilt + len(new) :])
        with pytest.raises(ComputeError, match=words):
            prepare(str(file))


# --- code from elsewhere

CODE = "from pathlib import Path\nPath({marker!r}).touch()\n"


@pytest.mark.parametrize(
    ("ours", "untrained"), [("x_model", None), ("x_model", 0), ("llama", None)]
)
def test_code_in_a_folder_never_runs(tmp_path, ours, untrained):
    """A config may name classes in files beside it; a family that is known runs as itself."""
    folder, marker = tiny.folder(tmp_path / "model"), tmp_path / "it-ran"
    (folder / "theirs.py").write_text(CODE.format(marker=str(marker)))
    names = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForCausalLM"), "theirs.Named")
    names["AutoTokenizer"] = ["theirs.Named", "theirs.Named"]
    for name in ("config.json", "tokenizer_config.json"):
        said = json.loads((folder / name).read_text()) | {"auto_map": names}
        (folder / name).write_text(json.dumps(said | {"model_type": ours}))
    if ours == "llama":
        assert type(load(resolve(request(folder)), "cpu").model).__name__ == "LlamaForCausalLM"
    else:
        with pytest.raises(ComputeError, match="code"):
            load(resolve(request(folder, untrained=untrained)), "cpu")
    assert not marker.exists()


@pytest.mark.parametrize("beside", [None, "adapter_model.safetensors"])
def test_pickled_weights_are_never_opened(tmp_path, beside):
    """Also where other weights in safetensors lie beside them."""
    folder, marker = tiny.folder(tmp_path / "model"), tmp_path / "it-ran"
    weights = folder / "model.safetensors"
    if beside:
        weights.rename(folder / beside)
        torch.save(tiny.model("llama").state_dict(), folder / "pytorch_model.bin")
    else:
        weights.unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Touch(marker)))
    with pytest.raises((InputError, ComputeError), match="pickled"):
        load(resolve(request(folder)), "cpu")
    assert not marker.exists()
