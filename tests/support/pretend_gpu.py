"""A CUDA device where there is none, to find out what a real one would refuse.

Inside `pretending()` a tensor on "cuda:0" is computed with on the CPU, says that it is on cuda:0,
and raises what CUDA raises where it meets a tensor of the CPU, or is turned into a NumPy array
without `.cpu()`. What is shown is wrong devices, and nothing of speed, memory or rounding.

To C++ the wrappers are on "meta": a real CUDA device would be asked for its own guards in autograd.
So `prim.device` has to say "meta" too, or what C++ makes for forward mode comes out on the CPU; and
true meta tensors made inside are taken for CUDA's.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

GPU = torch.device("cuda:0")
FREE = 8 << 30
"""Bytes free on it, of twice as many."""

_COPIES = ("aten._to_copy", "aten.copy_", "aten.copy.")
_INDEXING = ("aten.index", "aten._index_put", "aten._unsafe_index")
"""CUDA takes indices that are on the CPU."""
_CUDA: dict[str, Any] = {
    "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
    "mem_get_info": lambda *_: (FREE, 2 * FREE), "memory_reserved": lambda *_: 0,
    "memory_allocated": lambda *_: 0, "max_memory_allocated": lambda *_: 1 << 20,
    "reset_peak_memory_stats": lambda *_: None, "empty_cache": lambda: None,
    "synchronize": lambda *_: None, "get_device_name": lambda *_: "pretended",
    "get_device_capability": lambda *_: (9, 0), "is_bf16_supported": lambda *_, **__: True,
    "_lazy_init": lambda: None,
}  # fmt: skip
"""What `torch.cuda` says meanwhile."""


@contextmanager
def pretending() -> Iterator[None]:
    """A machine with one GPU."""
    future = torch.__future__
    with ExitStack() as stack:
        for name, said in _CUDA.items():
            stack.enter_context(patch.object(torch.cuda, name, said))
        # `Module.to` keeps the wrappers only so.
        before = future.get_overwrite_module_params_on_conversion()
        future.set_overwrite_module_params_on_conversion(True)
        stack.callback(future.set_overwrite_module_params_on_conversion, before)
        # `torch.tensor(..., device="cuda:0")` comes to the mode below only so.
        torch._C._set_only_lift_cpu_tensors(True)
        stack.callback(torch._C._set_only_lift_cpu_tensors, False)
        stack.enter_context(_Mode())
        yield


class OnGpu(Tensor):
    """A tensor on cuda:0, whose values are those of `values` on the CPU."""

    values: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> "OnGpu":
        made = Tensor._make_wrapper_subclass(
            cls, values.size(), strides=values.stride(), storage_offset=values.storage_offset(),
            dtype=values.dtype, layout=values.layout, device="meta", dispatch_device=True,
        )  # fmt: skip
        made.values = values
        return made

    device = property(lambda self: GPU)
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)
    is_meta = property(lambda self: False)

    def __repr__(self) -> str:
        return f"OnGpu({self.values!r})"

    def numpy(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
            "to host memory first."
        )

    __array__ = numpy

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def data_ptr(self) -> int:
        return self.values.data_ptr()

    def get_device(self) -> int:
        return 0

    def cuda(self, *_: Any, **__: Any) -> Tensor:
        return self

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """As `Tensor.to`: to where it is already it is itself, or gradients would be cut."""
        if args and isinstance(args[0], Tensor):
            device, dtype = args[0].device, args[0].dtype
        else:
            known = ("device", "dtype", "non_blocking", "memory_format")
            asked = {name: value for name, value in kwargs.items() if name in known}
            device, dtype = torch._C._nn._parse_to(*args, **asked)[:2]
        stays = device is None or device.type == "cuda"
        if stays and dtype in (None, self.dtype) and not kwargs.get("copy"):
            return self
        return super().to(device=GPU if stays else device, dtype=dtype or self.dtype)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: Any) -> Any:
    """One operation: refused where CUDA would, else on the CPU, its results on the GPU again."""
    name = str(func)
    given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    there = [x for x in given if isinstance(x, OnGpu)]
    if name == "prim.device.default":
        return torch.device("meta") if there else args[0].device
    if there and not name.startswith(_COPIES):
        _require_one_device(name, given)
    goes_there = _goes_there(name, args, kwargs, bool(there))
    args, kwargs = tree_map(_on_cpu, args), dict(tree_map(_on_cpu, kwargs))
    if _is_there(kwargs.get("device")):
        kwargs["device"] = torch.device("cpu")
    with _disable_current_modes():
        out = func(*args, **kwargs)
    same = {id(x.values): x for x in there}  # in place: what came in goes out

    def wrapped(x: Any) -> Any:
        if not isinstance(x, Tensor) or isinstance(x, OnGpu):
            return x
        if id(x) in same or not goes_there:
            return same.get(id(x), x)
        return OnGpu(_on_cpu(x))

    return tree_map(wrapped, out)


def _require_one_device(name: str, given: list[Tensor]) -> None:
    for x in given:
        is_index = name.startswith(_INDEXING) and not x.is_floating_point()
        if not (isinstance(x, OnGpu) or x.dim() == 0 or x._is_zerotensor() or is_index):
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:0 and cpu! ({name}, shapes {[tuple(x.shape) for x in given]})"
            )


def _goes_there(name: str, args: Any, kwargs: Any, is_there: bool) -> bool:
    if kwargs.get("device") is not None:
        return _is_there(kwargs["device"])
    return isinstance(args[0], OnGpu) if name.startswith("aten.copy_") else is_there


def _is_there(device: Any) -> bool:
    return device is not None and torch.device(device).type in ("cuda", "meta")


def _on_cpu(x: Any) -> Any:
    """The values of a tensor; zeros that are only named so are made."""
    if isinstance(x, OnGpu):
        return x.values
    is_zero = isinstance(x, Tensor) and x._is_zerotensor()
    return torch.zeros(x.shape, dtype=x.dtype) if is_zero else x
