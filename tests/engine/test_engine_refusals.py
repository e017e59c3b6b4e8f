"""What the engine refuses, and how each refusal reads: `--snapshot-update` writes them anew.

That nothing is stored, and that weights and hooks stay as they were, is tested where it matters.
"""

import re
from dataclasses import replace

import by_hand
import numpy as np
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
from coupling_core.engine.loading import as_loaded, find_blocks, load
from coupling_core.engine.loading.convert import require_shipped
from coupling_core.engine.passport import Passport, passport_of, plain, sketch
from coupling_core.engine.penalty import coupling_penalty
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import resolve

IDS = (3, 17, 42, 9, 8, 1)
CHANGING = (
    (r"(differ|off) by \S+", r"\1 by ..."),  # what was drawn
    (r"(cut short|holds none|fails with \w+) \([^)]*\)", r"\1 (...)"),  # words of libraries
    (r"does not load: .*", "does not load: ..."),
)
"""What is another from time to time, and how it stands in a snapshot."""


def told(calls, *places):
    """What each call is refused with, but for what changes."""
    found = refusals(calls, *places, sorts=cc.CouplingError)
    for pattern, instead in CHANGING:
        found = {name: re.sub(pattern, instead, words) for name, words in found.items()}
    return found


def measuring(model, ids=IDS, /, **asked):
    return lambda: cc.measure(Request(ids, k=4, **asked), model=model)


def in_stages():
    sizes = {"hidden_sizes": [32, 64], "depths": [2, 2], "num_encoder_blocks": 2, "image_size": 32}
    return transformers.PvtModel(transformers.PvtConfig(**sizes, num_attention_heads=[1, 2]))


def spoiled(spoil):
    model = tiny.model("llama")
    layer = model.model.layers[1].mlp.up_proj
    layer.weight = nn.Parameter(spoil(layer.weight), requires_grad=False)
    return model


def architecture(name, scale=1.5):
    return architectures.build(name, scale=scale)


class FullyShardedDataParallel(nn.Module):
    """Stands for that of torch, which needs several processes."""


FullyShardedDataParallel.__module__ = "torch.distributed.fsdp"


def test_models_without_a_residual_stream(snapshot):
    calls = {
        "swin": lambda: trace(tiny.model("swin"), list(IDS), 2),
        "no blocks": lambda: find_blocks(nn.Linear(2, 2)),
        "in stages": lambda: find_blocks(in_stages()),
        "a weight on meta": measuring(spoiled(lambda w: torch.empty_like(w, device="meta"))),
        "a weight in float8": measuring(spoiled(lambda w: w.to(torch.float8_e4m3fn))),
        "sharded": measuring(FullyShardedDataParallel()),
        "rows that are padded": measuring(architecture("longformer"), architectures.IDS),
        "four streams": measuring(architecture("gemma3n_text"), architectures.IDS),
        "gradients that are estimates": measuring(
            architecture("yoso", 0.2), architectures.IDS, token=1
        ),
        "a list": measuring(["gpt2"]),
    }
    assert told(calls) == snapshot


def wrapped(gpt, **told):
    given = {"blocks": gpt.blocks, "final_norm": gpt.ln_f, "forward": lambda g, ids: g(ids)}
    return cc.wrap(gpt, **given | told)


def gpt_with(**attributes):
    gpt = GPT()
    for name, value in attributes.items():
        setattr(gpt, name, value)
    return gpt


class OverTokens(nn.Module):
    def forward(self, x):
        return x / x.norm(dim=1, keepdim=True)


class Dictionary(by_hand.Block):
    def forward(self, x):
        return {"x": super().forward(x["x"] if isinstance(x, dict) else x)}


class WithoutName(by_hand.Block):
    def forward(self, x):
        x.add_(self.attn(self.ln1(x)))
        return x


def shuffled(g, ids):
    return g(ids.roll(int(torch.randint(1, 4, ()))))


def past_the_hooks(g, ids):
    x = g.tok(ids)
    for block in g.listed:
        x = block.forward(x)
    return x


def test_wrapped_modules_without_a_residual_stream(snapshot):
    torch.manual_seed(0)
    gpt = GPT()
    a_map = nn.Linear(by_hand.WIDTH, by_hand.WIDTH)
    models = {
        "skipping": wrapped(gpt_with(order=[0, 2])),
        "repeating": wrapped(gpt_with(order=[0, 1, 1, 2])),
        "turned round": wrapped(gpt, blocks=gpt.listed[::-1]),
        "with a gap": wrapped(gpt, blocks=[gpt.listed[0], gpt.listed[2]]),
        "past the hooks": wrapped(gpt, forward=past_the_hooks),
        "never run": wrapped(gpt, blocks=[by_hand.Block() for _ in range(3)]),
        "norm elsewhere": wrapped(gpt, final_norm=gpt.listed[0].ln1),
        "norm behind blocks left out": wrapped(gpt, blocks=gpt.blocks[:2]),
        "norm that is a map": wrapped(gpt_with(ln_f=a_map)),
        "norm over tokens": wrapped(gpt_with(ln_f=OverTokens())),
        "dictionaries": wrapped(GPT(Dictionary), forward=lambda g, ids: [g.blocks[0](g.tok(ids))]),
        "at random": wrapped(gpt, forward=shuffled),
        "in place, by another way": wrapped(GPT(WithoutName)),
        "not wrapped": gpt,
    }
    calls = {name: measuring(model) for name, model in models.items()} | {
        "in training mode": lambda: read(wrapped(GPT().train()), IDS),
        "an id past the vocabulary": measuring(wrapped(gpt), (1, 2, 99)),
        "a text without a tokenizer": measuring(wrapped(gpt), "The cat"),
        "no blocks": lambda: wrapped(gpt, blocks=[]),
        "a block that is a list": lambda: wrapped(gpt, blocks=[nn.ModuleList([gpt.ln_f])]),
        "a block that is a function": lambda: wrapped(gpt, blocks=[len]),
        "a block twice": lambda: wrapped(gpt, blocks=[gpt.blocks[0]] * 2),
        "blocks by name": lambda: wrapped(gpt, blocks="gpt.blocks"),
        "blocks of another": lambda: measuring(wrapped(gpt, blocks=GPT().blocks))(),
    }
    assert told(calls) == snapshot


