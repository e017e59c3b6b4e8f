"""What the engine refuses, and how each refusal reads: `--snapshot-update` writes them anew.

That nothing is stored, and that weights and hooks stay as they were, is tested where it matters.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

import by_hand
import pytest
import tiny
import torch
import transformers
import vision_models
from by_hand import GPT
from refused import refusals
from torch import nn
from torch.utils.checkpoint import checkpoint

import coupling_core as cc
from benchmarks import architectures
from coupling_core import Request
from coupling_core.base.edits import Edit
from coupling_core.base.records import OWN
from coupling_core.engine.edits.edited import edited
from coupling_core.engine.edits.one_edit import continued
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import as_loaded, find_blocks, load, weights
from coupling_core.engine.penalty import coupling_penalty
from coupling_core.sources.resolved import resolve

IDS = (3, 17, 42, 9, 8, 1)
Calls = dict[str, Callable[[], Any]]


CHANGING = (
    (r"differ by \S+", "differ by ..."),  # what was drawn
    (r"(cut short|holds none|fails with \w+) \([^)]*\)", r"\1 (...)"),  # words of libraries
    (r"does not load: .*", "does not load: ..."),
)
"""What is another from time to time, and how it stands in a snapshot."""


def told(calls: Calls, *places: Any) -> dict[str, str]:
    """What each call is refused with, but for what changes."""
    found = refusals(calls, *places, sorts=cc.CouplingError)
    for pattern, instead in CHANGING:
        found = {name: re.sub(pattern, instead, words) for name, words in found.items()}
    return found


def of_llama(**asked: Any) -> Callable[[], Any]:
    return lambda: cc.measure(Request(IDS, k=4, **asked), model=tiny.model("llama"))


# --- models that are no stack of blocks


class Noisy(nn.Module):
    """Draws in evaluation mode too."""

    def forward(self, x: Any) -> Any:
        return x + 0.01 * torch.randn_like(x)


def noisy() -> Any:
    model = tiny.model("llama")
    norm = model.model.layers[0].input_layernorm
    model.model.layers[0].input_layernorm = nn.Sequential(norm, Noisy())
    return model


def in_stages() -> Any:
    sizes = {"hidden_sizes": [32, 64], "depths": [2, 2], "num_encoder_blocks": 2, "image_size": 32}
    return transformers.PvtModel(transformers.PvtConfig(**sizes, num_attention_heads=[1, 2]))


def masked_autoencoder() -> Any:
    config = transformers.ViTMAEConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        image_size=32, patch_size=8, decoder_hidden_size=32, decoder_num_hidden_layers=2,
        decoder_num_attention_heads=4, decoder_intermediate_size=48,
    )  # fmt: skip
    return transformers.ViTMAEModel(config).eval()


def spoiled(spoil: Callable[[Any], Any]) -> Any:
    model = tiny.model("llama")
    layer = model.model.layers[1].mlp.up_proj
    layer.weight = nn.Parameter(spoil(layer.weight), requires_grad=False)
    return model


class FullyShardedDataParallel(nn.Module):
    """Stands for that of torch, which needs several processes."""


FullyShardedDataParallel.__module__ = "torch.distributed.fsdp"


def test_models_without_a_residual_stream(snapshot: Any) -> None:
    torch.manual_seed(0)

    def of(model: Any) -> Callable[[], Any]:
        return lambda: cc.measure(Request(IDS, k=4), model=model)

    calls: Calls = {
        **{
            family: lambda family=family: trace(tiny.model(family), list(IDS), 2)
            for family in tiny.REFUSED
        },
        "no blocks": lambda: find_blocks(nn.Linear(2, 2)),
        "in stages": lambda: find_blocks(in_stages()),
        "draws at random": of(noisy()),
        "masks at random": lambda: read(masked_autoencoder(), torch.rand(1, 3, 32, 32)),
        "a weight on meta": of(spoiled(lambda w: torch.empty_like(w, device="meta"))),
        "a weight in float8": of(spoiled(lambda w: w.to(torch.float8_e4m3fn))),
        "sharded": of(FullyShardedDataParallel()),
        "an int": of(3),
        "a list": of(["gpt2"]),
    }
    assert told(calls) == snapshot


@pytest.mark.full
def test_architectures_without_a_row_a_token(snapshot: Any) -> None:
    def call(name: str) -> Callable[[], Any]:
        (found,) = [each for each in architectures.every() if each.name == name]
        model = architectures.build(found, scale=1.5)
        return lambda: cc.measure(Request(architectures.IDS, k=4), model=model)

    names = ("cpmant", "longformer", "xlnet", "gemma3n_text")
    assert told({name: call(name) for name in names}) == snapshot


# --- modules that are wrapped


def wrapped(gpt: GPT, **told: Any) -> Any:
    given = {"blocks": gpt.blocks, "final_norm": gpt.ln_f, "forward": lambda g, ids: g(ids)}
    return cc.wrap(gpt, **given | told)


def in_order(*order: int) -> GPT:
    gpt = GPT()
    gpt.order = list(order)
    return gpt


def with_norm(norm: nn.Module) -> GPT:
    gpt = GPT()
    gpt.ln_f = norm
    return gpt


class OverTokens(nn.Module):
    def forward(self, x: Any) -> Any:
        return x / x.norm(dim=1, keepdim=True)


class Dictionary(by_hand.Block):
    def forward(self, x: Any) -> Any:
        return {"x": super().forward(x["x"] if isinstance(x, dict) else x)}


class InPlace(by_hand.Block):
    def forward(self, x: Any) -> Any:
        x += self.attn(self.ln1(x))
        return x


def test_wrapped_modules_without_a_residual_stream(snapshot: Any) -> None:
    torch.manual_seed(0)
    gpt = GPT()

    def shuffled(g: GPT, ids: Any) -> Any:
        return g(ids.roll(int(torch.randint(1, 4, ()))))

    def past_the_hooks(g: GPT, ids: Any) -> Any:
        x = g.tok(ids)
        for block in g.listed:
            x = block.forward(x)
        return x

    models = {
        "skipping": wrapped(in_order(0, 2)),
        "repeating": wrapped(in_order(0, 1, 1, 2)),
        "turned round": wrapped(gpt, blocks=gpt.listed[::-1]),
        "with a gap": wrapped(gpt, blocks=[gpt.listed[0], gpt.listed[2]]),
        "past the hooks": wrapped(gpt, forward=past_the_hooks),
        "never run": wrapped(gpt, blocks=[by_hand.Block() for _ in range(3)]),
        "norm elsewhere": wrapped(gpt, final_norm=gpt.listed[0].ln1),
        "norm behind blocks left out": wrapped(gpt, blocks=gpt.blocks[:2]),
        "norm that is a map": wrapped(with_norm(nn.Linear(by_hand.WIDTH, by_hand.WIDTH))),
        "norm over tokens": wrapped(with_norm(OverTokens())),
        "dictionaries": wrapped(GPT(Dictionary), forward=lambda g, ids: [g.blocks[0](g.tok(ids))]),
        "at random": wrapped(gpt, forward=shuffled),
        "in place": wrapped(GPT(InPlace)),
        "not wrapped": gpt,
    }

    def measured(model: Any, ids: Any = IDS) -> Callable[[], Any]:
        return lambda: cc.measure(Request(ids, k=4), model=model)

    calls: Calls = {name: measured(model) for name, model in models.items()} | {
        "in training mode": lambda: cc.read(wrapped(GPT().train()), IDS),
        "an id past the vocabulary": measured(wrapped(gpt), (1, 2, 99)),
        "a text without a tokenizer": measured(wrapped(gpt), "The cat"),
    }
    assert told(calls) == snapshot


unchecked = inspect.unwrap(cc.wrap)
"""As outside the tests, where nobody checks annotations."""


def test_what_cannot_be_wrapped(snapshot: Any) -> None:
    gpt = GPT()
    given: dict[str, dict[str, Any]] = {
        "blocks empty": {"blocks": []},
        "block a list": {"blocks": [nn.ModuleList([nn.Linear(2, 2)])]},
        "block a function": {"blocks": [len]},
        "blocks a number": {"blocks": 3},
        "blocks a map": {"blocks": nn.Linear(2, 2)},
        "block twice": {"blocks": [nn.GELU()] * 2},
        "blocks of another": {"blocks": GPT().blocks},
        "norm a function": {"final_norm": torch.nn.functional.layer_norm},
        "forward a name": {"forward": "forward"},
        "forward of one": {"forward": lambda ids: ids},
    }
    calls: Calls = {
        name: lambda one=one: cc.measure(
            Request(IDS, k=4), model=unchecked(gpt, **{"blocks": gpt.blocks} | one)
        )
        for name, one in given.items()
    }
    calls["a function"] = lambda: unchecked(lambda ids: ids, blocks=[nn.GELU()])
    assert told(calls) == snapshot


# --- files


@pytest.mark.full
def test_files_that_do_not_load(snapshot: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "pickled", "damaged"):
        tiny.folder(tmp_path / name)
    (tmp_path / "pickled" / "model.safetensors").rename(tmp_path / "pickled" / "pytorch_model.bin")
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"\x10" * 100)
    (tmp_path / "other.gguf").write_bytes(b"PK\x03\x04 something else")
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF" + b"\x00" * 64)
    tiny.folder(tmp_path / "falcon", "falcon")

    def loading(model: str, **asked: Any) -> Callable[[], Any]:
        return lambda: load(resolve(Request("The cat", model=model, **asked)), "cpu")

    def repacked() -> None:
        model = loading("plain", quantize="nf4")().model
        module = next(m for m in model.modules() if weights.is_quantised(m))
        module.weight.quant_state.packing_format_for_cpu = True
        cc.measure(Request(IDS, k=4), model=model)

    calls: Calls = {
        "unknown": loading("nonsense"),
        "no folder": loading("no/such/folder"),
        "no file": loading("missing.gguf"),
        "pickled": loading("./pickled"),
        "damaged": loading("./damaged"),
        "another file": loading("./other.gguf"),
        "damaged GGUF": loading("./damaged.gguf"),
        "a revision of a folder": loading("./plain", revision="main"),
        "quantised and rounded": loading("./plain", quantize="nf4", dtype="bfloat16"),
        "quantised and untrained": loading("./plain", quantize="nf4", untrained=0),
        "nothing to quantise": loading("./falcon", quantize="nf4"),
        "repacked": repacked,
    }
    assert told(calls, tmp_path) == snapshot


# --- requests


@pytest.mark.full
def test_requests_that_contradict_a_model(snapshot: Any, tmp_path: Any) -> None:
    picture, vit = vision_models.picture(), vision_models.model("vit")
    pictures = str(vision_models.folder(tmp_path / "vit", "vit"))
    texts = str(tiny.folder(tmp_path / "llama"))
    reader = read(tiny.model("llama"), [*IDS, 3])

    def of_name(prompt: Any, **asked: Any) -> Callable[[], Any]:
        return lambda: cc.measure(Request(prompt, **asked))

    def positions(*given: Any, **asked: Any) -> Callable[[], Any]:
        return lambda: cc.couple_positions(reader, *given, **asked)

    calls: Calls = {
        **{
            next(iter(asked)): of_llama(**asked)
            for asked in (
                {"untrained": 0},
                {"quantize": "nf4"},
                {"revision": "step8"},
                {"dtype": "bfloat16"},
                {"model": "minilm-l6"},
            )
        },
        "another class": of_llama(model=OWN + "GPT2LMHeadModel"),
        "a module by its name": of_name(IDS, model=OWN + "LlamaForCausalLM"),
        "a tokenizer with a name": lambda: cc.measure(Request("x"), tokenizer=tiny.tokenizer()),
        "a variant with a name": lambda: cc.measure(Request("x"), variant="mine"),
        "a text for images": of_name("a cat", model=pictures),
        "an image for texts": of_name(picture, model=texts),
        "no image processor": lambda: cc.measure(Request(picture), model=vit),
        "a token past an image": of_name(picture, model=pictures, token=18),
        "half an image": of_name(picture[:-40], model=pictures),
        "no such kind": positions("sideways", 1, 2, 4),
        "needs a token": positions("fixed-input", 1, 2, 4),
        "fixes no token": positions("self", 1, 2, 4, token=3),
        "a token too far": positions("fixed-output", 1, 2, 4, token=8),
        "a block too far": positions("self", 5, 2, 4),
        "K too large": positions("self", 1, 2, 33),
        "K not measured": lambda: cc.score_positions(positions("self", 1, 2, 4)(), cc.View(k=5)),
    }
    assert told(calls, tmp_path) == snapshot


# --- edits and penalties


def test_edits_that_cannot_be_made(snapshot: Any) -> None:
    model = tiny.model("llama")
    ids = torch.tensor([IDS])
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values

    def under(edit: str, call: Callable[[], Any] = lambda: None) -> Callable[[], Any]:
        def run() -> None:
            with torch.no_grad(), edited(model, edit):
                call()

        return run

    calls: Calls = {
        "within another": under("skip(1)", under("skip(2)")),
        "over a cache": under("skip(1)", lambda: model(ids, past_key_values=cache)),
        "a part by itself": under("skip(1)", lambda: model.model(ids)),
        "a block too far": under("skip(9)"),
        "measured": under("skip(2)", lambda: cc.measure(IDS, model=model, store=None)),
        **{
            f"continued by {family}": lambda family=family: continued(
                as_loaded(tiny.model(family), None), list(IDS), Edit("skip", (1,)), 3
            )
            for family in ("bert", "t5")
        },
    }
    assert told(calls) == snapshot
    assert "forward" not in vars(model)


def test_penalties_that_make_no_sense(snapshot: Any) -> None:
    def llama() -> Any:
        model = tiny.model("llama").train().requires_grad_(True)
        model.config.use_cache = False
        return model

    def after(run: Callable[[Any], Any], **settings: Any) -> Callable[[], Any]:
        def call() -> None:
            model = llama()
            penalty = coupling_penalty(model, **settings)
            run(model)
            penalty()

        return call

    def evaluated(model: Any) -> None:
        model.eval()(input_ids=torch.tensor([IDS]))

    def reentrant() -> None:
        gpt = GPT().train()
        penalty = coupling_penalty(cc.wrap(gpt, blocks=gpt.blocks))
        x = gpt.tok(torch.tensor([IDS]))
        for block in gpt.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        penalty()

    calls: Calls = {
        str(wrong): lambda wrong=wrong: coupling_penalty(llama(), **wrong)
        for wrong in ({"goal": 2.0}, {"pairs": 0}, {"blocks": "2"}, {"k": 0})
    }
    calls["no pass"] = after(lambda model: None)
    calls["a pass in evaluation mode"] = after(evaluated)
    calls["reentrant checkpoints"] = reentrant
    calls["k past the width"] = after(lambda model: model(input_ids=torch.tensor([IDS])), k=10**4)
    assert told(calls) == snapshot
