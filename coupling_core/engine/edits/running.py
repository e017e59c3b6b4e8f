"""Many edits of one prompt, and the effect of each."""

from collections.abc import Callable, Sequence

from torch import Tensor

from coupling_core.base.edits import Rearranged, flat
from coupling_core.engine.edits.effects import Effect, Effects
from coupling_core.engine.edits.programs import run_programs, shared_steps
from coupling_core.engine.edits.replays import SHARE, Replays
from coupling_core.engine.hardware import usable_memory

_COPIES = 2  # of each state: the one that waits, and the one that it is made of


def run_edits(
    replays: Replays,
    effects: Effects,
    edits: Sequence[Rearranged],
    keep: Callable[[int, Effect], None],
    told: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Run edits, as many together as memory allows, and measure what they do.

    Args:
        replays: of the model's blocks.
        effects: measures them.
        edits: to be run; no obstacle stands in their way.
        keep: is given the number of each edit in `edits`, and its effect.
        told: after each batch, how many edits' worth of work is done, and of how many.
    """
    together = edits_together(replays)
    for start in range(0, len(edits), together):
        part = edits[start : start + together]

        def so_far(done: int, total: int, start: int = start, count: int = len(part)) -> None:
            told(start + (count * done) // max(1, total), len(edits))

        def kept(number: int, effect: Effect, start: int = start) -> None:
            keep(start + number, effect)

        _run(replays, effects, part, kept, so_far)
    told(len(edits), len(edits))


def edits_together(replays: Replays) -> int:
    """How many edits may be under way at once, each with a state of its own."""
    _, n, d = replays.states.shape
    each = _COPIES * n * d * replays.states.element_size()
    return max(replays.at_once, int(SHARE * usable_memory(replays.states.device)) // each)


def _run(
    replays: Replays,
    effects: Effects,
    edits: Sequence[Rearranged],
    keep: Callable[[int, Effect], None],
    told: Callable[[int, int], None],
) -> None:
    waiting: list[int] = []
    states = replays.states.new_empty(effects.at_once, *replays.states[0].shape)

    def measure() -> None:
        for number, effect in zip(waiting, effects.of(states[: len(waiting)]), strict=True):
            keep(number, effect)
        waiting.clear()

    def finished(number: int, state: Tensor) -> None:
        if shared_steps(programs[number]) == replays.n_blocks == len(programs[number]):
            keep(number, effects.unedited())
            return
        states[len(waiting)] = state
        waiting.append(number)
        if len(waiting) == len(states):
            measure()

    programs = [flat(edit.slots(replays.n_blocks)) for edit in edits]
    run_programs(replays, programs, finished, told)
    if waiting:
        measure()
