"""What the benchmarks share: models, interleaved timing, the machine's own peak, memory, JSON."""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import torch
from threadpoolctl import threadpool_limits
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry
from transformers import LlamaConfig, LlamaForCausalLM

from coupling_core import Request
from coupling_core.engine import hardware
from coupling_core.engine.loading import load
from coupling_core.engine.matrix_products import ONEDNN, choice, product
from coupling_core.sources.resolved import resolve

ROOT = Path(__file__).parents[1]
CLOCKS = ("wall", "cpu")
GEMM_SIZE = {"cpu": 2048, "cuda": 8192}
SAMPLING = 0.002  # seconds between two looks at the memory

Run = Callable[[], Any]
Results = dict[str, Any]
Rows = list[tuple[str, str]]
"""Rows of the table in `docs/performance.md`: what was measured, and what came out."""


def smollm2() -> Any:
    """SmolLM2-135M, the real default model."""
    return load(resolve(Request("-")), "cpu").model


def prompt(length: int) -> list[int]:
    """The first tokens, as SmolLM2 reads it, of an English text that every checkout has."""
    text = " ".join((ROOT / "LICENSE").read_text().split())
    ids = load(resolve(Request("-")), "cpu").encode(text)
    assert len(ids) >= length
    return ids[:length]


def llama(d: int = 32, blocks: int = 4, **changes: Any) -> Any:
    """A Llama with random weights: heads of width 64, and an MLP of 8/3 d, where d is 64 or more.

    Args:
        d: width.
        blocks: how many.
        changes: what else its configuration has.
    """
    shape = {"intermediate_size": 8 * d // 3, "num_attention_heads": max(1, d // 64)}
    config = LlamaConfig(
        hidden_size=d, num_hidden_layers=blocks, **{"vocab_size": 1000} | shape | changes
    )
    return drawn(lambda: LlamaForCausalLM._from_config(config, dtype=torch.float32))


def drawn(build: Callable[[], Any]) -> Any:
    """A model with random weights, which are always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build().eval().requires_grad_(False)


def model_and_ids(quick: bool, length: int) -> tuple[Any, list[int]]:
    """SmolLM2 with a prompt of this length; a tiny model with any ids where it shall be quick."""
    return (llama(), list(range(1, length + 1))) if quick else (smollm2(), prompt(length))


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


def on_threads() -> Iterator[int]:
    """One thread, and two where there are two: what the loop does, it does with so many."""
    for count in sorted({1, min(2, os.cpu_count() or 1)}):
        with threads(count):
            yield count


def timed(run: Run) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    _synchronise()
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    _synchronise()
    return time.perf_counter() - wall, time.process_time() - cpu


def interleaved(
    runs: Mapping[str, Run], rounds: int, *, warm_up: bool = True, device: str = "cpu"
) -> dict[str, Results]:
    """Time runs in turn, round after round, so that all meet the same state of the machine.

    Args:
        runs: what is compared, by name.
        rounds: how often.
        warm_up: run all of them once before; False where the caller has done so.
        device: where the matrix product beside them runs.

    Returns:
        for each run the medians of `wall` and `cpu` seconds and every sample; under "gemm" the
        float32 peak that a large matrix product reached beside them, in GFLOP/s of each clock, and
        which library multiplied, with what each of them reached when it was chosen.
    """
    gemm = gemm_peak(device)
    for run in runs.values() if warm_up else ():
        run()
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in (*runs, "gemm")}
    for _ in range(rounds):
        for name, run in (*runs.items(), ("gemm", gemm)):
            samples[name].append(timed(run))
    found = {name: medians(of) for name, of in samples.items()}
    flop = 2 * GEMM_SIZE[device] ** 3 / 1e9
    peak = found.pop("gemm")
    rates = {"gflops": flop / peak["wall"], "gflops_cpu": flop / max(peak["cpu"], 1e-9)}
    library = products_by() if device == "cpu" else {}
    return found | {"gemm": rates | {"threads": torch.get_num_threads()} | library}


def medians(samples: Sequence[tuple[float, ...]], names: tuple[str, ...] = CLOCKS) -> Results:
    """Medians of seconds, such as `wall`, with the samples of each, such as `walls`."""
    columns = dict(zip(names, zip(*samples, strict=True), strict=True))
    found = {name: median(each) for name, each in columns.items()}
    return found | {f"{name}s": each for name, each in columns.items()}


def median_of(runs: Iterable[Results]) -> Results:
    """Over several runs, by clock."""
    found = list(runs)
    return {clock: median(one[clock] for one in found) for clock in CLOCKS}


def ratio(of: Results, to: Results) -> Results:
    """How many times as long one took as the other, by clock."""
    return {clock: of[clock] / to[clock] for clock in CLOCKS}


def this_machine(rounds: int = 1) -> Results:
    """What is told of the machine beside what was measured on it: its peak, and its load."""
    return {"gemm": interleaved({}, rounds)["gemm"], "load": os.getloadavg()[0]}


def products_by() -> Results:
    """Which library multiplies large matrices on this processor, and how fast each does."""
    chosen = choice()
    return {
        "library": chosen.library,
        "libraries": dict(chosen.gflops),
        "instructions": hardware.instructions(),
    }


def peak_words(gemm: Results) -> str:
    """The peak, with the library that reached it and the kind of processor."""
    said = f"GEMM peak {gemm['gflops']:.0f} GFLOP/s"
    if "library" not in gemm:  # measured before there was a choice
        return said
    return f"{said} by {gemm['library']} on {gemm['instructions']}"


def choice_words(gemm: Results) -> str:
    """Which library was chosen, and how fast each was."""
    speeds = ", ".join(f"{name} {speed:.0f}" for name, speed in gemm["libraries"].items())
    return f"{gemm['library']}, chosen on {gemm['instructions']}: {speeds} GFLOP/s"


def gemm_peak(device: str = "cpu") -> Run:
    """One large float32 matrix product by the fastest library that torch has, warmed up."""
    generator = torch.Generator().manual_seed(0)
    size = GEMM_SIZE[device]
    a = torch.randn(size, size, generator=generator).to(device)
    product(a, a)
    return lambda: product(a, a)


def fresh_process_peak(module: str, function: str, **arguments: Any) -> Results:
    """Peak of the anonymous memory of a function in a process of its own.

    Args:
        module: its full name.
        function: of it, which takes the arguments, loads what it needs, and gives what to run.
        arguments: as JSON takes them.

    Returns:
        bytes `before` the run (model and libraries) and at the `peak`; None where the system does
        not tell.
    """
    call = json.dumps([module, function, arguments])
    command = [sys.executable, "-c", f"from benchmarks import common; common._watch({call!r})"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{module}.{function} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _watch(call: str) -> None:
    module, function, arguments = json.loads(call)
    run = getattr(import_module(module), function)(**arguments)
    before = _anonymous()
    with watching() as peak:
        run()
    sys.stdout.write(json.dumps({"before": before, "peak": peak()}) + "\n")


@contextmanager
def watching() -> Iterator[Callable[[], int | None]]:
    """Watch this process's own memory; what it gives tells the peak, None where none is known."""
    seen, done = [_anonymous()], threading.Event()

    def sample() -> None:
        while seen[0] is not None and not done.wait(SAMPLING):
            seen.append(_anonymous())

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        yield lambda: None if seen[0] is None else max(size for size in seen if size is not None)
    finally:
        seen.append(_anonymous())
        done.set()
        watcher.join()


def _anonymous() -> int | None:
    """Bytes of this process that no file holds: what the weights' mapped file takes is left out."""
    held = psutil.Process().memory_info()
    return held.rss - held.shared if hasattr(held, "shared") else None


def thread_words(gemm: Results) -> str:
    """How many threads there were."""
    return f"{gemm['threads']} thread" + "s" * (gemm["threads"] > 1)


class Operations(TorchDispatchMode):
    """Counts the floating-point operations of every matrix product while it is entered, and calls.

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


@contextmanager
def chromium(what: str) -> Iterator[Any]:
    """A headless Chromium; None, after a line on what is left out, where there is none."""
    try:
        from playwright.sync_api import sync_playwright

        from tests.support.driving import SWITCHES, browser_path

        path = browser_path()
    except (ImportError, RuntimeError) as error:
        sys.stdout.write(f"{what} is left out: {error}\n")
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
        yield browser
        browser.close()


def environment() -> Results:
    """The machine and the libraries."""
    cuda = torch.cuda.is_available()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "processor": _processor(),
        "instructions": hardware.instructions(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "gpu": torch.cuda.get_device_name() if cuda else None,
        "load_before": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": hardware.versions(),
        "environment": {k: v for k, v in os.environ.items() if k.startswith(("OMP_", "MKL_"))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def _commit() -> str | None:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
