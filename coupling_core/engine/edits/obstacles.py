"""Which blocks cannot run in another slot, and why: found by trying, never by a model's name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from coupling_core.base.edits import Edit, Rearranged, flat
from coupling_core.base.memory import is_out_of_memory
from coupling_core.engine.edits.programs import shared_steps
from coupling_core.engine.edits.replays import SAME, Replays
from coupling_core.engine.jacobians.captured_block import distance, random_directions
from coupling_core.engine.jacobians.captured_calls import Call, capturing

NUDGE = 0.1
"""Length of a random change of the first state, in units of its norm."""


class Obstacles:
    """What stands in the way of edits of one model.

    Args:
        replays: of its blocks.
    """

    def __init__(self, replays: Replays) -> None:
        self._replays = replays
        nudged = _nudged(replays)
        self._of_block = [self._alone(block, call) for block, call in enumerate(nudged, 1)]

    def of(self, edit: Rearranged) -> str:
        """Why an edit cannot be run; "" where it can."""
        steps = flat(edit.slots(self._replays.n_blocks))
        for step in steps[shared_steps(steps) :]:
            for block in step.blocks:
                if why := self._of_block[block - 1]:
                    return why
        return ""

    def in_slot(self, slot: int, block: int) -> str:
        """Why block m cannot run in slot l; "" where it can."""
        return self.of(Edit("replace", (slot, block)))

    def _alone(self, block: int, nudged: Call) -> str:
        """Why a block cannot be run on other states than its own."""
        own = self._replays.call(block)
        if own.hidden.shape != own.output.shape:
            wide, given = own.output.shape[-1], own.hidden.shape[-1]
            return f"block {block} gives states of width {wide} where {given} is expected"
        try:
            found = self._replays.run(block, nudged.hidden)
        except Exception as error:  # a block's own code raises whatever it likes
            if is_out_of_memory(error):
                raise
            return f"block {block} does not run on other states: {type(error).__name__}"
        off = distance(found, nudged.output)
        if not off <= SAME.get(found.dtype, 0.0):
            return (
                f"block {block} takes more from earlier blocks than their state (shared keys and "
                f"values, for one): on another state it is off by {off:.1e}"
            )
        return ""


def _nudged(replays: Replays) -> list[Call]:
    """Each block's call in a run whose first state is another one."""
    reader = replays.reader
    first = reader.runner.blocks[0]
    with (
        torch.no_grad(),
        _nudging(first, replays.call(1)),
        capturing(reader.runner.blocks) as calls,
    ):
        reader.runner(reader.ids, use_cache=False, **reader.runner.few_logits)
    return calls


@contextmanager
def _nudging(block: nn.Module, call: Call) -> Iterator[None]:
    """While it lasts, a block is given other states than those that reach it."""
    own = call.hidden
    drawn = random_directions(own[0], own.shape[1])[None]
    size = NUDGE * own.norm(dim=-1, keepdim=True) / drawn.norm(dim=-1, keepdim=True)
    states: Tensor = own + size * drawn

    def before(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args:
            return (states, *args[1:]), kwargs
        return args, kwargs | {call.first: states}

    handle = block.register_forward_pre_hook(before, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()
