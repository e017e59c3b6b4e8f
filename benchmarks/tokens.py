"""Jacobians between the tokens of a prompt, of two blocks: ours and the definition as it reads.

Fixed output is J_{t1 n} of every token t1, self is J_tt of every token t; each side includes its
own pass over the prompt. The definition differentiates a block over the whole sequence, all rows in
batched backward passes: once for a fixed output, and once a token for self. There it runs at a
sample of the tokens, and their time is scaled to all (each costs the same).
"""

import copy
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor

from benchmarks import common
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.between_tokens import (
    output_jacobians,
    self_jacobians,
    through_all,
)
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.decode import Reader, read

LENGTH, BLOCKS, SAMPLE = 64, (15, 16), (1, 22, 43, 64)
QUICK = 8, (2, 3), (1, 8)
ROUNDS = 3


def compare(quick: bool, rounds: int) -> common.Results:
    """Both modes on the present number of threads."""
    length, blocks, sample = QUICK if quick else (LENGTH, BLOCKS, SAMPLE)
    model, ids = common.model_and_ids(quick, length)
    reader = read(model, ids)
    calls = [reader.whole[block - 1] for block in blocks]
    runs = {  # ours with a reader that has read nothing yet
        "states": lambda: replace(reader).whole,
        "output ours": lambda: to_last(replace(reader), blocks),
        "output definition": partial(definition, calls, (length,)),
        "self ours": lambda: with_itself(replace(reader), blocks),
        "self definition": partial(definition, calls, sample),
    }
    times = common.interleaved(runs, rounds, warm_up=False)
    taken = {"output": 1.0, "self": length / len(sample)}
    return {
        "tokens": length,
        "blocks": len(blocks),
        "rounds": rounds,
        "gemm": times.pop("gemm"),
        "modes": {mode: _mode(times, mode, scale) for mode, scale in taken.items()},
        "differences": differences(model, ids, blocks, sample),
        "times": times,
    }


def _mode(times: dict[str, common.Results], mode: str, scale: float) -> common.Results:
    states, taken = times["states"], times[f"{mode} definition"]
    ours = {c: times[f"{mode} ours"][c] for c in common.CLOCKS}
    peer = {c: states[c] + scale * taken[c] for c in common.CLOCKS}
    ratio = common.ratio(peer, ours)
    return {"ours": ours, "definition": peer, "ratio": ratio, "extrapolated": scale > 1}


def to_last(reader: Reader, blocks: tuple[int, ...]) -> list[Tensor]:
    """Ours: block by block, every token to the last one (token d d)."""
    return list(output_jacobians(reader, blocks, reader.n_tokens))


def with_itself(reader: Reader, blocks: tuple[int, ...]) -> list[list[Tensor]]:
    """Ours: token by token, that of each block (d d)."""
    return [found for _, found in self_jacobians(reader, blocks, range(1, reader.n_tokens + 1))]


def definition(calls: list[Call], tokens: tuple[int, ...]) -> list[list[Tensor]]:
    """Token by token, that of each block by all tokens (token d d)."""
    return [[through_all(call, t, None) for call in calls] for t in tokens]


def differences(
    model: Any, ids: list[int], blocks: tuple[int, ...], sample: tuple[int, ...]
) -> dict[str, dict[str, float]]:
    """Relative ones in the Frobenius norm: the worst of all pairs of tokens, mode by mode.

    Returns:
        ours from the definition in `float64` and in `float32`; and how far the definition in
        float32 is from that in float64, its `rounding`.
    """
    ours, expected = both_ways(read(model, ids), blocks, sample)
    with true_float64.TrueFloat64():
        exact_ours, exact = both_ways(read(copy.deepcopy(model).double(), ids), blocks, sample)
    return {
        mode: {
            "float64": worst(exact_ours[mode], exact[mode]),
            "float32": worst(ours[mode], expected[mode]),
            "rounding": worst(expected[mode], exact[mode]),
        }
        for mode in ours
    }


def both_ways(
    reader: Reader, blocks: tuple[int, ...], sample: tuple[int, ...]
) -> tuple[dict[str, list[Tensor]], dict[str, list[Tensor]]]:
    """Mode by mode the Jacobians, each (d d), that both ways give: ours, and the definition."""
    calls = [reader.whole[block - 1] for block in blocks]
    (output,) = definition(calls, (reader.n_tokens,))
    own = self_jacobians(reader, blocks, sample)
    ours = {
        "output": [J for found in to_last(reader, blocks) for J in found],
        "self": [J for _, found in own for J in found],
    }
    itself = zip(sample, definition(calls, sample), strict=True)
    expected = {
        "output": [J for found in output for J in found],
        "self": [J[t - 1] for t, found in itself for J in found],
    }
    return ours, expected


def worst(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest of their relative differences."""
    return max(
        float((a.double() - b).norm() / b.double().norm())
        for a, b in zip(found, expected, strict=True)
    )


def collect(quick: bool) -> common.Results:
    """On one thread and on two."""
    rows = []
    for _ in common.on_threads():
        compare(quick=True, rounds=1)  # warm-up
        rows.append(compare(quick, 1 if quick else ROUNDS))
    return {"rows": rows}


def summary(results: common.Results) -> common.Rows:
    """Both modes on every number of threads."""
    return [_row(row, mode) for row in results["rows"] for mode in row["modes"]]


def _row(row: common.Results, mode: str) -> tuple[str, str]:
    found = row["modes"][mode]
    which = {"output": "every token to the last", "self": "every token with itself"}[mode]
    what = (
        f"Jacobians of {row['blocks']} blocks, {which}, {row['tokens']} tokens, "
        f"{common.thread_words(row['gemm'])}"
    )
    scaled = ", extrapolated" if found["extrapolated"] else ""
    apart = row["differences"][mode]
    said = (
        f"{found['ours']['wall']:.2f} s (CPU {found['ours']['cpu']:.2f} s), "
        f"{found['ratio']['cpu']:.0f} times less CPU time than through the whole sequence "
        f"({found['definition']['cpu']:.0f} s{scaled}); "
        f"relative difference at most {apart['float64']:.0e} in float64, {apart['float32']:.0e} in "
        f"float32, where rounding takes the whole sequence {apart['rounding']:.0e} from float64"
    )
    return what, said
