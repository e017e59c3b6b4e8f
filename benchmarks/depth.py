"""All pairs of SmolLM2's blocks at K = 50, Jacobians and SVDs included: ours and the released way.

Ours is `measure` without a store and with the model loaded; the released algorithm is that of
`coupling_core.reference` as its package runs it, with gradients in four batches and the scores of A
and of B. On long prompts it takes minutes, so that some of its Jacobians are taken and their time
is scaled to all blocks (the blocks have one shape); `extrapolated` says where. `fastest` is the
same with gradients in the batches that suit this processor best, timed on a few blocks. On one
thread each stage is held against the bare products of its shapes too (`benchmarks.stages`).
"""

from functools import partial
from typing import Any

import torch

from benchmarks import common, stages
from coupling_core import Request, measure
from coupling_core.engine import reference

LENGTHS = {
    1: {10: (30, 3), 64: (30, 3), 256: (3, 3), 1024: (0, 3)},
    2: {10: (30, 3), 64: (3, 3), 256: (0, 3), 1024: (0, 3)},
}
"""Threads, then tokens: how many Jacobians the released way takes, and how many rounds."""
FEW = 3
"""Blocks on which its fastest batches are timed."""
QUICK = {1: {6: (4, 2), 12: (2, 2), 16: (0, 1)}, 2: {6: (4, 1)}}
STAGES = {False: (10, 64, 256), True: (6,)}
"""Tokens of the prompts whose stages are held against their limits, in earnest and when quick."""
MEMORY_LENGTHS = (10, 256)


def compare(quick: bool, length: int, blocks: int, rounds: int) -> common.Results:
    """One prompt length on the present number of threads; the shortest at K = 10 and d / 10 too."""
    model, ids = common.model_and_ids(quick, length)
    n_blocks = model.config.num_hidden_layers
    d = model.config.hidden_size
    ks = (3, 2) if quick else (50, 10, d // 10) if length == min(LENGTHS[1]) else (50,)
    few = min(FEW, blocks)
    taken: list[torch.Tensor] = []
    states: list[torch.Tensor] = []

    def trace() -> None:
        states[:] = reference.released_states(model, ids)

    def jacobians() -> None:
        taken[:] = [reference.released_jacobian(*states[b : b + 2]) for b in range(blocks)]

    def fastest() -> None:
        for b in range(few):
            reference.released_jacobian(*states[b : b + 2], reference.RELEASED_BATCH)

    def scores(k: int) -> None:
        reference.released_scores((taken * n_blocks)[:n_blocks], k)

    runs = {f"ours {k}": partial(ours, quick, ids, k) for k in ks}
    if blocks:
        runs |= {"states": trace, "jacobians": jacobians, "fastest": fastest}
        runs |= {f"scores {k}": partial(scores, k) for k in ks}
    times = common.interleaved(runs, rounds, warm_up=False)
    found: common.Results = {"tokens": length, "rounds": rounds, "gemm": times.pop("gemm"), "k": {}}
    for k in ks:
        found["k"][k] = {"ours": {c: times[f"ours {k}"][c] for c in common.CLOCKS}}
        if blocks:
            for name, of, count in (("released", "jacobians", blocks), ("fastest", "fastest", few)):
                parts = (times["states"], times[of], times[f"scores {k}"])
                found["k"][k][name] = _peer(parts, n_blocks / count, times[f"ours {k}"])
    return found | {"extrapolated": 0 < blocks < n_blocks, "times": times}


def _peer(parts: tuple[Any, Any, Any], scale: float, ours: common.Results) -> common.Results:
    states, jacobians, scores = parts
    peer = {c: states[c] + scale * jacobians[c] + scores[c] for c in common.CLOCKS}
    return peer | {"ratio": common.ratio(peer, ours)}


def ours(quick: bool, ids: list[int], k: int) -> None:
    """The whole measurement, of SmolLM2 as it stays loaded or of the tiny model."""
    own = {"model": common.model_and_ids(quick, len(ids))[0]} if quick else {"device": "cpu"}
    measure(Request(tuple(ids), k=k), **own)


def run_ours(quick: bool, length: int) -> common.Run:
    """Ours, for a look at its memory."""
    _, ids = common.model_and_ids(quick, length)
    return partial(ours, quick, ids, 3 if quick else 50)


def run_released(quick: bool, length: int) -> common.Run:
    """The released way as far as the first block: the others add their Jacobians only."""
    model, ids = common.model_and_ids(quick, length)

    def run() -> None:
        states = reference.released_states(model, ids)
        reference.released_jacobian(*states[:2])

    return run


def collect(quick: bool) -> common.Results:
    """Every length, on one thread and on two; memory on one."""
    rows, limits = [], []
    for count in common.on_threads():
        compare(quick, 4, 1, 1)  # warm-up
        if count == 1:  # on several, blocks run side by side, and no stage by itself
            limits = [stages.compare(quick, length, 3 if quick else 50) for length in STAGES[quick]]
        for length, (blocks, rounds) in (QUICK if quick else LENGTHS)[count].items():
            rows.append(compare(quick, length, blocks, rounds))
    memory = {
        name: {
            length: common.fresh_process_peak(__name__, name, quick=quick, length=length)
            for length in MEMORY_LENGTHS[: 1 if quick else None]
        }
        for name in ("run_ours", "run_released")
    }
    return {"rows": rows, "limits": limits, "memory": memory}


def summary(results: common.Results) -> common.Rows:
    """Who multiplies; every length on every number of threads at every K; and the memory."""
    rows = list(dict(_choice(row) for row in results["rows"] if "library" in row["gemm"]).items())
    rows += [_row(row, int(k), found) for row in results["rows"] for k, found in row["k"].items()]
    rows += [
        (
            f"all pairs beside their limit, K = {one['k']}, {one['tokens']} tokens, 1 thread",
            _limit(one),
        )
        for one in results.get("limits", [])  # older results have none
    ]
    for length, ours in results["memory"]["run_ours"].items():
        what = f"anonymous memory above that of the loaded model, {length} tokens"
        peer = results["memory"]["run_released"][length]
        if ours["peak"] is not None:
            said = f"{_above(ours)}; released way {_above(peer)} at its first block"
            rows.append((what, said))
    return rows


def _choice(row: common.Results) -> tuple[str, str]:
    what = f"library of large products, {common.thread_words(row['gemm'])}"
    return what, common.choice_words(row["gemm"])


def _row(row: common.Results, k: int, found: common.Results) -> tuple[str, str]:
    what = f"all pairs, K = {k}, {row['tokens']} tokens, {common.thread_words(row['gemm'])}"
    said = f"{found['ours']['wall']:.2f} s (CPU {found['ours']['cpu']:.2f} s)"
    if "released" in found:
        scaled = ", extrapolated" if row["extrapolated"] else ""
        peer, fastest = found["released"], found["fastest"]
        said += (
            f", {_times(peer)} times less CPU time than the released way "
            f"({peer['cpu']:.0f} s{scaled}), {_times(fastest)} times less than that in "
            "its fastest batches"
        )
    return what, f"{said}; {common.peak_words(row['gemm'])}"


def _limit(one: common.Results) -> str:
    return f"{stages.words(one)}; {common.peak_words(one['gemm'])}"


def _times(peer: common.Results) -> str:
    ratio = peer["ratio"]["cpu"]
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def _above(memory: common.Results) -> str:
    return f"{(memory['peak'] - memory['before']) / 1e6:.0f} MB"
