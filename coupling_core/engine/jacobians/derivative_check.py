"""Whether a Jacobian is the derivative of what its block computes: no number leaves without it.

Two questions, each along random directions together with the leading singular ones, which are
those that are measured:

    u^T J  against what the block's own gradients give     (are its parts put together right?)
    J v    against differences of what the block computes  (are its gradients those of its values?)

Where float32 is too coarse for an answer, both are asked again in true float64, where neither
rounding nor curvature leaves any doubt.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.memory import is_out_of_memory
from coupling_core.base.results.depth import SMALL
from coupling_core.engine.jacobians.captured_block import Block, random_directions
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.same_token import block_jacobian, pulled_rows, residual
from coupling_core.engine.jacobians.true_float64 import in_float64
from coupling_core.engine.ways_taken import at_block, note, note_error

GRADIENT_TOLERANCE = 1e-4
"""How far u^T J may be off, relative to its norm: rounding leaves 1e-6."""
ROUNDING = 8 * torch.finfo(torch.float32).eps
"""What float32 leaves of a row of I + J, whose largest entry is 1 and may be large beside J."""

SMALL_TOLERANCE = 5e-6
"""How far a small J may be from its block's gradients in float64, relative to its norm."""

DIFFERENCE_TOLERANCE = 2e-3
"""How far J v may be off from a difference, relative to its norm: a Jacobian that is 1 % wrong must
not pass, whether it is so all over or along a few directions."""
STEPS = (1e-3, 3e-3, 1e-2, 3e-4, 3e-2)
"""Steps of a difference in float32, relative to the norm of the state: rounding drowns a short one,
and a long one leaves the neighbourhood in which the block is smooth."""
TINY = torch.finfo(torch.float32).tiny
"""In place of the norm of a product that is zero."""
FINE_STEPS = (1e-5, 1e-6, 1e-4, 1e-7)
"""The same in float64: a kink (ReLU, a change of experts) may lie inside a long one."""


@dataclass(frozen=True)
class _Function:
    """f = F - x of a block, as a function of states.

    Args:
        of: the function.
        at: the states at which it is differentiated.
        modules: that compute it.
        double: the same in float64; None where it is not known.
    """

    of: Callable[[Tensor], Float[Tensor, " d"]]
    at: Float[Tensor, "*token d"]
    modules: tuple[nn.Module, ...]
    double: "Callable[[], _Function] | None"


def checked_jacobian(block: Block, final_norm: nn.Module | None = None) -> Float[Tensor, "d d"]:
    """J^l_tt as `block_jacobian` gives it, checked; by slower ways where it is found wrong.

    They are the definition, and the definition in float64, for a block that is so curved that
    rounding its state in float32 moves its derivative.

    Args:
        block: a captured block.
        final_norm: the model's final norm where it belongs to this block.

    Raises:
        InputError: where the block changes the width, or its replay is not what the model ran.
        ComputeError: where J is zero or not finite, or not the derivative of what is computed.
    """
    with at_block(block.number):
        return _checked_jacobian(block, final_norm)


def _checked_jacobian(block: Block, final_norm: nn.Module | None) -> Float[Tensor, "d d"]:
    jacobian = block_jacobian(block, final_norm)
    off = gradient_error(block, jacobian, final_norm)
    if block.fast and off > GRADIENT_TOLERANCE:
        note("a Jacobian backwards", "the fast way was off")
        block = replace(block, fast=False)
        jacobian = block_jacobian(block, final_norm)
        off = gradient_error(block, jacobian, final_norm)
    refused = None
    try:
        _require_right(block, jacobian, final_norm, off)
    except ComputeError as error:
        refused = error
    if not refused and jacobian.norm() >= SMALL * len(jacobian) ** 0.5:
        return jacobian
    fine = _in_float64(block, final_norm, None if refused else jacobian)
    if fine is None and refused:
        raise refused
    if fine is None:
        note("a small Jacobian in float32", "its block does not run in float64")
    return jacobian if fine is None else fine


def _in_float64(
    block: Block, final_norm: nn.Module | None, found: Float[Tensor, "d d"] | None
) -> Float[Tensor, "d d"] | None:
    """J as true float64 gives it, or as it was found where that is as good.

    None where the block does not run in float64, or rounds to float32 inside.
    """
    with _doubled(_of_block(block, final_norm)) as double:
        if double is None or block.doubled is None:
            return None
        if found is not None:
            note("a small Jacobian held against float64")
            if _gradient_error(double, found.double()) <= SMALL_TOLERANCE:
                return found
        fine = replace(block.doubled(), fast=False)
        try:
            jacobian = block_jacobian(fine, final_norm)
        except InputError:
            return None
        off = gradient_error(fine, jacobian, final_norm)
        _require_right(fine, jacobian, final_norm, off)
    note("a Jacobian in float64", "float32 was too coarse")
    return jacobian.to(block.state.dtype)


