"""The shapes of large models on a GPU: accuracy, time, memory, and the released way beside it.

Random weights in the shapes of published models, built on the device. Errors are of whole Jacobians
against float64, relative, in norm: of the first blocks, traced from the same token ids.
"""

import itertools
import sys
import time
from functools import partial
from statistics import median
from typing import Any

import torch

from benchmarks import common
from benchmarks.jacobian import ours
from coupling_core import Request, measure
from coupling_core.engine import hardware, reference
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.pairs.svd import top_svd

TOKENS = 64
BLOCKS = 3
"""On which errors and times of single blocks are taken."""
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


def accuracy(shape: dict[str, Any], device: str, ids: list[int]) -> common.Results:
    """Errors of float32 and TF32 Jacobians against float64 on the first blocks."""
    model = common.random_model(device=device, **shape | {"num_hidden_layers": BLOCKS})
    found = {"float32": _jacobians(model, ids)}
    torch.set_float32_matmul_precision("high")
    try:
        found["tf32"] = _jacobians(model, ids)
    finally:
        torch.set_float32_matmul_precision("highest")
    with true_float64.TrueFloat64():
        true = _jacobians(model.double(), ids)
    return {
        name: [float((J - T).norm() / T.norm()) for J, T in zip(of, true, strict=True)]
        for name, of in found.items()
    }


def _jacobians(model: Any, ids: list[int]) -> list[torch.Tensor]:
    return [block_jacobian(block) for block in trace(model, ids, len(ids)).blocks]


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
    found = ours(blocks, ROUNDS, device)
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
        errors = accuracy(shape, device, ids)
        model = common.random_model(device=device, **shape)
        block = one_block(model, device, ids)
        depth = [whole(model, device, ids, k) for k in _sizes(shape["hidden_size"])]
        found[name] = {"errors": errors, "block": block, "depth": depth}
        del model
    return {"tokens": tokens, "shapes": found}


def summary(results: common.Results) -> common.Rows:
    """For each shape its block, its accuracy, its measurements."""
    rows = []
    for name, found in results["shapes"].items():
        block, tokens = found["block"], results["tokens"]
        seconds = block["ours"]["wall"]
        said = (
            f"{1e3 * seconds:.0f} ms; {block['operations'] / 1e12:.2f} TFLOP by formula, "
            f"{block['fraction']:.0%} of the GEMM peak ({block['gemm']['gflops'] / 1e3:.1f} "
            f"TFLOP/s); multiplied {block['multiplied'] / 1e12:.2f}, "
            f"{block['fraction_multiplied']:.0%}; "
            f"{block['released_seconds'] / seconds:.0f} times faster than the released way"
        )
        rows.append((f"{name} shape, one block's Jacobian, {tokens} tokens", said))
        walls = ", ".join(f"K = {k} {wall:.1f} s" for k, wall in block["svd_seconds"].items())
        rows.append((f"{name} shape, SVD of one Jacobian with its certificate", walls))
        errors = ", ".join(f"{kind} {max(of):.1e}" for kind, of in found["errors"].items())
        rows.append((f"{name} shape, worst error of a Jacobian against float64", errors))
        for one in found["depth"]:
            sound = "certified" if one["certified"] else "not certified"
            said = f"{one['seconds']:.0f} s, peak {one['peak_bytes'] / 1e9:.1f} GB, {sound}"
            rows.append((f"{name} shape, all pairs, K = {one['k']}", said))
    return rows
