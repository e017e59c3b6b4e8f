"""The shapes of large models on a GPU: accuracy, time, memory, and the released way beside it.

Random weights in the shapes of published models, built on the device from their configurations.
Errors are of whole Jacobians against float64, relative, in norm: of the first blocks, traced from
the same token ids. A 70B shape is measured a block at a time from bfloat16 weights in main memory;
its blocks share one block's weights there, so that they fit anywhere and are still moved each time.
"""

import copy
import itertools
import sys
import time
from functools import partial
from statistics import median
from typing import Any

import torch
import transformers

from benchmarks import common, jacobian
from coupling_core import Request, measure
from coupling_core.engine import hardware, reference
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import find_blocks, in_float32
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.svd import top_svd

TOKENS = 64
BLOCKS = 3
"""On which errors and times of single blocks are taken."""
ROUNDS = 5
PEER_SECONDS = 15
PEER_BATCH = 2**14  # tokens times rows at once: a GPU is not filled by what suits a CPU
_LLAMA = {"num_key_value_heads": 8, "vocab_size": 1000, "rope_theta": 500000.0}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama-3-8B": (
        "Llama",
        _LLAMA
        | {"hidden_size": 4096, "intermediate_size": 14336}
        | {"num_hidden_layers": 32, "num_attention_heads": 32},
    ),
    "Pythia-12B": (
        "GPTNeoX",
        {"hidden_size": 5120, "intermediate_size": 20480, "vocab_size": 1000}
        | {"num_hidden_layers": 36, "num_attention_heads": 40},
    ),
}
LARGE = (
    "Llama",
    _LLAMA
    | {"hidden_size": 8192, "intermediate_size": 28672}
    | {"num_hidden_layers": 80, "num_attention_heads": 64},
)
_TINY = {"hidden_size": 40, "intermediate_size": 64, "num_attention_heads": 2, "vocab_size": 100}
TINY = ("Llama", _TINY | {"num_hidden_layers": 4, "num_key_value_heads": 1})


def build(
    shape: tuple[str, dict[str, Any]], device: str, dtype: torch.dtype, **changes: Any
) -> Any:
    """A model of a shape with random weights, on the device."""
    family, options = shape
    config = getattr(transformers, f"{family}Config")(**options | changes)
    kind = getattr(transformers, f"{family}ForCausalLM")
    with torch.device(device):
        return common.drawn(lambda: kind._from_config(config, dtype=dtype))


def accuracy(shape: tuple[str, dict[str, Any]], device: str, ids: list[int]) -> common.Results:
    """Errors of float32 and TF32 Jacobians against float64 on the first blocks."""
    model = build(shape, device, torch.float32, num_hidden_layers=BLOCKS)
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
    runs = {str(block.number): partial(block_jacobian, block) for block in blocks}
    times = common.interleaved(runs, ROUNDS, device=device)
    J = block_jacobian(blocks[0])
    svds = {str(k): partial(top_svd, J, k) for k in _sizes(len(J))}
    seconds = median(times[name]["wall"] for name in runs)
    count, peak = jacobian.operations(blocks[0]), times["gemm"]["gflops"] * 1e9
    with common.Operations() as multiplied:
        block_jacobian(blocks[0])
    released = []
    for before, after in itertools.pairwise(reference.released_states(model, ids)):
        run = partial(reference.released_jacobian, before, after, PEER_BATCH)
        released.append(common.timed(run)[0])
        if sum(released) > PEER_SECONDS:
            break
    return {
        "seconds": seconds,
        "svd_seconds": {k: common.timed(run)[0] for k, run in svds.items()},
        "gemm": times["gemm"],
        "operations": count,
        "fraction": count / seconds / peak,
        "multiplied": multiplied.total,
        "fraction_multiplied": multiplied.total / seconds / peak,
        "released_seconds": median(released),
        "released_blocks": len(released),
    }


def whole(model: Any, device: str, ids: list[int], k: int) -> common.Results:
    """A depth-wise measurement with its peak memory."""
    _reset_peak(device)
    start = time.perf_counter()
    result = measure(Request(tuple(ids), k=k), model=model)
    seconds = time.perf_counter() - start
    peak = hardware.peak_memory(torch.device(device))
    return {"k": k, "seconds": seconds, "peak_bytes": peak, "certified": result.certified}


