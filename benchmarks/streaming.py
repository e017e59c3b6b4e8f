"""A model of 2 GB in bfloat16, streamed: its memory, and that its numbers are the resident ones.

A folder of random weights in the shape of TinyLlama-1.1B is measured in two fresh processes, with
weights memory-mapped and lent to one block at a time, and with weights upcast and resident.
"""

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from benchmarks import common
from coupling_core import Request, measure
from coupling_core.engine.loading import load
from coupling_core.sources.resolved import resolve

SHAPE = {
    "d": 2048,
    "blocks": 22,
    "intermediate_size": 5632,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
}
QUICK = {"d": 32, "blocks": 3}
TOKENS = 16
ALLOWED = 700_000_000
"""Bytes of anonymous memory that a streamed run may hold beyond one block and its Jacobian: the
libraries take 300 MB of them."""
ARRAYS = ("singular_values", "diagonal", "off_diagonal", "matrices", "angles", "chance")
MODES = ("streamed", "resident")


def build(folder: str, quick: bool) -> None:
    """Write random bfloat16 weights, in shards, and a tokenizer."""
    model = common.llama(**QUICK if quick else SHAPE).to(torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="500MB")
    words = Tokenizer(WordLevel({"a": 0}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)


def run(folder: str, mode: str, k: int) -> common.Run:
    """Load in one mode; what it gives measures, and leaves the arrays in the folder."""
    request = Request(tuple(range(1, TOKENS + 1)), model=folder, k=k)
    loaded = load(resolve(request), "cpu", streamed=mode == "streamed")
    own = Request(request.prompt, k=k)
    return partial(_measure, own, loaded.model, Path(folder, f"{mode}.npz"))


def _measure(request: Request, model: torch.nn.Module, out: Path) -> None:
    result = measure(request, model=model, device="cpu")
    certified = all(certificate.certified for certificate in result.certificates)
    arrays = {name: getattr(result, name) for name in ARRAYS}
    np.savez(out, seconds=result.provenance["seconds"], certified=certified, **arrays)


def collect(quick: bool) -> common.Results:
    """Build, measure both ways, compare; nothing is left behind."""
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own, whose memory goes back.
        code = f"from benchmarks.streaming import build; build({folder!r}, {quick})"
        subprocess.run([sys.executable, "-c", code], cwd=common.ROOT, check=True)
        weights = sum(file.stat().st_size for file in Path(folder).glob("*.safetensors"))
        k = 8 if quick else 50
        memory = {
            mode: common.fresh_process_peak(__name__, "run", folder=folder, mode=mode, k=k)
            for mode in MODES
        }
        streamed, resident = (np.load(Path(folder, f"{mode}.npz")) for mode in MODES)
        same = all(np.array_equal(streamed[n], resident[n], equal_nan=True) for n in ARRAYS)
        certified = bool(streamed["certified"] and resident["certified"])
        seconds = {"streamed": float(streamed["seconds"]), "resident": float(resident["seconds"])}
    with torch.device("meta"):
        bare = common.llama(**QUICK if quick else SHAPE)
    block = 4 * sum(parameter.numel() for parameter in bare.model.layers[0].parameters())
    jacobian = 4 * bare.config.hidden_size**2
    return {
        "weights": weights,
        "block": block,
        "jacobian": jacobian,
        "allowed": block + jacobian + ALLOWED,
        "identical": same,
        "certified": certified,
        "seconds": seconds,
        "memory": memory,
    }


def summary(results: common.Results) -> common.Rows:
    """Peak of the streamed run beside what it may be, and beside the resident one's."""
    streamed, resident = (results["memory"][mode]["peak"] for mode in MODES)
    what = f"anonymous memory of a streamed run, {results['weights'] / 1e9:.1f} GB of weights"
    if streamed is None:
        return []
    same = "identical results" if results["identical"] else "OTHER RESULTS"
    said = (
        f"{streamed / 1e6:.0f} MB (one block in float32, its Jacobian and 700 MB are "
        f"{results['allowed'] / 1e6:.0f}); resident {resident / 1e6:.0f} MB, {same}"
    )
    return [(what, said)]
