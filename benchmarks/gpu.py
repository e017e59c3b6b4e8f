"""The shapes of large models on a GPU, random weights: time, memory, and the released way."""

import itertools
import sys
import time
from functools import partial
from statistics import median
from typing import Any

import torch

from benchmarks import common, jacobian
from coupling_core import Request, measure
from coupling_core.engine import hardware, reference
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.pairs.svd import top_svd

TOKENS = 64
BLOCKS = 3
"""On which times of single blocks are taken."""
ROUNDS = 5
PEER_SECONDS = 15
PEER_BATCH = 2**14  # tokens times rows at once: a GPU is not filled by what suits a CPU
SHAPES: dict[str, dict[str, Any]] = {
    "Llama-3-8B": {
        "name": "LlamaForCausalLM", "vocab_size": 1000, "rope_theta": 500000.0,
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8,
    },
    "Pythia-12B": {
        "name": "GPTNeoXForCausalLM", "vocab_size": 1000,
        "hidden_size": 5120, "intermediate_size": 20480, "num_hidden_layers": 36,
        "num_attention_heads": 40,
    },
}  # fmt: skip
TINY = {
    "name": "LlamaForCausalLM", "vocab_size": 100,
    "hidden_size": 40, "intermediate_size": 64, "num_hidden_layers": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1,
}  # fmt: skip


def one_block(model: Any, device: str, ids: list[int]) -> common.Results:
    """Seconds a Jacobian, its part of the peak, and the released way on what a minute takes."""
    blocks = trace(model, ids, len(ids)).blocks[:BLOCKS]
    J = block_jacobian(blocks[0])
    svds = {str(k): common.timed(partial(top_svd, J, k))[0] for k in _sizes(len(J))}
    released = []
    for before, after in itertools.pairwise(reference.released_states(model, ids)):
        run = partial(reference.released_jacobian, before, after, PEER_BATCH)
        released.append(common.timed(run)[0])
        if sum(released) > PEER_SECONDS:
            break
    found = jacobian.ours(blocks, ROUNDS, device)
    return found | {"svd_seconds": svds, "released_seconds": median(released)}


def whole(model: Any, device: str, ids: list[int], k: int) -> common.Results:
    """A depth-wise measurement with its peak memory."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    result = measure(Request(tuple(ids), k=k), model=model)
    seconds = time.perf_counter() - start
    peak = hardware.peak_memory(torch.device(device))
    return {"k": k, "seconds": seconds, "peak_bytes": peak, "certified": result.certified}


def _sizes(d: int) -> tuple[int, int]:
    """K by default, and a tenth of the width."""
    return min(50, d), max(1, d // 10)


def collect(quick: bool, device: str = "cuda") -> common.Results:
    """Every shape."""
    if device == "cuda" and not torch.cuda.is_available():
        raise common.LackingError("no CUDA device is here")
    shapes, tokens = ({"tiny": TINY}, 6) if quick else (SHAPES, TOKENS)
    ids = list(range(1, tokens + 1))
    found = {}
    for name, shape in shapes.items():
        sys.stdout.write(f"{name}\n")
        model = common.random_model(device=device, **shape)
        block = one_block(model, device, ids)
        depth = [whole(model, device, ids, k) for k in _sizes(shape["hidden_size"])]
        found[name] = {"block": block, "depth": depth}
        del model
    return {"tokens": tokens, "shapes": found}


def summary(results: common.Results) -> common.Rows:
    """For each shape its block, its decomposition, its measurements."""
    rows = []
    for name, found in results["shapes"].items():
        block = found["block"]
        times_faster = block["released_seconds"] / block["ours"]["wall"]
        said = f"{jacobian.words(block)}; {times_faster:.0f} times faster than the released way"
        what = f"{name} shape, one block's Jacobian, {results['tokens']} tokens"
        rows.append((what, said))
        walls = ", ".join(f"K = {k} {wall:.1f} s" for k, wall in block["svd_seconds"].items())
        rows.append((f"{name} shape, SVD of one Jacobian with its certificate", walls))
        for one in found["depth"]:
            sound = "certified" if one["certified"] else "not certified"
            said = f"{one['seconds']:.0f} s, peak {one['peak_bytes'] / 1e9:.1f} GB, {sound}"
            rows.append((f"{name} shape, all pairs, K = {one['k']}", said))
    return rows