def streamed(
    shape: tuple[str, dict[str, Any]], device: str, ids: list[int], k: int
) -> common.Results:
    """Depth-wise, each block lent from main memory: what `measure` does, from shared weights."""
    model = _sharing(shape)
    place = torch.device(device)
    stages: dict[str, list[float]] = {"jacobian": [], "svd": [], "pairs": []}
    _reset_peak(device)
    start = time.perf_counter()
    with in_float32(model, place):
        blocks = trace(model, ids, len(ids), device=place).blocks
        traced = time.perf_counter() - start
        pairs = Pairs(len(blocks), blocks[0].state.numel(), k, min(k, 32), place)
        kept: list[Any] = [None, None]
        for block in blocks:
            steps = {
                "jacobian": lambda block=block: kept.__setitem__(0, block_jacobian(block)),
                "svd": lambda: kept.__setitem__(1, top_svd(kept[0], k)),
                "pairs": lambda: pairs.add(*kept),
            }
            for name, run in steps.items():
                stages[name].append(common.timed(run)[0])
        pairs.angles()
    return {
        "blocks": len(blocks),
        "k": k,
        "seconds": time.perf_counter() - start,
        "trace_seconds": traced,
        "block_seconds": {name: median(walls) for name, walls in stages.items()},
        "peak_bytes": hardware.peak_memory(place),
        "certified": all(each.certified for each in pairs.arrays()["certificates"]),
    }


def _sharing(shape: tuple[str, dict[str, Any]]) -> Any:
    """A model in main memory whose blocks are different modules with the same bfloat16 weights."""
    count = shape[1]["num_hidden_layers"]
    model = build(shape, "cpu", torch.bfloat16, num_hidden_layers=1)
    blocks = find_blocks(model)
    shared = {id(tensor): tensor for tensor in blocks[0].parameters()}
    for number in range(1, count):
        block = copy.deepcopy(blocks[0], dict(shared))
        block.self_attn.layer_idx = number
        blocks.append(block)
    model.config.num_hidden_layers = count
    return model


def _reset_peak(device: str) -> None:
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def collect(quick: bool, device: str = "cuda") -> common.Results | None:
    """Every shape; None without CUDA."""
    if device == "cuda" and not torch.cuda.is_available():
        sys.stdout.write("gpu: no CUDA device is here, so nothing is measured\n")
        return None
    shapes, large, tokens = ({"tiny": TINY}, TINY, 6) if quick else (SHAPES, LARGE, TOKENS)
    ids = list(range(1, tokens + 1))
    found = {}
    for name, shape in shapes.items():
        _say(f"{name}: accuracy")
        errors = accuracy(shape, device, ids)
        _say(f"{name}: one block")
        model = build(shape, device, torch.float32)
        block = one_block(model, device, ids)
        found[name] = {"errors": errors, "block": block, "depth": []}
        for k in _sizes(shape[1]["hidden_size"]):
            _say(f"{name}: all pairs, K = {k}")
            found[name]["depth"].append(whole(model, device, ids, k))
        del model
    _say("streamed")
    k = _sizes(large[1]["hidden_size"])[0]
    return {"tokens": tokens, "shapes": found, "streamed": streamed(large, device, ids, k)}


def _sizes(d: int) -> tuple[int, int]:
    """K by default, and a tenth of the width."""
    return min(50, d), max(1, d // 10)


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def summary(results: common.Results) -> common.Rows:
    """For each shape its block, its accuracy, its measurements; the streamed shape."""
    rows = []
    for name, found in results["shapes"].items():
        block, tokens = found["block"], results["tokens"]
        times_faster = block["released_seconds"] / block["seconds"]
        said = (
            f"{1e3 * block['seconds']:.0f} ms; {block['operations'] / 1e12:.2f} TFLOP by formula, "
            f"{block['fraction']:.0%} of the GEMM peak ({block['gemm']['gflops'] / 1e3:.1f} "
            f"TFLOP/s); multiplied {block['multiplied'] / 1e12:.2f}, "
            f"{block['fraction_multiplied']:.0%}; "
            f"{times_faster:.0f} times faster than the released way"
        )
        rows.append((f"{name} shape, one block's Jacobian, {tokens} tokens", said))
        walls = ", ".join(f"K = {k} {wall:.1f} s" for k, wall in block["svd_seconds"].items())
        rows.append((f"{name} shape, SVD of one Jacobian with its certificate", walls))
        errors = ", ".join(f"{kind} {max(of):.1e}" for kind, of in found["errors"].items())
        rows.append((f"{name} shape, worst error of a Jacobian against float64", errors))
        rows += [
            (f"{name} shape, all pairs, K = {one['k']}", _measured(one)) for one in found["depth"]
        ]
    if (one := results.get("streamed")) is None:  # the machine was lent for less long than it takes
        return rows
    what = f"70B shape, {one['blocks']} blocks lent from main memory, K = {one['k']}"
    return [*rows, (what, _measured(one))]


def _measured(one: common.Results) -> str:
    sound = "certified" if one["certified"] else "not certified"
    return f"{one['seconds']:.0f} s, peak {one['peak_bytes'] / 1e9:.1f} GB, {sound}"
