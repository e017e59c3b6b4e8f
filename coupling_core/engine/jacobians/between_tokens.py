"""Jacobians of a block between tokens: each token with itself, to one output, from one input.

    J^l_{t1 t2} = d f^l(X^{l-1})_{t2} / d x^{l-1}_{t1}                    (paper, Eq. 8)

In a causal model it is zero where t1 > t2, and none is taken there.
"""

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.base.errors import ComputeError
from coupling_core.base.memory import is_out_of_memory
from coupling_core.base.records import resolve_token
from coupling_core.base.results.depth import SMALL
from coupling_core.base.results.tokens import FAINT
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.decode import Capture, Reader, decode, with_context
from coupling_core.engine.jacobians.derivative_check import (
    SMALL_TOLERANCE,
    check_between,
    checked_jacobian,
    doubled,
    exact_error,
)
from coupling_core.engine.jacobians.earlier_tokens import Source, context_jacobians, source
from coupling_core.engine.jacobians.gradients import gradients_by
from coupling_core.engine.jacobians.same_token import residual
from coupling_core.engine.out_of_memory import Chunks
from coupling_core.engine.ways_taken import at_block, note

ROWS_TIMES_TOKENS = 4096
"""Of a differentiation through the whole sequence at a time, so that memory stays bounded."""
_ByToken = dict[int, Float[Tensor, "d d"]]

UNSEEN = 1e-12
"""Of the largest one's norm, or the identity's: so that float64 leaves four digits of any other."""


def self_jacobians(
    reader: Reader, blocks: Iterable[int], tokens: Iterable[int], *, final_norm: bool = True
) -> Iterator[tuple[int, list[Float[Tensor, "d d"]]]]:
    """J^l_tt of chosen blocks at chosen tokens, from one pass over the prompt.

    They come token by token, t with that of each block, without the skip connection. Raises
    `ComputeError` where one is not the derivative of what its block computes.
    """
    for captures in decode(reader, blocks, tokens):
        found = [checked_jacobian(c.block, _norm(reader, c, final_norm)) for c in captures]
        yield captures[0].token, found


def output_jacobians(
    reader: Reader, blocks: Iterable[int], output_token: int, *, final_norm: bool = True
) -> Iterator[Float[Tensor, "token d d"]]:
    """J^l_{t1 t2} of chosen blocks for one output token t2 and every t1 (up to t2 if causal).

    They come block by block, in the order of t1; raises as `self_jacobians`.
    """
    t2 = resolve_token(output_token, reader.n_tokens)
    captures, before = with_context(reader, blocks, t2)
    for index, capture in enumerate(captures):
        number = capture.block.number
        norm = _norm(reader, capture, final_norm)
        if t2 == 1 and reader.kind.causal:  # it sees itself alone
            yield checked_jacobian(capture.block, norm)[None]
            continue
        whole = reader.whole[number - 1]
        with at_block(number):
            tokens = _source(before[index], 1) if before else None
            context = _context(capture, tokens, norm)
            if context is None:
                found = through_all(whole, t2, norm)[: t2 if reader.kind.causal else None]
            else:
                found = torch.cat([context[0], context[1][None]])
            right = _checked(whole, number, t2, dict(enumerate(found, 1)), norm)
        yield torch.stack(list(right.values()))


def input_jacobians(
    reader: Reader,
    blocks: Iterable[int],
    input_token: int,
    output_tokens: Iterable[int],
    *,
    final_norm: bool = True,
) -> Iterator[tuple[int, list[Float[Tensor, "d d"]]]]:
    """J^l_{t1 t2} of chosen blocks for one input token t1 and chosen t2, from t1 on if causal.

    They come token by token, t2 with that of each block; raises as `self_jacobians`.
    """
    t1 = resolve_token(input_token, reader.n_tokens)
    wanted = {t for t in output_tokens if t >= t1 or not reader.kind.causal}
    sources: list[Source | None] = []
    for captures in decode(reader, blocks, wanted | {t1}):
        t2, found = captures[0].token, []
        if t2 == t1:
            sources = [_source(c.call, t1) for c in captures]
        if t2 not in wanted:
            continue
        for index, capture in enumerate(captures):
            norm = _norm(reader, capture, final_norm)
            if t1 == t2:
                found.append(checked_jacobian(capture.block, norm))
                continue
            number = capture.block.number
            whole = reader.whole[number - 1]
            with at_block(number):
                context = _context(capture, sources[index], norm) if sources else None
                J = through_all(whole, t2, norm)[t1 - 1] if context is None else context[0][0]
                found += _checked(whole, number, t2, {t1: J}, norm).values()
        yield t2, found


