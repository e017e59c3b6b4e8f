"""Steering along many directions of SmolLM2 at once, against each at each size by itself.

Both add the same directions of a block to its output at the last token, run the rest of the model,
and compare what it says with what it said. One by one, each runs alone; together, they are
sequences of one batch.
"""

import time
from collections.abc import Callable

import torch

from benchmarks import common
from coupling_core.engine.directions.outcome import Changes, Outcomes, joined
from coupling_core.engine.directions.readouts import random_units
from coupling_core.engine.directions.steering import steer
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading import evaluating

TOKENS = 10
DIRECTIONS = 20
SIZES = (-1.0, -0.3, 0.1, 0.3, 1.0)
ROUNDS = 3


def timed(run: Callable[[], Changes]) -> tuple[float, Changes]:
    """Seconds that it takes, and what it finds."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def collect(quick: bool) -> common.Results:
    """Both ways in turn from the middle of the model: the medians of a few rounds."""
    model, ids = common.model_and_ids(quick, TOKENS)
    with evaluating(model):
        replays = Replays(read(model, ids))
        outcomes = Outcomes(replays, len(ids))
        state = replays.n_blocks // 2
        drawn = random_units(DIRECTIONS, replays.states.shape[-1], torch.Generator().manual_seed(1))

        def together() -> Changes:
            return steer(replays, outcomes, state, [len(ids)], drawn, SIZES)

        def one_by_one() -> Changes:
            return joined(
                [
                    steer(replays, outcomes, state, [len(ids)], one[None], (size,))
                    for one in drawn
                    for size in SIZES
                ]
            )

        steer(replays, outcomes, state, [len(ids)], drawn[:1], SIZES[:1])  # the first is slower
        together()
        rounds = [(timed(together), timed(one_by_one)) for _ in range(ROUNDS)]
    fast, slow = (sorted(each[way][0] for each in rounds)[ROUNDS // 2] for way in (0, 1))
    found, expected = rounds[0][0][1].divergence, rounds[0][1][1].divergence
    return {
        "threads": torch.get_num_threads(),
        "tokens": len(ids),
        "state": state,
        "directions": DIRECTIONS,
        "sizes": len(SIZES),
        "sequences": replays.at_once,
        "together": fast,
        "one_by_one": slow,
        "apart": float((found - expected).abs().max()),
    }


def summary(results: common.Results) -> common.Rows:
    """The ratio of the two."""
    r = results
    return [
        (
            f"{r['directions']} directions steered at {r['sizes']} sizes from state {r['state']} "
            f"on, {r['tokens']} tokens: together against one by one",
            f"{r['together']:.2f} s against {r['one_by_one']:.2f} s "
            f"({r['one_by_one'] / r['together']:.1f} times as fast), KL alike to "
            f"{r['apart']:.0e} nats",
        )
    ]
