"""One forward pass: the states of the residual stream, and each block ready to be replayed.

A causal block is captured while the model decodes the measured token alone, over a cache of the
tokens before it: replaying it is then a function of that one token's state, and far cheaper than
the whole sequence. A bidirectional block is captured over the whole sequence and replayed with one
row replaced. Which of the two holds is decided by a gradient, never by the model's name.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.calls import Call
from coupling_core.records import Stack, resolve_token
from coupling_core.rows import Rows
from coupling_core.runner import Kind, Runner, find_kind, runner_of


@dataclass(frozen=True)
class Block:
    """One captured block as a function of the measured token.

    Args:
        number: 1..L.
        state: x^{l-1}_t, the token's state before the block.
        output: F^l(X^{l-1})_t as the model itself computed it.
        module: the block itself.
        replay: maps a state (1 1 d) to the block's output at the token (d).
    """

    number: int
    state: Float[Tensor, " d"]
    output: Float[Tensor, " d_out"]
    module: nn.Module
    replay: Callable[[Float[Tensor, "1 1 d"]], Float[Tensor, " d_out"]]


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
    model: nn.Module,
    reads: list[int] | Float[Tensor, "1 channel height width"],
    token: int,
    *,
    stack: Stack | None = None,
    device: torch.device | None = None,
    kind: Kind | None = None,
) -> Trace:
    """Run the model and capture every block at one token.

    Args:
        model: a transformers model (or one that wraps it), in evaluation mode.
        reads: the prompt: its token ids, or an image as the model takes it.
        token: the measured token, 1..n; -1 is the last.
        stack: which stack of an encoder-decoder model; None is the decoder there. The encoder
            reads the prompt, and the decoder the prompt shifted right by its start token.
        device: where the model computes; None is where its weights are.
        kind: what an earlier trace of this very stack found; None finds it out.

    Raises:
        InputError: where the model has no blocks, or blocks that cannot be replayed, or the prompt
            has no such token.
        ComputeError: where a state is not finite.
    """
    runner, ids = runner_of(model, reads, stack, device)
    kind = kind or find_kind(runner, ids)
    if not runner.reads_tokens:
        return _of_image(runner, ids, token, kind)
    token = resolve_token(token, ids.shape[1])
    seen = ids[:, :token] if kind.causal else ids
    with torch.no_grad():
        cache = runner.prefill(seen[:, :-1]) if kind.causal and token > 1 else None
        if cache is not None:
            calls, output = runner.run(seen[:, -1:], use_cache=True, past_key_values=cache)
            captured = [at_one_token(number, call) for number, call in enumerate(calls, 1)]
        else:
            calls, output = runner.run(seen, use_cache=False)
            captured = [
                at_one_row(number, Rows(call), token) for number, call in enumerate(calls, 1)
            ]
    logits = getattr(output, "logits", None)
    shown = None if logits is None else logits[0, -1 if cache is not None else token - 1]
    return Trace(ids[0].tolist(), token, captured, shown, kind)


def _of_image(
    runner: Runner, image: Float[Tensor, "1 channel height width"], token: int, kind: Kind
) -> Trace:
    with torch.no_grad():
        calls, output = runner.run(image)
    n = calls[0].hidden.shape[1]
    token = resolve_token(token, n)
    captured = [at_one_row(number, Rows(call), token) for number, call in enumerate(calls, 1)]
    logits = getattr(output, "logits", None)
    shown = logits[0] if logits is not None and logits.ndim == 2 else None
    return Trace(list(range(n)), token, captured, shown, kind)


def at_one_token(number: int, call: Call) -> Block:
    """A block from its call with the measured token alone, over a cache of the tokens before."""
    return Block(
        number, call.hidden[0, 0], call.output[0, 0], call.module, lambda x: call.replay(x)[0, 0]
    )


def at_one_row(number: int, rows: Rows, token: int) -> Block:
    """A block from its call with the whole sequence, of which the token (1..n) is one row."""
    row, call = token - 1, rows.call
    return Block(
        number,
        call.hidden[0, row],
        call.output[0, row],
        call.module,
        lambda x: rows.replay(x, row),
    )
