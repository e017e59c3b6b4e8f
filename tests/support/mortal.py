"""What a worker is asked to run in tests: it does what the prompt says, or dies of it."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from cases import random_result
from waiting import until

from coupling_core.base.errors import ComputeError
from coupling_core.base.records import Request
from coupling_core.base.results import Progress, Result
from coupling_core.measuring import deaths
from coupling_core.measuring.measure import measure as really
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

BLOCKS = 3


def folder(path: Path, size: int = 7) -> Path:
    """What is taken for a model, with weights of so many bytes, all of them a hole."""
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text('{"architectures": ["MortalForCausalLM"]}')
    (path / "model.safetensors").touch()
    os.truncate(path / "model.safetensors", size)
    return path


def measure(
    request: Request, store: Store, *, device: str | None, progress: Callable[[Progress], None]
) -> Result:
    """Tell a few steps, do what the prompt says, and store a result."""
    result = random_result(request=request, identity=resolve(request).identity)
    for block in range(1, BLOCKS + 1):
        progress(Progress("blocks", block, BLOCKS, result))
        time.sleep(0.02)
    do(str(request.prompt).split(), request)
    progress(Progress("saving", 1, 1, result))
    store.put(result)
    return result


def do(words: list[str], request: Request | None = None) -> str:
    """Whatever it is, in the thread that is asked."""
    match words:
        case ["by", "the", "fast", "way:", *rest] if request and not deaths.reason(
            resolve(request)
        ):
            do(rest)
        case ["die", "of", name]:
            signal.raise_signal(signal.Signals[name])
        case ["exit", "with", status]:
            os._exit(int(status))
        case ["sleep"]:
            time.sleep(1000)
        case ["wait", "for", path]:
            until(Path(path).exists)
        case ["hold", "everything", "up"]:  # no other thread runs meanwhile
            re.match(r"(a+)+$", "a" * 60 + "b")
        case ["fail", *rest]:
            raise ValueError(" ".join(rest))
        case ["refuse"]:
            raise ComputeError("no room: make some")
    return " ".join(words)


def the_second_time(mark: Path) -> int:
    """The process's number, where it is asked once more; else nothing for ever."""
    if not mark.exists():
        mark.touch()
        time.sleep(1000)
    return os.getpid()


def measure_what_is_cut_short(request: Request) -> None:
    """Cut a model's weights short while they are measured, as `cp` does that writes them anew."""

    def report(progress: Progress) -> None:
        if progress.stage == "tracing":
            os.truncate(Path(request.model) / "model.safetensors", 1000)

    really(request, device="cpu", progress=report)


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def waits(*_: Any, progress: Callable[[Progress], None], **__: Any) -> None:
    """Steps without end, that can be stopped at any."""
    for step in range(10**6):
        progress(Progress("blocks", step, 10**6))
        time.sleep(0.01)


def move(environment: dict[str, str]) -> None:
    """Go on in another test's environment, with none of its models."""
    from coupling_core.base.settings import settings
    from coupling_core.engine import loading

    loading.forget()

    os.environ.clear()
    os.environ.update(environment)
    settings.cache_clear()


def kept() -> list[str]:
    """Which models are in memory."""
    from coupling_core.engine.loading import loading

    return [key.location for key in loading._kept._models]


def priority(**_: Any) -> int:
    """Of the thread that is asked."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
