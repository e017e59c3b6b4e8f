"""Running a captured block again, with what its attention takes in and gives on record.

The cache in the call's arguments is watched: what the block puts into it, and, where a caller wants
to, what it gets back instead of the tensors of all tokens.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from coupling_core.engine.jacobians import cached_attention
from coupling_core.engine.jacobians.cached_attention import Joined
from coupling_core.engine.jacobians.captured_calls import Call, tensor_of


@dataclass(frozen=True)
class Run:
    """One run of a block.

    Args:
        output: at the last token.
        key: what was put into the cache.
        value: likewise.
        attending: the modules that were handed the cache.
    """

    output: Float[Tensor, " d"]
    key: Tensor
    value: Tensor
    attending: set[nn.Module]


Join = Callable[[int, Tensor, Tensor], "Tensor | Joined"]
"""Makes the keys (0) or values (1) of all tokens from those of the cache and of the last token."""


def run(
    call: Call, x: Float[Tensor, "1 token d"], mode: TorchFunctionMode, join: Join | None = None
) -> Run | None:
    """Run a block's call at other states; None where it keeps no keys and values, or keeps more."""
    args, kwargs = call.arguments(x)
    cache = next((a for a in (*args, *kwargs.values()) if _is_cache(a)), None)
    cache = getattr(cache, "self_attention_cache", cache)
    if cache is None:
        return None
    update, given = cache.update, []

    def watched(key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Any:
        whole = update(key, value, *rest, **options)
        given.append((key, value))
        return whole if join is None else tuple(map(join, (0, 1), whole, (key, value)))

    cache.update = watched
    with torch.enable_grad(), _attending(call.module) as attending, mode:
        output = tensor_of(call.module(*args, **kwargs))[0, -1]
    return Run(output, *given[0], attending) if len(given) == 1 else None


def _is_cache(value: Any) -> bool:
    return hasattr(value, "get_seq_length")


@contextmanager
def _attending(block: nn.Module) -> Iterator[set[nn.Module]]:
    """Collect the modules of a block that are handed a cache, and the block itself."""
    found = {block}

    def note(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if any(map(_is_cache, (*args, *kwargs.values()))):
            found.add(module)

    handles = [m.register_forward_pre_hook(note, with_kwargs=True) for m in block.modules()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


class LinearInputs(TorchFunctionMode):
    """Keeps the inputs of a run's linear maps."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is torch.addmm:  # the transposed layer of GPT-2
            self.all.append(args[1])
        elif func is F.linear or (
            func in cached_attention.PRODUCTS and not _is_differentiated(args[1])
        ):
            self.all.append(args[0])
        return func(*args, **(kwargs or {}))


class Products(TorchFunctionMode):
    """Keeps the products of a run's attention with the keys and the values of the past."""

    def __init__(self) -> None:
        super().__init__()
        self.scores: list[Tensor] = []
        self.mixed: list[tuple[Tensor, Tensor, Joined]] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        joined = len(args) > 1 and isinstance(args[1], Joined) and isinstance(args[0], Tensor)
        if joined and func is F.scaled_dot_product_attention:
            with self:
                return cached_attention.attention(*args, **(kwargs or {}))
        if joined and func in cached_attention.PRODUCTS:
            left, right = args
            of_past, of_last = right.products(left)
            if right.axis == -1:
                self.scores.append(of_past)
            else:
                weights = left[..., : right.past.shape[-2]]
                self.mixed.append((of_past, weights, right))
            return right.put_together(of_past, of_last)
        return func(*args, **(kwargs or {}))


def _is_differentiated(value: Any) -> bool:
    return not isinstance(value, Tensor) or value.requires_grad