def _require_right(
    block: Block, jacobian: Float[Tensor, "d d"], final_norm: nn.Module | None, off: float
) -> None:
    """Refuse a Jacobian that is `off` from its block's gradients, or is not its derivative."""
    if not off <= GRADIENT_TOLERANCE:
        raise ComputeError(
            f"the Jacobian of block {block.number} is not what its gradients give: along one "
            f"direction it is off by {off:.2%}, and nothing of it is kept. A hook or code of your "
            "own that rounds, detaches or draws at random would do that; where there is none, "
            "please report the model"
        )
    check_derivative(block, jacobian, final_norm)


def gradient_error(
    block: Block, jacobian: Float[Tensor, "d d"], final_norm: nn.Module | None = None
) -> float:
    """How far u^T J is from the block's gradients, relative to its norm: the worst of some u."""
    function = _of_block(block, final_norm)
    found = _gradient_error(function, jacobian)
    if found <= GRADIENT_TOLERANCE:
        return found
    with _doubled(function) as double:
        return _gradient_error(double, jacobian.double(), ROUNDING) if double else found


def _gradient_error(function: _Function, J: Float[Tensor, "d d"], rounding: float = 0) -> float:
    u = _drawn(J.mT)
    x = function.at.detach().clone().requires_grad_()
    with torch.enable_grad():
        (own,) = torch.autograd.grad(function.of(x), x, u)
    off = (own - u @ J).norm() - rounding * u.norm()
    return float(off / (u @ J).norm())


def check_derivative(
    block: Block, jacobian: Float[Tensor, "d d"], final_norm: nn.Module | None = None
) -> float:
    """Compare J v with differences of what the block computes.

    Args:
        block: a captured block.
        jacobian: what was found for it.
        final_norm: as it was given there.

    Returns:
        the largest relative error, each of the first step that agrees.

    Raises:
        ComputeError: where none agrees: gradients that are not those of what is computed.
    """
    v = _drawn(jacobian)
    return check_product(block, v, jacobian @ v, final_norm)


def _drawn(J: Float[Tensor, "d d"]) -> Float[Tensor, " d"]:
    """A random v and one along the leading singular vectors, in a sum: J makes as much of either.

    So one question tells what is wrong all over, and what is wrong along a few directions.
    """
    v = random_directions(J, 1)
    both = torch.cat([v, v @ J.mT @ J])
    return (both / (both @ J.mT).norm(dim=1, keepdim=True).clamp_min(TINY)).sum(0)


def check_product(
    block: Block,
    direction: Float[Tensor, " d"],
    product: Float[Tensor, " d"],
    final_norm: nn.Module | None = None,
) -> float:
    """The same for a product J v that was had without J.

    The product is without the skip connection.
    """
    return _checked(_of_block(block, final_norm), direction, product, block.number)


def check_between(
    call: Call,
    number: int,
    output_token: int,
    jacobians: Mapping[int, Float[Tensor, "d d"]],
    final_norm: nn.Module | None = None,
) -> float:
    """Compare J_{t1 t2} with differences of what the block computes over the whole sequence.

    All input tokens move at once, but for the output's own, which moves by itself: it moves the
    output most, and would hide the others.

    Args:
        call: of the block over the whole sequence.
        number: of the block, 1..L.
        output_token: t2, 1..n.
        jacobians: J_{t1 t2} by t1.
        final_norm: the model's final norm where it belongs to this block.

    Raises:
        ComputeError: where they are not the derivative of what is computed.
    """
    function = _of_call(call, output_token, final_norm)
    own = [t1 for t1 in jacobians if t1 == output_token]
    others = [t1 for t1 in jacobians if t1 != output_token]
    errors = []
    for moving in filter(None, (own, others)):
        v = torch.zeros_like(call.hidden)
        drawn = random_directions(call.hidden[0], len(moving))
        for t1, direction in zip(moving, drawn, strict=True):
            v[0, t1 - 1] = direction * call.hidden[0, t1 - 1].norm()
        product = torch.stack([jacobians[t1] @ v[0, t1 - 1] for t1 in moving]).sum(0)
        errors.append(_checked(function, v, product, number))
    return max(errors, default=0.0)


def check_along(
    call: Call, number: int, direction: Float[Tensor, "1 token d"], product: Tensor
) -> float:
    """The same for J v over the whole sequence, where all tokens move at once.

    The product (1 token d) is without the skip connection.
    """
    return _checked(_of_all(call), direction, product.flatten(), number)