@pytest.mark.full
def test_files_that_do_not_load(snapshot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "pickled", "damaged"):
        tiny.folder(tmp_path / name)
    (tmp_path / "pickled" / "model.safetensors").rename(tmp_path / "pickled" / "pytorch_model.bin")
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"\x10" * 100)
    (tmp_path / "other.gguf").write_bytes(b"PK\x03\x04 something else")
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF" + b"\x00" * 64)
    tiny.folder(tmp_path / "falcon", "falcon")

    shipped = locate(Request("The cat", model="smollm2-135m"))
    passport = plain(Passport(sketch(np.arange(99.0)), None, "sdpa", "", "AVX2", "MKL"))
    few = passport["states"] | {"sums": [1.0, 2.0]}

    def loading(model, **asked):
        return lambda: load(resolve(Request("The cat", model=model, **asked)), "cpu")

    calls = {
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
        "no package": lambda: require_shipped(replace(shipped, location="gone.gguf")),
        "no passport": lambda: passport_of({"passport": passport | {"logits": 7}}),
        "a passport cut short": lambda: passport_of({"passport": passport | {"states": few}}),
        "another package": lambda: require_shipped(replace(shipped, location="damaged.gguf")),
    }
    assert told(calls, tmp_path) == snapshot


@pytest.mark.full
def test_requests_that_contradict_a_model(snapshot, tmp_path):
    picture, vit = vision_models.picture(), vision_models.model("vit")
    pictures = str(vision_models.folder(tmp_path / "vit", "vit"))
    texts, llama = str(tiny.folder(tmp_path / "llama")), tiny.model("llama")

    def of_name(prompt, **asked):
        return lambda: cc.measure(Request(prompt, **asked))

    calls = {
        "untrained": measuring(llama, untrained=0),
        "quantize": measuring(llama, quantize="nf4"),
        "revision": measuring(llama, revision="step8"),
        "dtype": measuring(llama, dtype="bfloat16"),
        "model": measuring(llama, model="minilm-l6"),
        "another class": measuring(llama, model=OWN + "GPT2LMHeadModel"),
        "a module by its name": of_name(IDS, model=OWN + "LlamaForCausalLM"),
        "a tokenizer with a name": lambda: cc.measure(Request("x"), tokenizer=tiny.tokenizer()),
        "a variant with a name": lambda: cc.measure(Request("x"), variant="mine"),
        "a text for images": of_name("a cat", model=pictures),
        "an image for texts": of_name(picture, model=texts),
        "no image processor": lambda: cc.measure(Request(picture), model=vit),
        "a token past an image": of_name(picture, model=pictures, token=18),
        "half an image": of_name(picture[:-40], model=pictures),
        "a token too far": measuring(llama, kind="fixed-output", token=8),
        "a block too far": measuring(llama, kind="self", block=5),
        "K too large": lambda: cc.measure(IDS, model=llama, kind="self", k=33),
    }
    assert told(calls, tmp_path) == snapshot


def test_edits_that_cannot_be_made(snapshot):
    model, ids = tiny.model("llama"), torch.tensor([IDS])
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values

    def under(edit, call=lambda: None):
        def run():
            with torch.no_grad(), edited(model, edit):
                call()

        return run

    def going_on(family):
        of = as_loaded(tiny.model(family), None)
        return lambda: continued(of, list(IDS), Edit("skip", (1,)), 3)

    calls = {
        "within another": under("skip(1)", under("skip(2)")),
        "over a cache": under("skip(1)", lambda: model(ids, past_key_values=cache)),
        "a part by itself": under("skip(1)", lambda: model.model(ids)),
        "a block too far": under("skip(9)"),
        "measured": under("skip(2)", lambda: cc.measure(IDS, model=model, store=None)),
        "continued by bert": going_on("bert"),
        "continued by t5": going_on("t5"),
        "continued into nothing": lambda: continued(
            as_loaded(spoiled(lambda w: w * torch.nan), None), list(IDS), Edit("skip", (1,)), 3
        ),
    }
    assert told(calls) == snapshot
    assert "forward" not in vars(model)


def test_penalties_that_make_no_sense(snapshot):
    model, ids = tiny.model("llama").train().requires_grad_(True), torch.tensor([IDS])
    model.config.use_cache = False

    def after(run, valid=None, **settings):
        def call():
            penalty = coupling_penalty(model.train(), **settings)
            run()
            penalty(valid)

        return call

    def reentrant():
        gpt = GPT().train()
        penalty = coupling_penalty(cc.wrap(gpt, blocks=gpt.blocks))
        x = gpt.tok(ids)
        for block in gpt.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        penalty()

    calls = {
        str(wrong): lambda wrong=wrong: coupling_penalty(model, **wrong)
        for wrong in ({"goal": 2.0}, {"pairs": 0}, {"blocks": "2"}, {"k": 0})
    }
    calls["no pass"] = after(lambda: None)
    calls["a pass in evaluation mode"] = after(lambda: model.eval()(ids))
    calls["no token counts"] = after(lambda: model(ids), torch.zeros_like(ids))
    calls["k past the width"] = after(lambda: model(ids), k=10**4)
    calls["reentrant checkpoints"] = reentrant
    assert told(calls) == snapshot
