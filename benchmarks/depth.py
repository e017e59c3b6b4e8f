"""All pairs of SmolLM2's blocks at K = 50, Jacobians and SVDs included: ours and the released way.

Ours is `measure` without a store and with the model loaded; the released algorithm is that of
`coupling_core.reference` as its package runs it, with gradients in four batches and the scores of A
and of B. `fastest` is the same with gradients in the batches that suit this processor best, timed
on a few blocks and scaled to all, which have one shape. On one thread each stage is held against
the bare products of its shapes too (`benchmarks.stages`).
"""

from functools import partial

import torch

from benchmarks import common, stages
from coupling_core import Request, measure
from coupling_core.engine import reference

LENGTHS = {1: (10, 64, 256, 1024), 2: (10, 64, 256, 1024)}
"""Threads, then tokens."""
QUICK = {1: (6, 12), 2: (6,)}
PEER_UP_TO = {1: 64, 2: 10}
"""Threads, then the most tokens for which the released way takes less than some minutes."""
ROUNDS = 3
FEW = 3
"""Blocks on which its fastest batches are timed."""
STAGES = (10, 64, 256)
"""Tokens of the prompts whose stages are held against their limits."""


def compare(quick: bool, length: int, peer: bool) -> common.Results:
    """One prompt length on the present number of threads."""
    model, ids = common.model_and_ids(quick, length)
    n_blocks, k = model.config.num_hidden_layers, 3 if quick else 50
    request = Request(tuple(ids), k=k)
    own = {"model": model} if quick else {"device": "cpu"}
    jacobians: list[torch.Tensor] = []
    states: list[torch.Tensor] = []

    def trace() -> None:
        states[:] = reference.released_states(model, ids)

    def as_released() -> None:
        jacobians[:] = [reference.released_jacobian(*states[b : b + 2]) for b in range(n_blocks)]

    def fastest() -> None:
        for b in range(FEW):
            reference.released_jacobian(*states[b : b + 2], reference.RELEASED_BATCH)

    runs: dict[str, common.Run] = {"ours": partial(measure, request, **own)}
    if peer:
        runs |= {"states": trace, "released": as_released, "fastest": fastest}
        runs["scores"] = lambda: reference.released_scores(jacobians, k)
    times = common.interleaved(runs, 1 if quick else ROUNDS, warm_up=False)
    gemm = times.pop("gemm")
    found = {"ours": times["ours"]}
    if peer:
        for name, scale in (("released", 1.0), ("fastest", n_blocks / FEW)):
            seconds = {
                clock: times["states"][clock] + scale * times[name][clock] + times["scores"][clock]
                for clock in common.CLOCKS
            }
            found[name] = seconds | {"ratio": common.ratio(seconds, times["ours"])}
    return {"tokens": length, "gemm": gemm, "k": {k: found}, "times": times}


def collect(quick: bool) -> common.Results:
    """Every length, on one thread and on two."""
    rows, limits = [], []
    for count, lengths in (QUICK if quick else LENGTHS).items():
        with common.threads(count):
            compare(True, 4, peer=True)  # warm-up
            if count == 1:  # on several, blocks run side by side, and no stage by itself
                limits = [stages.compare(quick, length) for length in ((6,) if quick else STAGES)]
            rows += [compare(quick, length, length <= PEER_UP_TO[count]) for length in lengths]
    return {"rows": rows, "limits": limits}


def summary(results: common.Results) -> common.Rows:
    """Every length on every number of threads, and how far from their limits the stages are."""
    rows = [_row(row, int(k), found) for row in results["rows"] for k, found in row["k"].items()]
    for one in results["limits"]:
        what = f"all pairs beside their limit, K = {one['k']}, {one['tokens']} tokens, 1 thread"
        rows.append((what, f"{stages.words(one)}; {common.peak_words(one['gemm'])}"))
    return rows


def _row(row: common.Results, k: int, found: common.Results) -> tuple[str, str]:
    what = f"all pairs, K = {k}, {row['tokens']} tokens, {common.thread_words(row['gemm'])}"
    said = f"{found['ours']['wall']:.2f} s (CPU {found['ours']['cpu']:.2f} s)"
    if "released" in found:
        peer, fastest = found["released"], found["fastest"]
        said += (
            f", {_times(peer)} times less CPU time than the released way "
            f"({peer['cpu']:.0f} s), {_times(fastest)} times less than that in "
            "its fastest batches"
        )
    return what, f"{said}; {common.peak_words(row['gemm'])}"


def _times(peer: common.Results) -> str:
    ratio = peer["ratio"]["cpu"]
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
