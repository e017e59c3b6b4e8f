"""What the computing runs on."""

import resource
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from typing import Any

import torch
from threadpoolctl import ThreadpoolController
from torch import nn

from coupling_core.base import memory
from coupling_core.base.errors import InputError
from coupling_core.base.settings import settings

SMALL = 20 * 10**6
"""Parameters up to which a model is small."""


def devices() -> list[str]:
    """Names of the devices of this machine, the one first that is taken unless told."""
    cuda = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    return cuda + ["mps"] * torch.backends.mps.is_available() + ["cpu"]


def choose_device(name: str | None = None) -> torch.device:
    """The device of that name; without one CUDA where there is one, then MPS, then the CPU.

    One device has one name: a GPU is never without its number.
    """
    here = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if name is None:
        name = next((kind for kind, count in here.items() if count), "cpu")
    device = None
    with suppress(RuntimeError):  # of a name that torch does not know
        device = torch.device(name)
    if not device or (device.type != "cpu" and (device.index or 0) >= here.get(device.type, 0)):
        raise InputError(
            f"device {name!r} is not on this machine: expected cpu, cuda, cuda:0 or mps, or leave "
            "it out to take the best"
        )
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def algebra_device(device: torch.device) -> torch.device:
    """Where a Jacobian from this device is decomposed: MPS lacks the float64 of certificates."""
    return torch.device("cpu") if device.type == "mps" else device


def device_name(device: torch.device) -> str:
    """The name of the hardware."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def instructions() -> str:
    """The kind of processor, by the vectors that torch computes with: AVX2, AVX512, ..."""
    return torch.backends.cpu.get_cpu_capability()


def free_memory(device: torch.device) -> int:
    """Bytes that are free on the device, or in main memory."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    return memory.free_memory()


def usable_memory(device: torch.device) -> int:
    """Bytes that a measurement may take: what is free, less what is set to be kept in reserve."""
    return max(0, free_memory(device) - settings().memory_reserve)


def threads() -> int:
    """Threads of the processor that torch takes unless told."""
    return torch.get_num_threads()


@contextmanager
def threads_for(model: nn.Module) -> Iterator[None]:
    """One thread for a small model: products of microseconds end sooner than a second one wakes.

    Where a browser takes the other core, all steps of the smallest training run take a third less.
    """
    before = torch.get_num_threads()
    if sum(parameter.numel() for parameter in model.parameters()) <= SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_blas_thread() -> AbstractContextManager[Any]:
    """NumPy's threads stand beside torch's, and wait busily for the next of many small steps."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries


def peak_memory(device: torch.device) -> int:
    """Bytes: the most that this process held so far, on the device or in main memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@cache  # read from disk, for every result
def versions() -> dict[str, str]:
    """Versions of the libraries that the numbers rest on."""
    return {name: version(name) for name in ("torch", "transformers", "numpy", "scipy")}