def exact_error(
    call: Call,
    output_token: int,
    jacobians: Mapping[int, Float[Tensor, "d d"]],
    final_norm: nn.Module | None = None,
) -> float:
    """How far u^T J_{t1 t2} is from gradients in true float64, each relative to its own norm.

    Args:
        call: of the block over the whole sequence.
        output_token: t2, 1..n.
        jacobians: J_{t1 t2} by t1.
        final_norm: the model's final norm where it belongs to this block.

    Returns:
        the worst of all t1; inf where the block does not run in float64.
    """
    with _doubled(_of_call(call, output_token, final_norm)) as double:
        if double is None:
            return float("inf")
        X = double.at.detach().clone().requires_grad_()
        with torch.enable_grad():
            f = double.of(X)
        u = random_directions(f, 2)
        (own,) = pulled_rows(f, [X], u)
    assert own is not None  # f depends on its own token
    rows = own.reshape(len(u), -1, u.shape[1])  # (u, token, d)
    return max(
        float((u @ J.double() - exact).norm() / exact.norm().clamp_min(TINY))
        for J, exact in ((J, rows[:, t1 - 1]) for t1, J in jacobians.items())
    )


def _checked(function: _Function, v: Tensor, product: Float[Tensor, " d"], number: int) -> float:
    """The error of a product J v."""
    is_fine = function.at.dtype == torch.float64
    error = _first(FINE_STEPS if is_fine else STEPS, function, v, product)
    if error > DIFFERENCE_TOLERANCE:
        with _doubled(function) as double:
            if double:
                error = _first(FINE_STEPS, double, v.double(), product.double())
    if not error <= DIFFERENCE_TOLERANCE:
        raise ComputeError(
            f"the Jacobian of block {number} is not the derivative of what the block computes: a "
            f"difference along one direction is off by {error:.1%} where "
            f"{DIFFERENCE_TOLERANCE:.1%} was allowed; its gradients are approximate (a backward "
            "hook, quantised kernels, a step that hands them on as they are, or a mask that hides "
            "every token from this one, itself included), or it is not smooth here"
        )
    note_error(error)
    return error


def _first(steps: tuple[float, ...], function: _Function, v: Tensor, product: Tensor) -> float:
    """The error of the first step that agrees, or the smallest one.

    Differences are taken to both sides, where curvature cancels.
    """
    x, errors = function.at.detach(), []
    for step in steps:
        h = step * x.norm() / v.norm()
        with torch.no_grad():
            above, below = function.of(x + h * v), function.of(x - h * v)
        off = ((above - below) / (2 * h) - product).norm() - _rounding(above, x, h)
        errors.append(max(0.0, float(off / product.norm().clamp_min(TINY))))
        if errors[-1] <= DIFFERENCE_TOLERANCE:
            return errors[-1]
    return min(errors)


def _rounding(f: Float[Tensor, " d"], x: Tensor, h: Tensor) -> Tensor:
    """What rounding alone leaves of a difference in float64; in float32 there is a finer way."""
    if f.dtype != torch.float64:
        return torch.zeros_like(h)
    return 8 * torch.finfo(f.dtype).eps * (f.norm() + x.norm()) / h


def _of_block(block: Block, final_norm: nn.Module | None) -> _Function:
    doubled = block.doubled
    return _Function(
        lambda x: residual(block.replay(x[None, None]), x, final_norm),
        block.state,
        (block.module, *_given(final_norm)),
        None if doubled is None else lambda: _of_block(doubled(), final_norm),
    )


def _of_call(call: Call, output_token: int, final_norm: nn.Module | None) -> _Function:
    return _Function(
        lambda X: residual(call.replay(X)[0, output_token - 1], X[0, output_token - 1], final_norm),
        call.hidden,
        (call.module, *_given(final_norm)),
        lambda: _of_call(call.double(), output_token, final_norm),
    )


def _of_all(call: Call) -> _Function:
    return _Function(
        lambda X: (call.replay(X) - X).flatten(),
        call.hidden,
        (call.module,),
        lambda: _of_all(call.double()),
    )


def _given(final_norm: nn.Module | None) -> tuple[nn.Module, ...]:
    return () if final_norm is None else (final_norm,)


@contextmanager
def doubled(
    call: Call, output_token: int, final_norm: nn.Module | None = None
) -> Iterator[Call | None]:
    """A call over the whole sequence in true float64 while it lasts; None where there is none.

    The block's weights are in float64 until the end.
    """
    with _doubled(_of_call(call, output_token, final_norm)) as double:
        yield None if double is None else call.double()


@contextmanager
def _doubled(function: _Function) -> Iterator[_Function | None]:
    """The function in true float64; None where it does not run so, or is so already."""
    is_known = function.at.dtype == torch.float32 and function.at.device.type != "mps"
    if function.double is None or not is_known:
        yield None
        return
    with torch.no_grad():
        expected = function.of(function.at)
    with in_float64(*function.modules):
        double = function.double()
        yield double if _runs(double, expected) else None


def _runs(double: _Function, expected: Float[Tensor, " d"]) -> bool:
    try:
        with torch.no_grad():
            y = double.of(double.at)
    except Exception as error:  # a block's own code may insist on float32
        if is_out_of_memory(error):
            raise
        return False
    size = expected.norm() + double.at.norm()  # f is what is left of two that are as large
    off = (y - expected).norm()
    return y.dtype == torch.float64 and bool(off <= GRADIENT_TOLERANCE * size)
