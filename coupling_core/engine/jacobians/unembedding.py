"""What a model's own tail makes of any state: final norm, head, and whatever belongs to them.

The model runs as it is, except that each block gives what it gave before, and the last one the
states that are asked about. So the tail is the model's own, soft-capping and scaling included, and
norms a state exactly once.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.engine.jacobians.captured_calls import tensor_of
from coupling_core.engine.jacobians.runner import Reads, Runner
from coupling_core.engine.loading import Wrapped
from coupling_core.engine.out_of_memory import Chunks
from coupling_core.engine.replaced_forward import overriding

LOGITS = 2**26
"""Logits taken at a time: 256 MB in float32."""
SAME = 1e-3
"""How far the logits of the last state may be from the model's own, relative to their norm."""

NO_HEAD = "this model has no head over a vocabulary"
LAST_ALONE = "this model's head gives logits of the last token alone"
OTHER_HEAD = "this model's head does not read the last block's output alone"


def logit_entropy(
    runner: Runner, ids: Reads, states: Float[Tensor, "state token d"]
) -> tuple[Float[Tensor, "state token"], str]:
    """Entropy in nats of the next-token distribution that each state would give.

    Args:
        runner: of the stack.
        ids: what it reads.
        states: the raw x^0 .. x^L, none of them normed.

    Returns:
        the entropies, and why there are none (all NaN); an empty text where there are.
    """
    with torch.no_grad(), _recorded(runner.blocks) as outputs:
        own = runner.next_token(runner(ids, use_cache=False))
    none = torch.full(states.shape[:2], torch.nan, device=states.device)
    if own is None:
        return none, NO_HEAD
    if own.shape[1] != states.shape[1]:
        return none, LAST_ALONE
    # The output of an encoder is held for one sequence, and a forward of somebody's own takes one.
    many = 1 if runner.given or isinstance(runner.model, Wrapped) else max(1, LOGITS // own.numel())
    with torch.no_grad(), _replaced(runner.blocks, outputs) as replace:

        def given(part: slice) -> tuple[Tensor, Tensor]:
            some = states[part]
            replace(some)
            logits = runner(ids.expand(len(some), -1), use_cache=False).logits
            return _entropy(logits), logits[-1].clone()

        found, logits = zip(*(of for _, of in Chunks(many).of(given, len(states))), strict=True)
    if not (logits[-1] - own[0]).norm() <= SAME * own.norm():
        return none, OTHER_HEAD
    return torch.cat(found), ""


def _entropy(logits: Float[Tensor, "state token v"]) -> Float[Tensor, "state token"]:
    log_p = logits.float().log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@contextmanager
def _recorded(blocks: nn.ModuleList) -> Iterator[list[Any]]:
    """Collect what each block gives, in the form in which it gives it."""
    outputs: list[Any] = []
    handles = [
        block.register_forward_hook(lambda _, args, output: outputs.append(output))
        for block in blocks
    ]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _replaced(
    blocks: nn.ModuleList, outputs: list[Any]
) -> Iterator[Callable[[Float[Tensor, "state token d"]], None]]:
    """While it lasts, blocks give what they gave before, but the last one other states."""
    given = [tensor_of(outputs[-1])]

    def last(*_: Any, **__: Any) -> Any:
        whole = outputs[-1]
        return given[0] if isinstance(whole, Tensor) else type(whole)((given[0], *whole[1:]))

    with ExitStack() as stack:
        for block, output in zip(blocks, outputs, strict=True):
            stack.enter_context(overriding(block, lambda *_, output=output, **__: output))
        stack.enter_context(overriding(blocks[-1], last))
        yield lambda states: given.__setitem__(0, states)
