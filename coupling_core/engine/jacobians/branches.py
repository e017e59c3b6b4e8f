"""A block's branches, and the Jacobian of each in forward mode.

A branch is a module inside a block that takes the measured token's vector and gives one vector
back: attention, an MLP. With directions e_1 .. e_d at its input z,

    W z -> W e_i = column i of W        (the first linear maps cost no product)
    then norms, activations, attention  (a few numbers a direction)
    then the last linear map            (the one product)

so that an MLP with a gate costs one product where a backward pass has three, and attention one
where it has four. What surrounds the branches, norms and sums, has no product at all.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from coupling_core.base.memory import is_out_of_memory
from coupling_core.engine.jacobians import cached_attention
from coupling_core.engine.jacobians.attention_heads import CHUNK, First, by_heads
from coupling_core.engine.jacobians.captured_calls import frozen, is_same, tensor_of
from coupling_core.engine.matrix_products import product
from coupling_core.engine.out_of_memory import Chunks
from coupling_core.engine.replaced_forward import overriding
from coupling_core.engine.ways_taken import note

_one_at_a_time = Lock()
"""Torch counts how deeply forward mode is nested for all threads together."""


@dataclass(frozen=True)
class Branch:
    """One call of a branch while its block ran.

    Args:
        input: what it took: a function of the block's input and of the outputs before.
        output: what it gave, as a leaf of its own.
        jacobian: of the one with respect to the other.
    """

    input: Tensor
    output: Tensor
    jacobian: Float[Tensor, "d_out d_in"]


@contextmanager
def branching(block: nn.Module | None) -> Iterator[list[Branch]]:
    """While it lasts, the branches of a block give leaves, and are listed in the order of calls.

    None of no block are. A module that is no branch (it takes two differentiated tensors, say, or
    has an operation without forward mode) runs as it is, and the modules inside it are tried.
    """
    found = _Found([])
    with ExitStack() as stack:
        for module in block.modules() if block is not None else ():
            if module is not block and any(p.ndim > 1 for p in module.parameters()):
                stack.enter_context(overriding(module, _diverted(module, found)))
        yield found.branches


@dataclass
class _Found:
    branches: list[Branch]
    is_inside: bool = False
    """Whether a branch runs, in which no other is looked for."""


def _diverted(module: nn.Module, found: _Found) -> Callable[..., Any]:
    """A module's forward, whose calls become branches of the block where they can be."""
    forward = module.forward

    def diverted(*args: Any, **kwargs: Any) -> Any:
        given = None if found.is_inside else _input(args, kwargs)
        if given is None:
            return forward(*args, **kwargs)
        found.is_inside = True
        differentiated = _differentiate(_Call(forward, given, args, kwargs))
        found.is_inside = False
        if differentiated is None:
            return forward(*args, **kwargs)
        output, jacobian = differentiated
        leaf = tensor_of(output).detach().requires_grad_()
        found.branches.append(Branch(given, leaf, jacobian))
        shown = leaf.clone()  # some blocks add to it in place, which a leaf forbids
        return shown if isinstance(output, Tensor) else type(output)((shown, *output[1:]))

    return diverted


def _input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The one vector that a call is differentiated by; None where there is no such, or another."""
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor) and a.requires_grad]
    if (
        not torch.is_grad_enabled()
        or len(tensors) != 1
        or tensors[0].numel() != tensors[0].shape[-1]
    ):
        return None
    return tensors[0]


@dataclass(frozen=True)
class _Call:
    """A module's call as a function of one of its arguments, which may be repeated."""

    forward: Callable[..., Any]
    given: Tensor
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def module(self) -> Any:
        """Whose forward it is; the function itself, where it is no method."""
        return getattr(self.forward, "__self__", self.forward)

    @property
    def kind(self) -> type:
        """The class of the module."""
        return type(self.module)

    def __call__(self, z: Tensor) -> Any:
        args = tuple(z if a is self.given else frozen(a) for a in self.args)
        kwargs = {k: z if a is self.given else frozen(a) for k, a in self.kwargs.items()}
        return self.forward(*args, **kwargs)