def _checked(
    call: Call,
    number: int,
    output_token: int,
    found: _ByToken,
    final_norm: nn.Module | None,
) -> _ByToken:
    """What was found by t1, where it is right; else the definition in true float64.

    Of a token that has next to nothing to do with the output, float32 may hold rounding alone; what
    float64 does not resolve either is zero, as that of a token that is not seen at all.
    """
    given = (output_token, final_norm)
    bright, faint = _parted(found, FAINT)
    small = _parted(found, SMALL)[1]
    try:
        check_between(call, number, output_token, bright, final_norm)
        if not small or exact_error(call, output_token, small, final_norm) <= SMALL_TOLERANCE:
            return found
        failed = None
    except ComputeError as error:
        failed = error
    with doubled(call, *given) as double:
        if double is None and not failed and not faint:
            note("small Jacobians in float32", "the block does not run in float64")
            return found
        if double is None:
            raise failed or ComputeError(
                f"block {number} hands so little from token {min(faint)} to token {output_token} "
                "that float32 holds rounding alone, and it does not run in float64"
            )
        J = through_all(double, *given)
        fine = {t1: J[t1 - 1] for t1 in found}
        check_between(double, number, output_token, _parted(fine, FAINT)[0], final_norm)
    note("between tokens in float64", "float32 was too coarse")
    return {t1: J.to(call.hidden.dtype) for t1, J in _seen(fine).items()}


def _parted(jacobians: _ByToken, least: float) -> tuple[_ByToken, _ByToken]:
    """Those of no less than this part of the largest, or of the identity, and zeros; the others.

    Rounding in float32 leaves 1e-8 of either in each.
    """
    norms = _norms(jacobians)
    limit = least * _scale(jacobians, norms)
    below = {t1: jacobians[t1] for t1, norm in norms.items() if 0 < norm < limit}
    return {t1: J for t1, J in jacobians.items() if t1 not in below}, below


def _seen(jacobians: _ByToken) -> _ByToken:
    """Zeros in place of what float64 does not resolve either."""
    norms = _norms(jacobians)
    least = UNSEEN * _scale(jacobians, norms)
    return {t1: J if norms[t1] >= least else torch.zeros_like(J) for t1, J in jacobians.items()}


def _norms(jacobians: _ByToken) -> dict[int, float]:
    """Asked for at once: a GPU is waited for each time."""
    norms = torch.stack([J.norm() for J in jacobians.values()])
    return dict(zip(jacobians, norms.tolist(), strict=True))


def _scale(jacobians: _ByToken, norms: dict[int, float]) -> float:
    width = len(next(iter(jacobians.values())))
    return max(*norms.values(), width**0.5)


def _source(call: Call | None, first: int) -> Source | None:
    """What `source` finds; None where the block's code cannot be followed."""
    try:
        return source(call, first) if call else None
    except Exception as error:  # it meets whatever blocks do
        _noted_or_raised(error)
        return None


def _context(
    capture: Capture, given: Source | None, norm: nn.Module | None
) -> tuple[Float[Tensor, "token d d"], Float[Tensor, "d d"]] | None:
    """What `context_jacobians` finds; None where the block's code cannot be followed."""
    try:
        found = context_jacobians(capture, given, norm) if given else None
    except Exception as error:  # the same
        _noted_or_raised(error)
        return None
    if found:
        note("between tokens through keys and values")
    return found


def _noted_or_raised(error: Exception) -> None:
    if is_out_of_memory(error):
        raise error
    note("no keys and values to follow", type(error).__name__)


def _norm(reader: Reader, capture: Capture, final_norm: bool) -> nn.Module | None:
    last = capture.block.number == reader.n_blocks
    return reader.kind.final_norm if last and final_norm else None


def through_all(
    call: Call, output_token: int, final_norm: nn.Module | None
) -> Float[Tensor, "token d d"]:
    """J_{t1 t2} for every t1 as the definition reads: the block over the whole sequence."""
    X = call.hidden.detach().clone().requires_grad_()
    with torch.enable_grad():
        at = output_token - 1
        f = residual(call.replay(X)[0, at], X[0, at], final_norm)
    n, d = X.shape[1:]
    unit = torch.eye(d, dtype=f.dtype, device=f.device)
    J = unit.new_empty(n, d, d)
    note("between tokens over the whole sequence")

    def pull_back(rows: slice) -> Tensor:
        return gradients_by(f, X, unit[rows])

    for rows, found in Chunks(max(1, ROWS_TIMES_TOKENS // n)).of(pull_back, d):
        J[:, rows] = found[:, 0].transpose(0, 1)
    return J
