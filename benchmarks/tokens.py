"""Jacobians between the tokens of a prompt, of two blocks: ours and the definition as it reads.

Fixed output is J_{t1 n} of every token t1, self is J_tt of every token t; each side includes its
own pass over the prompt. The definition differentiates a block over the whole sequence, all rows in
batched backward passes: once for a fixed output, and once a token for self. There it runs at a
sample of the tokens, and their time is scaled to all (each costs the same).
"""

from functools import partial

from torch import Tensor

from benchmarks import common
from coupling_core.calls import Call
from coupling_core.decode import Reader, read
from coupling_core.positions import output_jacobians, self_jacobians, through_all

LENGTH, BLOCKS, SAMPLE = 64, (15, 16), (1, 22, 43, 64)
QUICK = 8, (2, 3), (1, 8)
ROUNDS = 3


def compare(quick: bool, rounds: int) -> common.Results:
    """Both modes on the present number of threads."""
    length, blocks, sample = QUICK if quick else (LENGTH, BLOCKS, SAMPLE)
    reader = read(*common.model_and_ids(quick, length))
    calls = [reader.whole()[block - 1] for block in blocks]
    runs = {
        "states": reader.whole,
        "output ours": partial(to_last, reader, blocks),
        "output definition": partial(definition, calls, (length,)),
        "self ours": partial(with_itself, reader, blocks),
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
        "differences": differences(reader, blocks, calls, sample),
        "times": times,
    }


def _mode(times: dict[str, common.Results], mode: str, scale: float) -> common.Results:
    clocks = ("wall", "cpu")
    ours = {c: times[f"{mode} ours"][c] for c in clocks}
    peer = {c: times["states"][c] + scale * times[f"{mode} definition"][c] for c in clocks}
    ratio = {c: peer[c] / ours[c] for c in clocks}
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
    reader: Reader, blocks: tuple[int, ...], calls: list[Call], sample: tuple[int, ...]
) -> dict[str, float]:
    """Of ours from the definition, relative to its norm: the worst of all pairs of tokens."""
    (exact,) = definition(calls, (reader.n_tokens,))
    output = [
        relative(J, expected)
        for found, of_block in zip(to_last(reader, blocks), exact, strict=True)
        for J, expected in zip(found, of_block, strict=True)
    ]
    own = with_itself(reader, blocks)
    itself = [
        relative(J, expected[t - 1])
        for t, of_token in zip(sample, definition(calls, sample), strict=True)
        for J, expected in zip(own[t - 1], of_token, strict=True)
    ]
    return {"output": max(output), "self": max(itself)}


def relative(found: Tensor, expected: Tensor) -> float:
    """In the Frobenius norm."""
    return float((found - expected).norm() / expected.norm())


def collect(quick: bool) -> common.Results:
    """On one thread and on two."""
    rows = []
    for count in common.thread_counts():
        with common.threads(count):
            compare(quick=True, rounds=1)  # warm-up
            rows.append(compare(quick, 1 if quick else ROUNDS))
    return {"rows": rows}


def summary(results: common.Results) -> common.Rows:
    """Both modes on every number of threads."""
    return [_row(row, mode) for row in results["rows"] for mode in row["modes"]]


def _row(row: common.Results, mode: str) -> tuple[str, str]:
    found, count = row["modes"][mode], row["gemm"]["threads"]
    which = {"output": "every token to the last", "self": "every token with itself"}[mode]
    what = (
        f"Jacobians of {row['blocks']} blocks, {which}, {row['tokens']} tokens, "
        f"{count} {common.plural('thread', count)}"
    )
    scaled = ", extrapolated" if found["extrapolated"] else ""
    said = (
        f"{found['ours']['wall']:.2f} s (CPU {found['ours']['cpu']:.2f} s), "
        f"{found['ratio']['cpu']:.0f} times less CPU time than through the whole sequence "
        f"({found['definition']['cpu']:.0f} s{scaled}); "
        f"relative difference at most {row['differences'][mode]:.0e}"
    )
    return what, said