def _differentiate(call: _Call) -> tuple[Any, Float[Tensor, "d_out d_in"]] | None:
    """A call's output and Jacobian; None where an operation has no forward mode."""
    z = call.given.detach().requires_grad_()
    try:
        with _Recorded(z) as maps:
            output = call(z)
        if not _gives_one(output):
            note("a branch backwards", "it gives more than one thing that is differentiated")
            return None
        known = _without_products(maps)
        last = next((m for m in maps.all if is_same(m.output, tensor_of(output))), None)
        jacobian = known[last] if last in known else last and _of_heads(call, maps, last)
        if jacobian is None:
            jacobian = _forward(call, maps, known)
    except Exception as error:  # an operation without forward mode raises anything
        if is_out_of_memory(error):
            raise
        note("a branch backwards", type(error).__name__)
        return None  # the backward pass has it
    note("a branch forwards")
    return output, jacobian


def _gives_one(output: Any) -> bool:
    """Whether nothing but the first of a call's outputs carries a gradient.

    A router gives the weights of its experts beside their numbers, and the block goes on with them.
    """
    rest = output[1:] if isinstance(output, tuple | list) else ()
    if not isinstance(tensor_of(output), Tensor):
        return False
    return not any(isinstance(x, Tensor) and x.requires_grad for x in tree_leaves(rest))


def _without_products(maps: "_Recorded") -> "_Known":
    """Jacobians of the linear maps for which no direction has to be carried anywhere.

    They are those of the input itself, and those whose input is an elementwise function of what
    other known ones gave: with a the derivatives, W_out (a_1 * W_1 + a_2 * W_2 + ...).
    """
    known = {m: m.weight for m in maps.all if m.is_first}
    for m in maps.all:
        if not m.is_first and (scales := _elementwise(m.input, maps.z, list(known))) is not None:
            (of, a), *others = scales.items()
            scaled = a[:, None] * known[of]
            for of, a in others:
                scaled.addcmul_(a[:, None], known[of])
            known[m] = product(m.weight, scaled)
    return known


def _elementwise(
    output: Tensor, z: Tensor, given: "list[_Map]"
) -> "dict[_Map, Float[Tensor, ' d']] | None":
    """Derivatives of an output that depends on each given one entry by entry; None if it does not.

    A matrix D is diagonal where D^T r = r * D^T 1 for a random r.
    """
    if not output.requires_grad or any(of.output.numel() != output.numel() for of in given):
        return None
    generator = torch.Generator().manual_seed(0)
    r = torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output)
    leaves = [z, *(of.output for of in given)]
    ones, mixed = (
        torch.autograd.grad(output, leaves, seed, retain_graph=True, allow_unused=True)
        for seed in (torch.ones_like(r), r)
    )
    if ones[0] is not None:
        return None
    scales = {}
    for of, one, mix in zip(given, ones[1:], mixed[1:], strict=True):
        if one is None or mix is None:
            continue
        if not torch.allclose(mix, r.reshape(one.shape) * one, rtol=1e-4, atol=0):
            return None
        scales[of] = one.flatten()
    return scales or None


def _of_heads(call: _Call, maps: "_Recorded", last: "_Map") -> Float[Tensor, "d_out d_in"] | None:
    """Of a call that ends with a linear map of what heads give; None if it does not."""
    firsts = [First(m.output, m.weight) for m in maps.all if m.is_first]
    mixed = by_heads(last.input, maps.z, firsts, call.kind)
    return None if mixed is None else product(last.weight, mixed)


