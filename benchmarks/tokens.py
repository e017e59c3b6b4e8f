"""Jacobians between tokens against differentiating the whole sequence, on SmolLM2-135M.

Shows: for n = 64 tokens, all J_{t1 t2} of one output token, and J_tt of a token, each take at
least 8 times less CPU time than the definition as it reads, with the same numbers. Two blocks, as a
comparison needs; each side with its own forward pass. The peer has its best form: the block alone,
all rows in batched backward passes.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from coupling_core import Request
from coupling_core.decode import Reader, read
from coupling_core.models import load
from coupling_core.positions import output_jacobians, self_jacobians, through_all

TEXT = (
    "The quick brown fox jumps over the lazy dog while the river runs to the sea and the wind "
    "sings of old days, and every night the keeper of the light climbs the stairs to watch the "
    "ships go by, counting each of them twice, so that none is ever lost to the dark, nor to the "
    "rocks below the tower."
)
N, BLOCKS = 64, (15, 16)
TOKENS = range(1, N + 1, 9)
"""Output tokens of the self-coupling's peer: all would take minutes, at the same cost each."""
RUNS = 5


def prepare() -> Reader:
    """The model with a prompt of N tokens."""
    loaded = load(Request(TEXT), "cpu")
    return read(loaded.model, loaded.encode(TEXT)[:N])


def ours(reader: Reader, blocks: tuple[int, ...]) -> list[Tensor]:
    """J_{t1 N} of some blocks, for every t1, from the prompt on."""
    return list(output_jacobians(reader, blocks, N))


def peer(reader: Reader, blocks: tuple[int, ...]) -> list[Tensor]:
    """The same through the whole sequence."""
    whole = reader.whole()
    norms = [reader.kind.final_norm if block == reader.n_blocks else None for block in blocks]
    return [through_all(whole[b - 1], N, norm) for b, norm in zip(blocks, norms, strict=True)]


def ours_self(reader: Reader, blocks: tuple[int, ...]) -> list[list[Tensor]]:
    """J_tt of some blocks at every token, from the prompt on."""
    return [found for _, found in self_jacobians(reader, blocks, range(1, N + 1))]


def peer_self(reader: Reader, blocks: tuple[int, ...]) -> list[list[Tensor]]:
    """The same through the whole sequence, at a few tokens."""
    whole = reader.whole()
    norms = [reader.kind.final_norm if block == reader.n_blocks else None for block in blocks]
    return [
        [through_all(whole[b - 1], t, norm)[t - 1] for b, norm in zip(blocks, norms, strict=True)]
        for t in TOKENS
    ]


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print the ratios, medians over interleaved runs."""
    reader = prepare()
    for name, mine, theirs, share, runs in (
        ("fixed output", ours, peer, 1.0, RUNS),
        ("self", ours_self, peer_self, len(TOKENS) / N, 1),
    ):
        mine(reader, BLOCKS)
        a, b = [], []
        for _ in range(runs):
            a.append(cpu_seconds(partial(mine, reader, BLOCKS)))
            b.append(cpu_seconds(partial(theirs, reader, BLOCKS)) / share)
        ratio = statistics.median(b) / statistics.median(a)
        sys.stdout.write(
            f"{name}: {statistics.median(a):.2f} s against {statistics.median(b):.2f} s of CPU, "
            f"{ratio:.1f}x\n"
        )
    for J, expected in zip(ours(reader, BLOCKS), peer(reader, BLOCKS), strict=True):
        sys.stdout.write(f"relative difference: {relative(J, expected):.1e}\n")


def relative(J: Tensor, expected: Tensor) -> float:
    """In the Frobenius norm over all tokens."""
    return float((J - expected).norm() / expected.norm())


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
