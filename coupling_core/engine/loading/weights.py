"""Computing in float32 on one device, whatever the weights are held in and wherever they are.

A Jacobian in lower precision can be wrong by a third, and one through quantised kernels by a
quarter, or silently zero. Weights that are not float32 on the computing device are therefore lent
as float32 copies, to one block at a time and for one call of it only: in memory there is never more
than one block above what the model is held in.
"""

import itertools
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from coupling_core.base.errors import InputError
from coupling_core.engine.loading.blocks import find_stacks
from coupling_core.engine.loading.offloaded import Bringing, without_moving
from coupling_core.engine.replaced_forward import overriding

LARGE = 2**24
"""Entries of a matrix outside the blocks (an embedding, a head) above which it is never copied
whole: 64 MB in float32."""

_QUANTISED = ("Params4bit", "Int8Params")
_Store = MutableMapping[str, Any]


@contextmanager
def in_float32(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Let every module of a model compute in float32 on a device, and leave the model as it was.

    A block is lent its weights as a whole, every other module what is its own. Autograd keeps what
    a call was lent for as long as its graph lives, so that a block can be differentiated after its
    call.

    Args:
        model: weights in any floating dtype, or quantised by bitsandbytes, on any device.
        device: where to compute.

    Raises:
        InputError: where the weights are not there, or no longer what was quantised.
    """
    with ExitStack() as stack:
        stack.enter_context(without_moving(model))
        lender = _Lender(stack, device, Bringing(model))
        lender.require_weights(model)
        inside: set[nn.Module] = set()
        for block in itertools.chain.from_iterable(find_stacks(model).values()):
            inside.update(block.modules())
            lender.lend(block, list(block.modules()))
        for module in model.modules():
            if is_quantised(module):
                stack.enter_context(overriding(module, _dequantised(module)))
            elif module not in inside:
                lender.lend_outside(module)
        yield


def is_lent(model: nn.Module, device: torch.device) -> bool:
    """Whether a model's weights are lent to its modules, as they do not compute as they are."""
    held = itertools.chain(model.parameters(), model.buffers())
    return any(map(is_quantised, model.modules())) or not all(_is_ready(t, device) for t in held)


def is_quantised(module: nn.Module) -> bool:
    """Whether bitsandbytes holds this module's weight."""
    return type(module._parameters.get("weight")).__name__ in _QUANTISED


def dequantised_weight(module: nn.Module) -> Tensor:
    """The weight that a quantised module stands for, in float32.

    Raises `InputError` where a forward pass on the CPU has repacked it into a form that has no way
    back.
    """
    weight: Any = module.weight
    if getattr(getattr(weight, "quant_state", None), "packing_format_for_cpu", False):
        raise InputError(
            "the 4-bit weights were repacked by a forward pass on the CPU, and what they "
            "dequantise to from now on is wrong: load the model again and measure it before "
            "anything else runs it"
        )
    from transformers.integrations.bitsandbytes import dequantize_bnb_weight

    return dequantize_bnb_weight(weight, getattr(module, "state", None)).float()


class _Lender:
    """Lends modules float32 copies of their own tensors on a device, until `stack` is left."""

    def __init__(self, stack: ExitStack, device: torch.device, bring: Bringing) -> None:
        self._stack, self._device, self._bring = stack, device, bring

    def require_weights(self, model: nn.Module) -> None:
        """Refuse weights that are nowhere, or mean nothing by themselves."""
        for name, tensor in model.named_parameters():
            is_scaled = tensor.is_floating_point() and tensor.itemsize == 1
            if is_scaled or not self._bring.has(tensor):
                raise InputError(
                    f"the weight {name} is not in memory, or in {tensor.dtype} without its scales: "
                    "load the model with its weights (in nnsight, with dispatch=True), dequantised "
                    "or quantised by bitsandbytes, or name its folder to have it streamed"
                )

    def lend(self, caller: nn.Module, modules: list[nn.Module]) -> None:
        """Give modules copies while `caller` runs."""
        slots: list[tuple[_Store, str]] = [
            (store, name)
            for module in modules
            if not is_quantised(module)
            for store in (module._parameters, module._buffers)
            for name, tensor in store.items()
            if tensor is not None and not _is_ready(tensor, self._device)
        ]
        if not slots:
            return
        lent: list[tuple[_Store, str, Tensor]] = []

        def before(_: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
            copies: dict[int, Tensor] = {}  # tied weights are copied once
            for store, name in slots:
                tensor = store[name]
                lent.append((store, name, tensor))
                if id(tensor) not in copies:
                    copies[id(tensor)] = self._ready(self._bring(tensor))
                store[name] = copies[id(tensor)]
            # Some models cast what they pass on to the precision that the next weight is held in.
            return tuple(self._ready(a) if isinstance(a, Tensor) else a for a in args)

        def after(*_: Any) -> None:
            while lent:
                store, name, tensor = lent.pop()
                store[name] = tensor

        self._around(caller, before, after)

    def lend_outside(self, module: nn.Module) -> None:
        """Give a module outside the blocks its own, a large one in parts."""
        weight = module._parameters.get("weight")
        if weight is None or weight.numel() <= LARGE or _is_ready(weight, self._device):
            self.lend(module, [module])
        elif isinstance(module, nn.Embedding):
            self._lend_rows(module)
        elif type(module) is nn.Linear:
            self._stack.enter_context(overriding(module, self._in_parts(module)))
        else:
            self.lend(module, [module])

    def _lend_rows(self, module: nn.Embedding) -> None:
        """Give an embedding only the rows that a call looks up."""
        own: _Store = module._parameters
        kept, padding = own["weight"], module.padding_idx

        def before(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            rows, positions = args[0].unique(return_inverse=True)
            whole = self._bring(kept)
            own["weight"] = self._ready(whole[rows.to(whole.device)])
            module.padding_idx = None  # it only matters to training, and names a row of the whole
            return (positions, *args[1:])

        def after(*_: Any) -> None:
            own["weight"], module.padding_idx = kept, padding

        self._around(module, before, after)

    def _in_parts(self, module: nn.Linear) -> Callable[[Tensor], Tensor]:
        """A large linear map, a slice of its outputs at a time."""
        rows = max(1, LARGE // module.in_features)

        def forward(x: Tensor) -> Tensor:
            parts = self._bring(module.weight).split(rows)
            x = self._ready(x)
            y = torch.cat([F.linear(x, self._ready(part)) for part in parts], -1)
            return y if module.bias is None else y + self._ready(self._bring(module.bias))

        return forward

    def _around(self, module: nn.Module, before: Callable[..., Any], after: Any) -> None:
        self._stack.callback(after)
        self._stack.callback(module.register_forward_pre_hook(before).remove)
        self._stack.callback(module.register_forward_hook(after, always_call=True).remove)

    def _ready(self, tensor: Tensor) -> Tensor:
        return _ready(tensor, self._device)


def _is_ready(tensor: Tensor, device: torch.device) -> bool:
    is_here = tensor.device.type == device.type and device.index in (None, tensor.device.index)
    if tensor.is_inference():  # made in inference mode, and never part of a graph
        return False
    return is_here and (tensor.dtype == torch.float32 or not tensor.is_floating_point())


def _ready(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor itself where it is ready to compute with, else a copy that is."""
    with torch.no_grad():
        found = tensor.to(device, torch.float32 if tensor.is_floating_point() else tensor.dtype)
        return found.clone() if found.is_inference() else found


def _dequantised(module: nn.Module) -> Callable[[Tensor], Tensor]:
    def forward(x: Tensor) -> Tensor:
        bias: Any = module.bias
        x = _ready(x, x.device)
        weight = _ready(dequantised_weight(module), x.device)
        return F.linear(x, weight, None if bias is None else _ready(bias, x.device))

    return forward
