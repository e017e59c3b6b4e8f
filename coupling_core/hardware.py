"""What the computing runs on."""

import resource
import sys
from importlib.metadata import version

import torch


def default_device() -> str:
    """CUDA where there is one, then MPS, then the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_name(device: torch.device) -> str:
    """The name of the hardware."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def peak_memory(device: torch.device) -> int:
    """Bytes: the most that this process held so far, on the device or in main memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def versions() -> dict[str, str]:
    """Versions of the libraries that the numbers rest on."""
    return {name: version(name) for name in ("torch", "transformers", "numpy", "scipy")}
