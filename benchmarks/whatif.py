"""Whole maps of edits of SmolLM2: run together, against the same edits one by one.

Both share the states before the first edited slot. One by one, each edit then runs its blocks and
the model's tail by itself; together, equal beginnings are run once, and states that wait for the
same block are run by it in one batch. Both measure the same effects, which are compared.

How fast it could be at most is told beside it: each block once in a batch as large as they are, the
tail likewise, times how often they have to run, as if gathering, comparing and Python took no time.
Memory is that of whole measurements, held against what is estimated before they run.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks import common
from coupling_core import Request, measure
from coupling_core.base.edits import Edit, every_edit, flat
from coupling_core.engine.edits.effects import Effect, Effects
from coupling_core.engine.edits.programs import branches, shared_steps
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.edits.running import run_edits
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading import as_loaded, evaluating
from coupling_core.kinds.whatif import cost
from coupling_core.measuring.memory import LIBRARIES
from coupling_core.measuring.probe import seen

TOKENS = 10
"""Of the prompt over which the two are compared."""
LENGTHS = (5, 10, 20)
QUICK = (3, 5)
ROUNDS = 3

Found = torch.Tensor
"""KL of each edit by token (edit token), in nats."""


def pairs(n_blocks: int) -> list[Edit]:
    """All replacements and interchanges of two blocks."""
    return [edit for edit in every_edit(n_blocks) if edit.verb in ("replace", "interchange")]


def together(replays: Replays, edits: Sequence[Edit]) -> Found:
    """The effect of each edit, run together."""
    found = torch.full((len(edits), replays.states.shape[1]), torch.nan, dtype=torch.float64)

    def keep(number: int, effect: Effect) -> None:
        found[number] = effect.divergence

    run_edits(replays, Effects(replays), edits, keep)
    return found


def one_by_one(replays: Replays, edits: Sequence[Edit]) -> Found:
    """The same, each edit from its first edited slot to the end by itself."""
    found = torch.full((len(edits), replays.states.shape[1]), torch.nan, dtype=torch.float64)
    effects = Effects(replays)
    for number, edit in enumerate(edits):
        steps = flat(edit.slots(replays.n_blocks))
        shared = shared_steps(steps)
        states = replays.states[shared][None]
        for step in steps[shared:]:
            states = replays.step(step, states)
        (effect,) = effects.of(states)
        found[number] = effect.divergence
    return found


def least(replays: Replays, edits: Sequence[Edit]) -> common.Results:
    """Seconds of the block runs and tails alone, at the rate of one large batch of each."""
    programs = [flat(edit.slots(replays.n_blocks)) for edit in edits]
    roots = branches(programs, replays.n_blocks)
    steps = sum(root.count() for root in roots)
    many = replays.at_once
    states = replays.states[[at % replays.n_blocks for at in range(many)]]
    blocks = [
        min(timed(lambda block=block: replays.run(block, states))[0] for _ in range(ROUNDS))
        for block in range(1, replays.n_blocks + 1)
    ]
    effects = Effects(replays)
    last = states[: effects.at_once]
    tail = min(timed(lambda: effects.says(last))[0] for _ in range(ROUNDS))
    return {
        "block_runs": steps,
        "tails": len(edits),
        "blocks_seconds": steps * sum(blocks) / len(blocks) / many,
        "tails_seconds": len(edits) * tail / len(last),
    }


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that it takes, and what it finds."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def apart(found: Found, expected: Found) -> float:
    """How far effects are from one another at most, relative to the larger of each and 1e-6.

    NaN where one of them is.
    """
    return float(((found - expected).abs() / expected.clamp_min(1e-6)).max())


def compared(quick: bool) -> common.Results:
    """Both ways over one prompt, one after the other in one process."""
    model, ids = common.model_and_ids(quick, QUICK[-1] if quick else TOKENS)
    with evaluating(model):
        replays = Replays(read(model, ids))
        edits = pairs(replays.n_blocks)
        fast, found = timed(lambda: together(replays, edits))
        slow, expected = timed(lambda: one_by_one(replays, edits))
        bound = least(replays, edits)
    return {
        "edits": len(edits),
        "tokens": len(ids),
        "sequences": replays.at_once,
        "together": fast,
        "one_by_one": slow,
        "apart": apart(found, expected),
        "least": bound,
    }


def measuring(quick: bool, length: int) -> Callable[[], Any]:
    """What makes a whole measurement of a prompt of this length."""
    model, ids = common.model_and_ids(quick, length)
    request = Request(tuple(ids), kind="what-if")
    return lambda: measure(request, model=model)


def by_length(quick: bool) -> list[common.Results]:
    """Seconds of both maps, and memory of whole measurements, by the length of the prompt."""
    found = []
    for length in QUICK if quick else LENGTHS:
        model, ids = common.model_and_ids(quick, length)
        with evaluating(model):
            replays = Replays(read(model, ids))
            seconds, _ = timed(lambda replays=replays: together(replays, pairs(replays.n_blocks)))
        memory = common.fresh_process_peak(
            "benchmarks.whatif", "measuring", quick=quick, length=length
        )
        added = None if memory["peak"] is None else memory["peak"] - memory["before"]
        probe = seen(Request(tuple(ids), kind="what-if"), as_loaded(model, None), replays.reader)
        estimated = cost.memory(Request(tuple(ids), kind="what-if"), probe, length, on_cpu=True)
        found.append(
            {
                "tokens": length,
                "sequences": replays.at_once,
                "seconds": seconds,
                "bytes": added,
                "estimated_bytes": LIBRARIES + estimated,
            }
        )
    return found


def collect(quick: bool) -> common.Results:
    """The comparison, and seconds and memory by length."""
    return {
        "threads": torch.get_num_threads(),
        "compared": compared(quick),
        "by_length": by_length(quick),
    }


def summary(results: common.Results) -> common.Rows:
    """The ratio, how fast it could be, and a row for all lengths."""
    one, least = results["compared"], results["compared"]["least"]
    bound = least["blocks_seconds"] + least["tails_seconds"]
    lengths = ", ".join(
        f"{each['tokens']} tokens: {each['seconds']:.0f} s, {each['sequences']} sequences at once"
        + f", {each['bytes'] / 1e6:.0f} MB" * bool(each["bytes"])
        + f" (estimated {each['estimated_bytes'] / 1e6:.0f} MB)"
        for each in results["by_length"]
    )
    return [
        (
            f"all {one['edits']} replacements and interchanges of two blocks, {one['tokens']} "
            "tokens: together against one by one with shared beginnings",
            f"{one['together']:.1f} s against {one['one_by_one']:.1f} s "
            f"({one['one_by_one'] / one['together']:.1f} times as fast), {one['sequences']} "
            f"sequences at once, KL alike to {one['apart']:.0e}",
        ),
        (
            "the least that they could take: every block and tail at the rate of a large batch",
            f"{bound:.1f} s ({least['block_runs']} block runs {least['blocks_seconds']:.1f} s, "
            f"{least['tails']} tails {least['tails_seconds']:.1f} s): "
            f"{one['one_by_one'] / bound:.1f} times as fast as one by one",
        ),
        ("the same together, by the length of the prompt; memory of a measurement", lengths),
    ]
