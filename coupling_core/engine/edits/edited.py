"""A model under an edit of its depth, called as it always is, until a `with` block ends."""

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn

from coupling_core.base.edits import Edit, Slots, edits_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import Stack
from coupling_core.engine.edits.replays import after
from coupling_core.engine.jacobians.captured_calls import Call, capturing, recording, with_states
from coupling_core.engine.loading import class_name, find_blocks, measurable, measured_stack
from coupling_core.engine.replaced_forward import overriding

_under_an_edit: WeakSet[nn.Module] = WeakSet()
"""What runs edited just now."""


@contextmanager
def edited(
    model: Any, edit: Edit | str | Sequence[Edit | str], *, stack: Stack | None = None
) -> Iterator[Any]:
    """Have a model run under an edit of its depth while a `with` block lasts.

        with edited(model, "interchange(12,13)"):
            logits = model(input_ids).logits

    No weight is touched, and the model is as it was whatever happens inside. Each call runs it
    twice: as it is, to see what its blocks are called with (masks, positions, and whatever else
    belongs to a block rather than to its place), and edited. So nothing is cached between tokens:
    `generate` runs over the whole text each time.

    Args:
        model: of transformers, what `wrap` returns, or what wraps one of these.
        edit: an `Edit`, or its spelling: skip(12), repeat(3), replace(4,7), interchange(12,13),
            damp(5,0.5), reverse(8-12), parallel(8-11) or none; or a list of several, no two of
            which change what runs in the same place.
        stack: which of the two stacks of an encoder-decoder model; None is the decoder there.

    Yields:
        the model that was handed over.

    Raises:
        InputError: where the edit cannot be read, names a block that is not there, or is of a place
            that another one changes; where the model is under an edit already; inside the `with`
            block where a block does not run in its new place, or a cache is handed over.
    """
    inner = measurable(model)
    blocks, of = find_blocks(inner, stack), measured_stack(inner, stack)
    runs = inner.get_encoder() if of == "encoder" else inner
    wanted = edits_of(edit)
    slots = wanted.slots(len(blocks))
    if runs in _under_an_edit:
        raise InputError(
            f"{class_name(inner)} runs under an edit already: give all of them at once, as in "
            "edited(model, ['skip(3)', 'damp(5,0.5)'])"
        )
    forward = runs.forward
    takes_cache = "use_cache" in inspect.signature(forward).parameters
    running: list[bool] = []

    def guard(*_: Any) -> None:
        if not running:
            raise InputError(
                f"a part of {class_name(inner)} was called by itself, where the edit {wanted} "
                f"would be passed over: call the {type(runs).__name__} that has it"
            )

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("past_key_values") is not None:
            raise InputError(
                f"a cache came to a model under {wanted}, which keeps nothing of what it read: "
                "leave it out, and in generate(...) pass use_cache=False"
            )
        kwargs |= {"use_cache": False} if takes_cache else {}
        running.append(True)
        try:
            return _run(forward, blocks, slots, args, kwargs)
        finally:
            running.pop()

    with ExitStack() as left:
        left.enter_context(_without_cache(inner))
        left.callback(blocks[0].register_forward_pre_hook(guard).remove)
        left.enter_context(overriding(runs, call))
        _under_an_edit.add(runs)
        left.callback(_under_an_edit.discard, runs)
        yield model


def _run(
    forward: Callable[..., Any],
    blocks: nn.ModuleList,
    slots: Slots,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Run a model as it is, and then with the slots' steps in the places of its blocks."""
    with torch.no_grad(), capturing(blocks) as calls, recording(blocks) as outputs:
        forward(*args, **kwargs)
    if [call.module for call in calls] != list(blocks):
        raise InputError(
            f"{len(calls)} blocks ran where there are {len(blocks)}, or in another order: an edit "
            "needs blocks that run one after the other, each once"
        )
    inside: list[bool] = []

    def slot(number: int, own: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            if inside:  # a block that another slot runs
                return own(*given, **named)
            inside.append(True)
            try:
                states = given[0] if given else named[calls[number].first]
                return with_states(outputs[number], _stepped(slots[number], states, calls))
            finally:
                inside.pop()

        return run

    with ExitStack() as left:
        for number, block in enumerate(blocks):
            left.enter_context(overriding(block, slot(number, block.forward)))
        return forward(*args, **kwargs)


def _stepped(steps: tuple[Any, ...], states: Tensor, calls: list[Call]) -> Tensor:
    for step in steps:
        outputs = [_replayed(calls[block - 1], states) for block in step.blocks]
        states = after(step, states, outputs)
    return states


def _replayed(call: Call, states: Tensor) -> Tensor:
    """What a block gives in a slot. Hooks that watch it hear of the slot, and not of this."""
    module, own = call.module, call.module._forward_hooks
    needed = module._forward_hooks_always_called  # those that give back what is lent to a block
    module._forward_hooks = OrderedDict((n, hook) for n, hook in own.items() if n in needed)
    try:
        return call.replay(states)
    finally:
        module._forward_hooks = own


@contextmanager
def _without_cache(model: nn.Module) -> Iterator[None]:
    """Have `generate` ask for no cache while it lasts."""
    config: Any = getattr(model, "generation_config", None)
    if config is None:
        yield
        return
    before = config.use_cache
    config.use_cache = False
    try:
        yield
    finally:
        config.use_cache = before
