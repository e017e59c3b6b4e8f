"""Large float32 products on a CPU, by the fastest library that torch has for them.

Torch gives its products to MKL, which leaves half of an AMD processor idle: on one thread of an
EPYC with AVX-512, MKL multiplies at 100 GFLOP/s, and oneDNN, which is in torch as well, at 225.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

LEAST = 2**20
"""Multiplications from which on oneDNN's longer start is made up for."""

PLAIN = (Tensor, nn.Parameter)
"""Others, as quantised weights, know their products themselves."""

ONEDNN: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
"""x W^T + bias, with a function of one's choice behind it; None in a torch without oneDNN."""


def product(a: Float[Tensor, "m inner"], b: Float[Tensor, "inner n"]) -> Float[Tensor, "m n"]:
    """`a @ b`, on any device and in any precision, without a gradient.

    b may be transposed at no cost; a transposed a is copied.
    """
    a, b = a.detach(), b.detach()
    return _linear(a, b.mT, None) if _pays(a, b.mT) else a @ b


class FastLinear(TorchFunctionMode):
    """While it is entered, linear maps without a gradient are products of this kind."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is F.linear and not kwargs and not torch.is_grad_enabled() and _pays(*args[:2]):
            return _linear(args[0], args[1], args[2] if len(args) > 2 else None)
        return func(*args, **(kwargs or {}))


def _pays(x: Float[Tensor, "*row inner"], weight: Float[Tensor, "n inner"]) -> bool:
    is_float32_here = all(
        type(t) in PLAIN and t.dtype == torch.float32 and t.device.type == "cpu"
        for t in (x, weight)
    )
    return ONEDNN is not None and is_float32_here and x.numel() * len(weight) >= LEAST


def _linear(
    x: Float[Tensor, "*row inner"], weight: Float[Tensor, "n inner"], bias: Tensor | None
) -> Float[Tensor, "*row n"]:
    return ONEDNN(x, weight, bias, "none", [], "")
