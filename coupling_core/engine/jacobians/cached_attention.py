"""Attention of one token over a constant past, without a tangent for any token of the past.

The key and value tensors of a cache are the constant ones of the tokens before, and the measured
token's own behind them. Differentiated as one tensor, each direction would carry zeros for every
token of the past; kept apart, the cost of a direction is that of the measured token alone.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from coupling_core.engine import ways_taken


class Joined:
    """A tensor of all tokens, held as the constant part of the past and the part of the last token.

    What is known to act on each token by itself keeps the parts apart; everything else sees the
    whole tensor.

    Args:
        past: of the tokens before, without tangent.
        last: of the measured token.
        axis: of the tokens, counted from the end.
    """

    def __init__(self, past: Tensor, last: Tensor, axis: int) -> None:
        self.past, self.last, self.axis = past, last, axis

    @property
    def shape(self) -> torch.Size:
        """Of the whole."""
        shape = list(self.past.shape)
        shape[self.axis] += self.last.shape[self.axis]
        return torch.Size(shape)

    def size(self, axis: int | None = None) -> Any:
        """Of the whole, or of one axis."""
        return self.shape if axis is None else self.shape[axis]

    def whole(self) -> Tensor:
        """The two parts in one tensor."""
        return torch.concatenate([self.past, self.last], self.axis)  # `cat` may lead back here

    def transpose(self, a: int, b: int) -> "Joined":
        """Exchange two axes."""
        n = self.past.ndim
        a, b = (axis % n - n for axis in (a, b))
        axis = {a: b, b: a}.get(self.axis, self.axis)
        return Joined(self.past.transpose(a, b), self.last.transpose(a, b), axis)

    def __getitem__(self, index: Any) -> "Joined | Tensor":
        """Index; the parts stay apart where the tokens are taken as they are."""
        parts = index if isinstance(index, tuple) else (index,)
        after = parts[self.axis :] if len(parts) >= -self.axis else ()
        if len(after) == -self.axis and all(part == slice(None) for part in after):
            return Joined(self.past[index], self.last[index], self.axis)
        return self.whole()[index]

    def expand(self, *shape: Any) -> "Joined | Tensor":
        """Repeat along axes of length 1."""
        return self._reshaped("expand", shape)

    def reshape(self, *shape: Any) -> "Joined | Tensor":
        """Change the axes before the tokens'."""
        return self._reshaped("reshape", shape)

    view = reshape

    def to(self, *args: Any, **kwargs: Any) -> "Joined":
        """Change the type or the device."""
        return Joined(self.past.to(*args, **kwargs), self.last.to(*args, **kwargs), self.axis)

    def contiguous(self) -> "Joined":
        """Itself."""
        return self

    def products(self, left: Tensor) -> tuple[Tensor, Tensor]:
        """Of queries with keys (axis -1) or of weights with values (-2): past, and last token."""
        if self.axis == -1:
            return _product(left, self.past), (left * self.last.mT).sum(-1, keepdim=True)
        n = self.past.shape[-2]
        return _product(left[..., :n], self.past), left[..., n:] * self.last

    def put_together(self, of_past: Tensor, of_last: Tensor) -> Tensor:
        """The whole product from its two parts."""
        if self.axis == -1:
            return torch.concatenate([of_past, of_last], -1)
        return of_past + of_last

    def _reshaped(self, name: str, shape: tuple[Any, ...]) -> "Joined | Tensor":
        if len(shape) == 1:
            shape = tuple(shape[0])
        if list(shape[self.axis :]) != list(self.shape[self.axis :]):
            return getattr(self.whole(), name)(shape)
        parts = []
        for part in (self.past, self.last):
            own = list(shape)
            own[self.axis] = part.shape[self.axis]
            parts.append(getattr(part, name)(own))
        return Joined(parts[0], parts[1], self.axis)

    def __getattr__(self, name: str) -> Any:
        """Everything else of a tensor, from the whole one."""
        if name in ("dtype", "device", "layout", "is_cuda", "ndim"):
            return getattr(self.past, name)
        return getattr(self.whole(), name)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Products keep the parts apart; any other function sees the whole tensor."""
        if func in PRODUCTS and isinstance(args[0], Tensor) and len(args) == 2 and not kwargs:
            left, right = args
            if right.axis in (-1, -2):
                return right.put_together(*right.products(left))
        return func(*(_whole(a) for a in args), **{k: _whole(v) for k, v in (kwargs or {}).items()})


PRODUCTS = (torch.matmul, Tensor.matmul, Tensor.__matmul__)


def join(tensors: Any, dim: int = 0) -> "Joined | Tensor":
    """`torch.cat`, with a constant past kept apart from what is differentiated behind it."""
    if len(tensors) == 2 and not _moves(tensors[0]) and _moves(tensors[1]):
        past, last = tensors
        if past.ndim == last.ndim and past.numel():
            return Joined(past, last, dim if dim < 0 else dim - past.ndim)
    return torch.cat(tensors, dim)


Join = Callable[[Any, Any, Any], tuple[Any, Any, "Tensor | None"]]
_join: ContextVar[Join | None] = ContextVar("join", default=None)


def among(join: Join) -> AbstractContextManager[Join]:
    """While it lasts, attention of one token takes the keys, values and mask that `join` makes."""
    return ways_taken.setting(_join, join)


def attention(
    query: Tensor,
    key: Any,
    value: Any,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`scaled_dot_product_attention` of one token as its formula reads, which has tangents.

    Shapes: query (... head token d), key and value (... group token d), which may be joined.
    """
    if is_causal or dropout_p:
        raise NotImplementedError("one token at a time, in evaluation mode")
    if (joined := _join.get()) is not None:
        key, value, attn_mask = joined(key, value, attn_mask)
    if not enable_gqa:
        return _formula(query, key, value, attn_mask, scale)
    groups, shape = key.shape[-3], query.shape
    packed = query.reshape(*shape[:-3], groups, -1, shape[-1])
    found = _formula(packed, key, value, attn_mask, scale)
    return found.reshape(*shape[:-1], value.shape[-1])


def _formula(
    query: Tensor, key: Any, value: Any, attn_mask: Tensor | None, scale: float | None
) -> Tensor:
    scores = torch.matmul(query, key.transpose(-1, -2)) * (scale or query.shape[-1] ** -0.5)
    if attn_mask is not None:
        is_kept = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -torch.inf) if is_kept else scores + attn_mask
    # The formula itself, for torch takes the gradients of its own softmax one by one.
    weights = (scores - scores.detach().amax(-1, keepdim=True)).exp()
    return torch.matmul(weights / weights.sum(-1, keepdim=True), value)


def _product(left: Tensor, constant: Tensor) -> Tensor:
    """Matrix products head by head: each is one product for all directions at once."""
    heads = constant.shape[:-2]
    if left.shape[:-2] != heads or constant.ndim < 3:
        return left @ constant
    rows = left.reshape(-1, *left.shape[-2:])
    matrices = constant.reshape(-1, *constant.shape[-2:])
    products = [
        F.linear(row.contiguous(), matrix.mT)
        for row, matrix in zip(rows.unbind(0), matrices, strict=True)
    ]
    return torch.stack(products).reshape(*heads, left.shape[-2], -1)


def _moves(tensor: Tensor) -> bool:
    """Whether it is differentiated, backwards or in forward mode."""
    if tensor.requires_grad:
        return True
    return torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None


def _whole(value: Any) -> Any:
    if isinstance(value, Joined):
        return value.whole()
    return [_whole(v) for v in value] if isinstance(value, list | tuple) else value
