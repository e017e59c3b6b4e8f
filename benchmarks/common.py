"""What the benchmarks share: models, interleaved timing beside the machine's peak, environment."""

import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import torch
import transformers
from threadpoolctl import threadpool_limits
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from coupling_core import Request
from coupling_core.engine import hardware
from coupling_core.engine.loading import load
from coupling_core.engine.matrix_products import ONEDNN, choice, product
from coupling_core.sources.resolved import resolve

ROOT = Path(__file__).parents[1]
CLOCKS = ("wall", "cpu")
GEMM_SIZE = {"cpu": 2048, "cuda": 8192}

Run = Callable[[], Any]
Results = dict[str, Any]
Rows = list[tuple[str, str]]
"""What was measured, and what came out."""


class LackingError(Exception):
    """This machine lacks what a script needs."""


def random_model(name: str, device: str = "cpu", **config: Any) -> Any:
    """A model of this class, such as LlamaForCausalLM, whose random weights are always the same."""
    kind = getattr(transformers, name)
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(0)
        model = kind._from_config(kind.config_class(**config), dtype=torch.float32)
    return model.eval().requires_grad_(False)


def model_and_ids(quick: bool, length: int) -> tuple[Any, list[int]]:
    """SmolLM2-135M with so much of an English text; a tiny model with any ids when quick."""
    if quick:
        sizes = {"hidden_size": 32, "intermediate_size": 85, "vocab_size": 1000}
        layers = {"num_hidden_layers": 4, "num_attention_heads": 1}
        return random_model("LlamaForCausalLM", **sizes, **layers), list(range(1, length + 1))
    loaded = load(resolve(Request("-")), "cpu")
    ids = loaded.encode(" ".join((ROOT / "LICENSE").read_text().split()))
    assert len(ids) >= length
    return loaded.model, ids[:length]


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch and every BLAS compute with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before)


def timed(run: Run) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    _synchronise()
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    _synchronise()
    return time.perf_counter() - wall, time.process_time() - cpu


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def interleaved(
    runs: Mapping[str, Run], rounds: int, *, warm_up: bool = True, device: str = "cpu"
) -> dict[str, Results]:
    """Medians of runs that are timed in turn, so that all meet the same state of the machine.

    Under "gemm" is the float32 peak that a large matrix product reached beside them, in GFLOP/s.
    """
    gemm = _gemm_peak(device)
    for run in runs.values() if warm_up else ():
        run()
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in (*runs, "gemm")}
    for _ in range(rounds):
        for name, run in (*runs.items(), ("gemm", gemm)):
            samples[name].append(timed(run))
    found = {name: medians(of) for name, of in samples.items()}
    flop = 2 * GEMM_SIZE[device] ** 3 / 1e9
    peak = found.pop("gemm")
    rates: Results = {"gflops": flop / peak["wall"]}
    if device == "cpu":
        rates |= {"library": choice().library, "instructions": hardware.instructions()}
    return found | {"gemm": rates | {"threads": torch.get_num_threads()}}


def _gemm_peak(device: str) -> Run:
    """One large float32 matrix product by the fastest library that torch has, warmed up."""
    generator = torch.Generator().manual_seed(0)
    size = GEMM_SIZE[device]
    a = torch.randn(size, size, generator=generator).to(device)
    product(a, a)
    return lambda: product(a, a)


def medians(samples: Sequence[tuple[float, float]]) -> Results:
    """Medians of wall and CPU seconds, by clock."""
    return dict(zip(CLOCKS, map(median, zip(*samples, strict=True)), strict=True))


def median_of(runs: Iterable[Results]) -> Results:
    """Over several runs, by clock."""
    found = list(runs)
    return {clock: median(one[clock] for one in found) for clock in CLOCKS}


def ratio(of: Results, to: Results) -> Results:
    """How many times as long one took as the other, by clock."""
    return {clock: of[clock] / to[clock] for clock in CLOCKS}


def this_machine() -> Results:
    """What is told of the machine beside what other processes do on it: its peak, and its load."""
    return {"gemm": interleaved({}, 1)["gemm"], "load": os.getloadavg()[0]}


def peak_words(gemm: Results) -> str:
    """The peak, with the library that reached it and the kind of processor."""
    by = f" by {gemm['library']} on {gemm['instructions']}" if "library" in gemm else ""
    return f"GEMM peak {gemm['gflops']:.0f} GFLOP/s{by}"


def thread_words(gemm: Results) -> str:
    """How many threads there were."""
    return f"{gemm['threads']} thread" + "s" * (gemm["threads"] > 1)


class Operations(TorchDispatchMode):
    """Counts the floating-point operations of every matrix product while it is entered.

    torch's own counter follows the modules too, by hooks that gradients by a leaf do not bear.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = 0
        self.other_calls = 0
        """Of what computes, and is no product."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, and add what it costs if it is a product."""
        output = func(*args, **(kwargs or {}))
        if func._overloadpacket is ONEDNN:  # no entry of the registry
            self.total += 2 * args[0].numel() * args[1].shape[0]
        elif (cost := flop_registry.get(func._overloadpacket)) is not None:
            self.total += cost(*args, **(kwargs or {}), out_val=output)
        elif not func.is_view:
            self.other_calls += 1
        return output


def environment() -> Results:
    """The machine and the libraries."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "processor": _processor(),
        "instructions": hardware.instructions(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "load_before": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": hardware.versions(),
        "environment": {k: v for k, v in os.environ.items() if k.startswith(("OMP_", "MKL_"))},
    }


def _commit() -> str | None:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    named = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
