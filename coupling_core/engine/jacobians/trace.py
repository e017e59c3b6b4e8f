"""One forward pass: the states of the residual stream, and each block ready to be replayed.

A causal block is captured while the model runs the measured token alone, over what it kept of the
tokens before: replaying it is then a function of that one token's state, and far cheaper than the
whole sequence. A bidirectional block is captured over the whole sequence and replayed with one row
replaced. Which of the two holds is found out (see `stack_properties`), never taken from the model's
name.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.base.records import Stack, resolve_token
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.decode import Reader, read
from coupling_core.engine.jacobians.runner import Prompt
from coupling_core.engine.jacobians.stack_properties import Kind


@dataclass(frozen=True)
class Trace:
    """The forward pass at one token.

    Args:
        token_ids: what the measured stack reads; of an image, the numbers of its tokens from 0.
        token: the measured one, 1..n.
        blocks: every block, in order.
        logits: next-token logits at the measured token, or those of the classes of an image; None
            for a model without a head.
        kind: of the stack.
    """

    token_ids: list[int]
    token: int
    blocks: list[Block]
    logits: Float[Tensor, " vocabulary"] | None
    kind: Kind


def trace(
    model: Any,
    reads: Prompt,
    token: int,
    *,
    stack: Stack | None = None,
    device: torch.device | None = None,
    kind: Kind | None = None,
    fast: bool = True,
) -> Trace:
    """Run the model and capture every block at one token.

    Args:
        model: a transformers model, what `wrap` returns, or what wraps one of these; in evaluation
            mode.
        reads: the prompt: its token ids as a list, a tuple, or an array or tensor of shape (token)
            or (1 token); or an image as the model takes it (1 channel height width).
        token: the measured token, 1..n; -1 is the last.
        stack: which stack of an encoder-decoder model; None is the decoder there. The encoder
            reads the prompt, and the decoder the prompt shifted right by its start token.
        device: where the model computes; None is where its weights are.
        kind: what an earlier trace of this very stack found; None finds it out.
        fast: whether ways other than the definition's are taken where they give the same.

    Raises:
        InputError: where the model has no blocks, or blocks that cannot be replayed, or the prompt
            has no such token.
        ComputeError: where a state is not finite, or the model's own code fails.
    """
    reader = read(model, reads, stack=stack, device=device, kind=kind, fast=fast)
    return trace_of(reader, token)


def trace_of(reader: Reader, token: int) -> Trace:
    """The same of a model that already reads its prompt."""
    moment = reader.at(resolve_token(token, reader.n_tokens))
    return Trace(reader.token_ids, moment.token, moment.blocks, moment.logits, reader.kind)
