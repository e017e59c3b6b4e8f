"""What a model's own tail makes of any state: final norm, head, and whatever belongs to them.

The model runs as it is, except that each block gives what it gave before, and the last one the
states that are asked about. So the tail is the model's own, soft-capping and scaling included, and
norms a state exactly once.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.engine.jacobians.captured_calls import recording, with_states
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


@dataclass(frozen=True)
class Tail:
    """What a model makes of the states after its last block.

    Args:
        output: the model's own, of the prompt as it is.
        of: what it makes of other states (sequence token d).
        alone: whether it takes one sequence at a time.
    """

    output: Any
    of: Callable[[Float[Tensor, "sequence token d"]], Any]
    alone: bool


def own_tail(runner: Runner, ids: Reads) -> Tail:
    """A model's own tail.

    Args:
        runner: of the stack.
        ids: what it reads.
    """
    with torch.no_grad(), recording(runner.blocks) as outputs:
        own = runner(ids, use_cache=False)

    def of(states: Float[Tensor, "sequence token d"]) -> Any:
        with torch.no_grad(), _replaced(runner.blocks, outputs, states):
            return runner(ids.expand(len(states), *ids.shape[1:]), use_cache=False)

    # The output of an encoder is held for one sequence, and a forward of somebody's own takes one.
    return Tail(own, of, bool(runner.given) or isinstance(runner.model, Wrapped))


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
    none = torch.full(states.shape[:2], torch.nan, device=states.device)
    tail = own_tail(runner, ids)
    own = runner.next_token(tail.output)
    if own is None:
        return none, NO_HEAD
    if own.shape[1] != states.shape[1]:
        return none, LAST_ALONE
    many = 1 if tail.alone else max(1, LOGITS // own.numel())

    def given(part: slice) -> tuple[Tensor, Tensor]:
        logits = tail.of(states[part]).logits
        return _entropy(logits), logits[-1].clone()

    found, logits = zip(*(of for _, of in Chunks(many).of(given, len(states))), strict=True)
    if not (logits[-1] - own[0]).norm() <= SAME * own.norm():
        return none, OTHER_HEAD
    return torch.cat(found), ""


def _entropy(logits: Float[Tensor, "state token v"]) -> Float[Tensor, "state token"]:
    log_p = logits.float().log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@contextmanager
def _replaced(
    blocks: nn.ModuleList, outputs: list[Any], states: Float[Tensor, "sequence token d"]
) -> Iterator[None]:
    """While it lasts, blocks give what they gave before, but the last one other states."""
    given = [*outputs[:-1], with_states(outputs[-1], states)]
    with ExitStack() as stack:
        for block, output in zip(blocks, given, strict=True):
            stack.enter_context(overriding(block, lambda *_, output=output, **__: output))
        yield
