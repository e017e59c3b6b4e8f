"""Jacobians of a block between tokens: each token with itself, to one output, from one input.

    J^l_{t1 t2} = d f^l(X^{l-1})_{t2} / d x^{l-1}_{t1}                    (paper, Eq. 8)

In a causal model it is zero where t1 > t2, and none is taken there.
"""

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.calls import Call
from coupling_core.chunks import Chunks
from coupling_core.context import Source, context_jacobians, source
from coupling_core.decode import Capture, Reader, decode, with_context
from coupling_core.jacobian import block_jacobian
from coupling_core.records import resolve_token

ROWS_TIMES_TOKENS = 4096
"""Of a differentiation through the whole sequence at a time, so that memory stays bounded."""


def self_jacobians(
    reader: Reader, blocks: Iterable[int], tokens: Iterable[int], *, final_norm: bool = True
) -> Iterator[tuple[int, list[Float[Tensor, "d d"]]]]:
    """J^l_tt of chosen blocks at chosen tokens, from one pass over the prompt.

    Args:
        reader: a model with its prompt.
        blocks: their numbers, 1..L.
        tokens: 1..n.
        final_norm: whether the model's final norm belongs to the last block (Eq. 7).

    Yields:
        token by token, t and the Jacobian of each block without the skip connection.
    """
    for captures in decode(reader, blocks, tokens):
        found = [block_jacobian(c.block, _norm(reader, c, final_norm)) for c in captures]
        yield captures[0].token, found


def output_jacobians(
    reader: Reader, blocks: Iterable[int], output_token: int, *, final_norm: bool = True
) -> Iterator[Float[Tensor, "token d d"]]:
    """J^l_{t1 t2} of chosen blocks for one output token t2 and every t1 (up to t2 if causal).

    Args:
        reader: a model with its prompt.
        blocks: their numbers, 1..L.
        output_token: t2, 1..n; -1 is the last.
        final_norm: whether the model's final norm belongs to the last block (Eq. 7).

    Yields:
        block by block, all J_{t1 t2} in the order of t1.
    """
    t2 = resolve_token(output_token, reader.n_tokens)
    captures, before = with_context(reader, blocks, t2)
    whole: list[Call] = []
    for index, capture in enumerate(captures):
        norm = _norm(reader, capture, final_norm)
        tokens = source(before[index], 1) if before else None
        found = context_jacobians(capture, tokens, norm) if tokens else None
        if found is not None:
            yield torch.cat([found[0], found[1][None]])
            continue
        whole = whole or reader.whole(t2 if reader.kind.causal else None)
        yield through_all(whole[capture.block.number - 1], t2, norm)


def input_jacobians(
    reader: Reader,
    blocks: Iterable[int],
    input_token: int,
    output_tokens: Iterable[int],
    *,
    final_norm: bool = True,
) -> Iterator[tuple[int, list[Float[Tensor, "d d"]]]]:
    """J^l_{t1 t2} of chosen blocks for one input token t1 and chosen t2, from t1 on if causal.

    Args:
        reader: a model with its prompt.
        blocks: their numbers, 1..L.
        input_token: t1, 1..n; -1 is the last.
        output_tokens: t2, 1..n.
        final_norm: whether the model's final norm belongs to the last block (Eq. 7).

    Yields:
        token by token, t2 and J_{t1 t2} of each block.
    """
    t1 = resolve_token(input_token, reader.n_tokens)
    wanted = {t for t in output_tokens if t >= t1 or not reader.kind.causal}
    sources: list[Source | None] = []
    whole: list[Call] = []
    for captures in decode(reader, blocks, wanted | {t1}):
        t2, found = captures[0].token, []
        if t2 == t1:
            sources = [source(c.call, t1) if c.call else None for c in captures]
        if t2 not in wanted:
            continue
        for index, capture in enumerate(captures):
            norm = _norm(reader, capture, final_norm)
            if t1 == t2:
                found.append(block_jacobian(capture.block, norm))
                continue
            tokens = sources[index] if sources else None
            context = context_jacobians(capture, tokens, norm) if tokens else None
            if context is None:
                whole = whole or reader.whole()
                call = whole[capture.block.number - 1]
                found.append(through_all(call, t2, norm)[t1 - 1])
            else:
                found.append(context[0][0])
        yield t2, found


def _norm(reader: Reader, capture: Capture, final_norm: bool) -> nn.Module | None:
    last = capture.block.number == reader.n_blocks
    return reader.kind.final_norm if last and final_norm else None


def through_all(
    call: Call, output_token: int, final_norm: nn.Module | None
) -> Float[Tensor, "token d d"]:
    """J_{t1 t2} for every t1 as the definition reads: the block over the whole sequence."""
    X = call.hidden.detach().clone().requires_grad_()
    with torch.enable_grad():
        y = call.replay(X)[0, output_token - 1]
        y = y if final_norm is None else final_norm(y)
    n, d = X.shape[1:]
    unit = torch.eye(d, dtype=y.dtype, device=y.device)
    J = unit.new_empty(n, d, d)

    def pull_back(rows: slice) -> Tensor:
        return torch.autograd.grad(y, X, unit[rows], retain_graph=True, is_grads_batched=True)[0]

    for rows, found in Chunks(max(1, ROWS_TIMES_TOKENS // n)).of(pull_back, d):
        J[:, rows] = found[:, 0].transpose(0, 1)
    J[output_token - 1].diagonal().sub_(1)
    return J
