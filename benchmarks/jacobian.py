"""One block's Jacobian at one token: ours, torch.func over the full sequence, the released way.

Its cost by formula are the products of the backward chain through one token, the identity as its
seed included: 2 d (entries of the block's matrices) operations. `fraction` is count / time / GEMM
peak. It may exceed 1, since the engine multiplies less: `multiplied`, counted product by product.
"""

from functools import partial
from typing import Any

import torch
from torch.func import jacrev

from benchmarks import common
from coupling_core.engine import reference
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import find_blocks

LENGTHS = {10: 3, 64: 2, 256: 1, 1024: 0}
"""Tokens: on how many blocks the peers run too."""
QUICK = {6: 1, 12: 0}
ROUNDS, PEER_ROUNDS = 5, 3


def compare(quick: bool, length: int, peers: int) -> common.Results:
    """One prompt length."""
    model, ids = common.model_and_ids(quick, length)
    rounds = 1 if quick else ROUNDS
    prefill = common.interleaved({"trace": partial(trace, model, ids, length)}, rounds)["trace"]
    blocks = trace(model, ids, length).blocks
    found = {"tokens": length, "prefill": prefill} | ours(blocks, rounds)
    if peers:
        found["peers"] = _peers(model, ids, blocks, peers, 1 if quick else PEER_ROUNDS)
    return found


def ours(blocks: list[Block], rounds: int, device: str = "cpu") -> common.Results:
    """Seconds; operations by formula and as multiplied, and what parts of the peak both are."""
    runs = {str(block.number): partial(block_jacobian, block) for block in blocks}
    times = common.interleaved(runs, rounds, device=device)
    gemm = times.pop("gemm")
    taken = common.median_of(times.values())
    entries = sum(p.numel() for p in blocks[0].module.parameters() if p.ndim > 1)
    count = 2 * blocks[0].state.numel() * entries
    with common.Operations() as multiplied:
        block_jacobian(blocks[0])
    at_peak = taken["wall"] * gemm["gflops"] * 1e9
    return {
        "ours": taken,
        "gemm": gemm,
        "operations": count,
        "multiplied": multiplied.total,
        "fraction": count / at_peak,
        "fraction_multiplied": multiplied.total / at_peak,
    }


def _peers(
    model: Any, ids: list[int], blocks: list[Block], count: int, rounds: int
) -> common.Results:
    """Ours and both peers, interleaved, on blocks from the middle of the model."""
    first = (len(blocks) - count) // 2
    states = reference.released_states(model, ids)
    runs: dict[str, common.Run] = {}
    for at in range(first, first + count):
        runs[f"ours {at}"] = partial(block_jacobian, blocks[at])
        runs[f"func {at}"] = partial(func_jacobian, model, ids, at)
        runs[f"released {at}"] = partial(
            reference.released_jacobian, *states[at : at + 2], reference.RELEASED_BATCH
        )
    times = common.interleaved(runs, rounds, warm_up=False)
    found = {
        name: common.median_of(times[run] for run in runs if run.startswith(name))
        for name in ("ours", "func", "released")
    }
    ratios = {name: common.ratio(found[name], found["ours"]) for name in ("func", "released")}
    return found | {"blocks": count, "ratio": ratios, "gemm": times["gemm"]}


def func_jacobian(model: Any, ids: list[int], at: int) -> torch.Tensor:
    """The block over the full sequence, its last token by every token, by torch.func."""
    module = find_blocks(model)[at]
    args, kwargs = reference.arguments(model, module, {"input_ids": torch.tensor([ids])})

    def last(X: torch.Tensor) -> torch.Tensor:
        Y = module(X, *args[1:], **kwargs)
        return (Y if isinstance(Y, torch.Tensor) else Y[0])[0, -1]

    batch = max(1, reference.RELEASED_BATCH // len(ids))
    J = jacrev(last, chunk_size=batch)(args[0])[:, 0, -1]
    return J - torch.eye(len(J))


def collect(quick: bool) -> common.Results:
    """Every length, on one thread."""
    with common.threads(1):
        lengths = (QUICK if quick else LENGTHS).items()
        return {"rows": [compare(quick, length, peers) for length, peers in lengths]}


def summary(results: common.Results) -> common.Rows:
    """Every length, with the growth over the first."""
    rows = results["rows"]
    return [(f"one block's Jacobian, {r['tokens']} tokens, 1 thread", _said(r, rows)) for r in rows]


def words(found: common.Results) -> str:
    """What `ours` found."""
    return (
        f"{1e3 * found['ours']['wall']:.1f} ms; {found['operations'] / 1e9:.2f} GFLOP by formula "
        f"at {found['fraction']:.0%} of the {common.peak_words(found['gemm'])}; "
        f"{found['multiplied'] / 1e9:.2f} multiplied at {found['fraction_multiplied']:.0%}"
    )


def _said(row: common.Results, rows: list[common.Results]) -> str:
    said = [words(row)]
    if row is not rows[0]:
        growth = row["ours"]["wall"] / rows[0]["ours"]["wall"]
        said.append(f"{growth:.2f} times that of {rows[0]['tokens']} tokens")
    if peers := row.get("peers"):
        for name, word in (("func", "torch.func"), ("released", "the released way")):
            said.append(f"{peers['ratio'][name]['cpu']:.0f} times less CPU than {word}")
    return "; ".join([*said, f"prefill {row['prefill']['wall']:.2f} s"])
