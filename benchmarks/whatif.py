"""Whole maps of edits of SmolLM2: run together, against the same edits one by one.

Both share the states before the first edited slot. One by one, each edit then runs its blocks and
the model's tail by itself; together, equal beginnings are run once, and states that wait for the
same block are run by it in one batch. Both measure the same effects, which are compared.
"""

import time
from collections.abc import Callable, Sequence

import torch

from benchmarks import common
from coupling_core.base.edits import Edit, every_edit, flat
from coupling_core.engine.edits.effects import Effect, Effects
from coupling_core.engine.edits.programs import shared_steps
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.edits.running import run_edits
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading import evaluating

TOKENS = 10
"""Of the prompt over which the two are compared."""
LENGTHS = (5, 10, 20)
QUICK = (3, 5)

Found = dict[int, Effect]


def pairs(n_blocks: int) -> list[Edit]:
    """All replacements and interchanges of two blocks."""
    return [edit for edit in every_edit(n_blocks) if edit.verb in ("replace", "interchange")]


def together(replays: Replays, edits: Sequence[Edit]) -> Found:
    """The effect of each edit, run together."""
    found: Found = {}
    run_edits(replays, Effects(replays), edits, found.__setitem__)
    return found


def one_by_one(replays: Replays, edits: Sequence[Edit]) -> Found:
    """The same, each edit from its first edited slot to the end by itself."""
    found, effects = {}, Effects(replays)
    for number, edit in enumerate(edits):
        steps = flat(edit.slots(replays.n_blocks))
        shared = shared_steps(steps)
        states = replays.states[shared][None]
        for step in steps[shared:]:
            states = replays.step(step, states)
        (found[number],) = effects.of(states)
    return found


def timed(run: Callable[[], Found]) -> tuple[float, Found]:
    """Seconds that it takes, and what it finds."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def apart(a: Found, b: Found) -> float:
    """How far effects are from one another at most, relative to the larger of each and 1e-6.

    NaN where one of them is.
    """
    found, expected = (torch.stack([of[at].divergence for at in b]) for of in (a, b))
    return float(((found - expected).abs() / expected.clamp_min(1e-6)).max())


def compared(quick: bool) -> common.Results:
    """Both ways over one prompt, one after the other in one process."""
    model, ids = common.model_and_ids(quick, QUICK[-1] if quick else TOKENS)
    with evaluating(model):
        replays = Replays(read(model, ids))
        edits = pairs(replays.n_blocks)
        fast, found = timed(lambda: together(replays, edits))
        slow, expected = timed(lambda: one_by_one(replays, edits))
    return {
        "edits": len(edits),
        "tokens": len(ids),
        "sequences": replays.at_once,
        "together": fast,
        "one_by_one": slow,
        "apart": apart(found, expected),
    }


def measuring(quick: bool, length: int) -> Callable[[], Found]:
    """What measures both maps together over a prompt of this length."""
    model, ids = common.model_and_ids(quick, length)

    def run() -> Found:
        with evaluating(model):
            replays = Replays(read(model, ids))
            return together(replays, pairs(replays.n_blocks))

    return run


def by_length(quick: bool) -> list[common.Results]:
    """Seconds of both maps, and how much memory they add, by the length of the prompt."""
    found = []
    for length in QUICK if quick else LENGTHS:
        seconds, _ = timed(measuring(quick, length))
        memory = common.fresh_process_peak(
            "benchmarks.whatif", "measuring", quick=quick, length=length
        )
        added = None if memory["peak"] is None else memory["peak"] - memory["before"]
        found.append({"tokens": length, "seconds": seconds, "bytes": added})
    return found


def collect(quick: bool) -> common.Results:
    """The comparison, and seconds and memory by length."""
    return {
        "threads": torch.get_num_threads(),
        "compared": compared(quick),
        "by_length": by_length(quick),
    }


def summary(results: common.Results) -> common.Rows:
    """The ratio, and a row for all lengths."""
    one = results["compared"]
    lengths = ", ".join(
        f"{each['tokens']} tokens: {each['seconds']:.0f} s"
        + (f", {each['bytes'] / 1e6:.0f} MB" if each["bytes"] else "")
        for each in results["by_length"]
    )
    return [
        (
            f"all {one['edits']} replacements and interchanges of two blocks, {one['tokens']} "
            "tokens: together against one by one with shared beginnings",
            f"{one['together']:.0f} s against {one['one_by_one']:.0f} s "
            f"({one['one_by_one'] / one['together']:.1f} times as fast), {one['sequences']} "
            f"sequences at once, KL alike to {one['apart']:.0e}",
        ),
        ("the same together, by the length of the prompt", lengths),
    ]