def _forward(call: _Call, maps: "_Recorded", known: "_Known") -> Float[Tensor, "d_out d_in"]:
    """Derivatives of a call's output along every entry of its input."""
    z = maps.z.detach()
    given = [m.output.detach() for m in known]

    def run(z: Tensor, *given: Tensor) -> Tensor:
        with _Forward(maps, dict(zip(known, given, strict=True))), _kept(call.module):
            return tensor_of(call(z))

    def along(*directions: Tensor) -> Tensor:
        return torch.func.jvp(run, (z, *given), directions)[1]

    unit = torch.eye(z.numel(), dtype=z.dtype, device=z.device).reshape(-1, *z.shape)
    # In the layout of what they are directions of, since autograd would copy them otherwise.
    columns = [of.mT.contiguous().reshape(-1, *m.output.shape) for m, of in known.items()]

    def some(rows: slice) -> Tensor:
        of_rows = unit[rows], *(column[rows] for column in columns)
        with _one_at_a_time:
            return torch.func.vmap(along)(*of_rows).flatten(1)

    return torch.cat([found for _, found in Chunks(CHUNK).of(some, len(unit))]).mT


@contextmanager
def _kept(module: Any) -> Iterator[None]:
    """Leave a module's attributes as they were: what a call notes there is of its transform."""
    parts = list(module.modules()) if isinstance(module, nn.Module) else []
    before = [dict(vars(part)) for part in parts]
    try:
        yield
    finally:
        for part, attributes in zip(parts, before, strict=True):
            vars(part).update(attributes)


@dataclass(frozen=True, eq=False)
class _Map:
    """One linear map of a call: what it took, and what it gave, as a leaf where it is a first."""

    input: Tensor
    weight: Float[Tensor, "d_out d_in"]
    output: Tensor
    is_first: bool


_Known = dict[_Map, Float[Tensor, "d_out d_in"]]


_REPLACES_WEIGHTS = (Tensor.data.__set__,)  # type: ignore[attr-defined]
"""What `Module.to` does in some routers' forward: in forward mode the weights would be left as
tensors of a transform that has ended, and to read them ends the process."""


class _LinearMaps(TorchFunctionMode):
    """Hands the linear maps of a call over, in their order; attention keeps the past apart."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _REPLACES_WEIGHTS:
            raise NotImplementedError("a module that replaces its weights as it runs")
        if func is F.linear:
            return self.linear(args[0], args[1], lambda: func(*args, **kwargs))
        if func is torch.addmm:  # the transposed layer of GPT-2
            return self.linear(args[1], args[2].mT, lambda: func(*args, **kwargs))
        if func is torch.cat:
            return cached_attention.join(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            return cached_attention.attention(*args, **kwargs)
        return func(*args, **kwargs)

    def linear(self, z: Tensor, weight: Tensor, run: Callable[[], Tensor]) -> Tensor:
        raise NotImplementedError


class _Recorded(_LinearMaps):
    """Keeps the linear maps of a call; the first ones give leaves."""

    def __init__(self, z: Tensor) -> None:
        super().__init__()
        self.z = z
        self.all: list[_Map] = []

    def linear(self, z: Tensor, weight: Tensor, run: Callable[[], Tensor]) -> Tensor:
        output, is_first = run(), is_same(z, self.z)
        if is_first:
            output = output.detach().requires_grad_()
        self.all.append(_Map(z, weight, output, is_first))
        return output


class _Forward(_LinearMaps):
    """Gives what each linear map gave before, with the directions it has there."""

    def __init__(self, maps: _Recorded, known: dict[_Map, Tensor]) -> None:
        super().__init__()
        self.maps = iter(maps.all)
        self.known = known

    def linear(self, z: Tensor, weight: Tensor, run: Callable[[], Tensor]) -> Tensor:
        before = next(self.maps)
        if before in self.known:
            return self.known[before]
        if (direction := fwAD.unpack_dual(z).tangent) is None:
            return run()
        moved = F.linear(direction, weight)
        return fwAD.make_dual(before.output.detach().reshape(moved.shape), moved)
