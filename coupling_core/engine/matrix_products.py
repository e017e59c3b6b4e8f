"""Large float32 products on a CPU, by the faster of the libraries that torch has for them.

Torch gives its products to MKL (or to another BLAS), and has oneDNN as well. Which is faster is a
matter of the processor: on one thread of an EPYC with AVX-512 MKL multiplies at 100 GFLOP/s and
oneDNN at 225, and on one with AVX2 alone oneDNN is a tenth slower. So they are timed for each
number of threads, when the first large product comes, and what was chosen is kept for a week: the
processes of a machine shall round alike.
"""

import json
import platform
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from coupling_core.base.folders import user_cache
from coupling_core.base.writing import write_quietly

LEAST = 2**20
"""Multiplications from which on oneDNN's longer start is made up for."""

PLAIN = (Tensor, nn.Parameter)
"""Others, as quantised weights, know their products themselves."""

ONEDNN: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
"""x W^T + bias, with a function of one's choice behind it; None in a torch without oneDNN."""

OTHER = "oneDNN"
OWN = "MKL" if torch.backends.mkl.is_available() else "torch's own BLAS"

SIDE = 576
"""Of the square matrices that are multiplied to choose: the width of the default model."""
ROUNDS = 7
KEPT_SECONDS = 7 * 24 * 3600
LEAD = 1.05
"""How many times as fast as torch's own library the other must be: chance shall not choose between
two that are alike, since they round differently."""

Library = Callable[[Tensor, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Choice:
    """Which library multiplies.

    Args:
        library: its name.
        gflops: what each reached when they were tried, in 1e9 floating-point operations a second;
            empty where there is no choice.
        threads: on how many.
    """

    library: str
    gflops: Mapping[str, float]
    threads: int


_chosen: dict[int, Choice] = {}
_lock = Lock()


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


def choice() -> Choice:
    """The library for the present number of threads; timed when it is first asked for."""
    threads = torch.get_num_threads()
    if threads not in _chosen:
        with _lock:
            if threads not in _chosen:
                _chosen[threads] = _choose(threads)
    return _chosen[threads]


def library() -> str:
    """The library for the present number of threads, so far: torch's own until it is chosen."""
    chosen = _chosen.get(torch.get_num_threads())
    return chosen.library if chosen else OWN


def _choose(threads: int) -> Choice:
    if ONEDNN is None:
        return Choice(OWN, {}, threads)
    if kept := _kept().get(_machine(threads)):
        return Choice(kept["library"], kept["gflops"], threads)
    # In a thread of its own, where nobody who records or counts products sees these.
    with ThreadPoolExecutor(1) as apart:
        seconds = apart.submit(_time, {OWN: F.linear, OTHER: _linear}, threads).result()
    gflops = {name: 2e-9 * SIDE**3 / taken for name, taken in seconds.items()}
    faster = gflops[OTHER] > LEAD * gflops[OWN]
    found = Choice(OTHER if faster else OWN, gflops, threads)
    made = {"library": found.library, "gflops": gflops, "time": time.time()}
    write_quietly(_file(), json.dumps(_kept() | {_machine(threads): made}))
    return found


def _file() -> Path:
    return user_cache() / "products.json"


def _machine(threads: int) -> str:
    """What a choice holds for: a folder may be shared by machines that differ."""
    capability = torch.backends.cpu.get_cpu_capability()
    return f"{platform.node()} {capability} {threads} torch {torch.__version__}"


def _kept() -> dict[str, dict[str, Any]]:
    """The choices that are not too old."""
    try:
        made = json.loads(_file().read_text())
        return {
            of: one
            for of, one in made.items()
            if time.time() - one["time"] < KEPT_SECONDS and {"library", "gflops"} <= one.keys()
        }
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


def _time(libraries: Mapping[str, Library], threads: int) -> dict[str, float]:
    """Least seconds of one product by each library, in turn so that all meet the same machine."""
    torch.set_num_threads(threads)
    x = torch.ones(SIDE, SIDE)
    taken: dict[str, list[float]] = {name: [] for name in libraries}
    with torch.no_grad():
        for _ in range(1 + ROUNDS):
            for name, multiply in libraries.items():
                start = time.perf_counter()
                multiply(x, x, None)
                taken[name].append(time.perf_counter() - start)
    return {name: min(seconds[1:]) for name, seconds in taken.items()}  # the first warms up


def _pays(x: Float[Tensor, "*row inner"], weight: Float[Tensor, "n inner"]) -> bool:
    is_large_here = all(
        type(t) in PLAIN and t.dtype == torch.float32 and t.device.type == "cpu"
        for t in (x, weight)
    ) and (x.numel() * len(weight) >= LEAST)
    return is_large_here and choice().library == OTHER


def _linear(
    x: Float[Tensor, "*row inner"], weight: Float[Tensor, "n inner"], bias: Tensor | None
) -> Float[Tensor, "*row n"]:
    return ONEDNN(x, weight, bias, "none", [], "")
