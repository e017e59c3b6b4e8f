"""Torch where nobody has set anything: what a program sets for itself decides no number."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

import numpy as np
import torch

_CASTING = ("cpu", "cuda", "mps")


@contextmanager
def plain_defaults() -> Iterator[None]:
    """While it lasts, what is not said is float32 and on the processor. Also a decorator."""
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    on_cpu = torch.get_default_device().type == "cpu"
    try:
        with nullcontext() if on_cpu else torch.device("cpu"):
            yield
    finally:
        torch.set_default_dtype(dtype)


@contextmanager
def plain_torch() -> Iterator[None]:
    """The same, and gradients are taken, without autocast and products in lower precision.

    Deterministic algorithms are off too, for some operations have none. Also a decorator.
    """
    precision = torch.get_float32_matmul_precision()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(False)
    try:
        with ExitStack() as stack:
            stack.enter_context(plain_defaults())
            stack.enter_context(np.errstate(all="warn", under="ignore"))
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            for kind in filter(torch.is_autocast_enabled, _CASTING):
                stack.enter_context(torch.autocast(kind, enabled=False))
            yield
    finally:
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        torch.set_float32_matmul_precision(precision)
