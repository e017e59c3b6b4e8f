"""Computing in true float64, for a check that float32 is too coarse for."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map


class TrueFloat64(TorchFunctionMode):
    """Keep a float64 model in float64: norms, softmax and rotary angles are written in float32."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Turn every request for float32 into one for float64."""
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.float:
            return args[0].double()
        if func in (torch.Tensor.to, torch.Tensor.type):
            args = tuple(torch.float64 if a is torch.float32 else a for a in args)
        if kwargs.get("dtype") is torch.float32:
            kwargs["dtype"] = torch.float64
        try:
            return func(*args, **kwargs)
        except RuntimeError:
            # A tensor that a hook brings along is no weight of a module, and still in float32.
            if not any(map(_is_single, tree_leaves((args, kwargs)))):
                raise
            args, kwargs = tree_map(
                lambda one: one.double() if _is_single(one) else one, (args, kwargs)
            )
            return func(*args, **kwargs)


def _is_single(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


@contextmanager
def in_float64(*modules: nn.Module) -> Iterator[None]:
    """While it lasts, modules hold their weights and buffers in float64 and compute in it."""
    stores: list[MutableMapping[str, Any]] = [
        store
        for module in modules
        for part in module.modules()
        for store in (part._parameters, part._buffers)
    ]
    # The kernels that take all experts at once have no float64.
    configs = {id(c): c for m in modules for part in m.modules() if (c := _of_experts(part))}
    asked = {key: config._experts_implementation for key, config in configs.items()}
    held = [
        (store, name, tensor)
        for store in stores
        for name, tensor in store.items()
        if tensor is not None and tensor.dtype == torch.float32
    ]
    try:
        for config in configs.values():
            config._experts_implementation = "eager"
        for store, name, tensor in held:
            store[name] = tensor.detach().double()
        with TrueFloat64():
            yield
    finally:
        for store, name, tensor in held:
            store[name] = tensor
        for key, config in configs.items():
            config._experts_implementation = asked[key]


def has_experts(*modules: nn.Module) -> bool:
    """Whether modules have experts, which a config that others may share lets run in some way."""
    return any(name.endswith("experts") for m in modules for name, _ in m.named_modules())


def _of_experts(module: nn.Module) -> Any:
    """The config by which a module chooses how its experts run; None where it has none."""
    config = getattr(module, "config", None)
    return config if getattr(config, "_experts_implementation", None) else None
