"""Where a sweep computes: on this machine, on a running dask scheduler, or in jobs of Slurm."""

import asyncio
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import current_process
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.extras import needed
from coupling_core.base.folders import expanded
from coupling_core.engine import hardware
from coupling_core.experiments.sweeps.definition import Slurm
from coupling_core.measuring.worker.process import THREADS


@contextmanager
def _ctrl_c_kept() -> Iterator[None]:
    """As it was: dask-jobqueue, once imported, has it end a process without a word and with 0."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


with needed("sweeps"), _ctrl_c_kept():
    import dask
    from dask.distributed import Client, Nanny, Scheduler, Security, SpecCluster
    from dask_jobqueue import SLURMCluster
    from distributed.utils import LoopRunner

_CONFIG = {
    # One death of a worker is told at once: who runs the sweep counts the tries.
    "distributed.scheduler.allowed-failures": 0,
    # Workers are busy in torch, where a sampling profiler sees nothing and takes their time.
    "distributed.worker.profile.enabled": False,
    # The measurement itself refuses what does not fit, and says why.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # An HTTP server starts in any case: it has nothing to say, of task keys, paths and source.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_HOST = "127.0.0.1"
_HTTP = f"{_HOST}:0"
"""Where the HTTP servers are reached: from this machine alone, at any port."""
_MUTE = {"dashboard": False, "dashboard_address": _HTTP}
_REACH = 20.0
"""Seconds within which a scheduler answers."""


@contextmanager
def _configured(**more: object) -> Iterator[None]:
    """Dask as a sweep uses it, and silent: what goes wrong is told by whoever runs the sweep."""
    known = logging.root.manager.loggerDict
    names = [name for name in known if name.startswith(("distributed", "tornado", "asyncio"))]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with dask.config.set({**_CONFIG, **more}):
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _environment_kept() -> Iterator[None]:
    """A nanny leaves what it sets for its workers in this process too, for all it starts later."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _require_guard() -> None:
    """End a worker quietly that is about to start workers, as it runs the script that started it.

    Python imports a script into each process that the script starts.
    """
    if getattr(current_process(), "_inheriting", False):
        sys.exit(1)


@contextmanager
def local(workers: int | None = None) -> Iterator[Client]:
    """Workers on this machine: one a device unless told, which share the processor's threads."""
    _require_guard()
    gpus = [name.partition(":")[2] for name in hardware.devices() if name.startswith("cuda")]
    count = workers or len(gpus) or 1
    threads = str(max(1, hardware.threads() // count))
    environ = dict.fromkeys(THREADS, threads) | {"DASK_LOGGING__DISTRIBUTED": "critical"}
    configured = _configured(**{"distributed.nanny.pre-spawn-environ": environ})
    with _environment_kept(), configured, _deaf_loop() as loop:
        # Others on this machine could send code to an open port: only who has the key may.
        secret = {"protocol": "tls", "security": Security.temporary()}
        options = {"host": _HOST, "nthreads": 1, **_MUTE, **secret}
        spec = {
            number: {"cls": Nanny, "options": {**options, "env": _device(gpus, number)}}
            for number in range(count)
        }
        scheduler = {"host": _HOST, "port": 0, **_MUTE, **secret}
        try:
            cluster = SpecCluster(
                workers=spec,
                scheduler={"cls": Scheduler, "options": scheduler},
                security=secret["security"],
                silence_logs=logging.CRITICAL,
                loop=loop,
                shutdown_on_close=False,  # at exit one that Ctrl-C left half begun cannot be closed
            )
        except (OSError, RuntimeError, TimeoutError) as error:
            why = str(error.__cause__ or error).rstrip(".")
            raise ComputeError(
                f"the workers could not be started: {why}. In a script, what starts them stands "
                'below `if __name__ == "__main__":`'
            ) from None
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def running(address: str) -> Iterator[Client]:
    """The workers of a scheduler that runs already, such as `tcp://host:8786`."""
    with _configured():
        try:
            client = Client(address, timeout=_REACH, set_as_default=False)
        except (ValueError, KeyError) as error:
            raise InputError(
                f"--scheduler {address!r} is no address: expected one such as tcp://host:8786"
            ) from error
        except (OSError, TimeoutError, asyncio.TimeoutError) as error:
            raise ComputeError(
                f"no scheduler answers at {address} within {_REACH:g} s: is `dask scheduler` "
                "running there, and is its port open?"
            ) from error
        with client:
            yield client


@contextmanager
def slurm(asked: Slurm, folder: Path, jobs: int | None = None) -> Iterator[Client]:
    """Workers in jobs of Slurm, one each.

    All machines share the folder, and so many `jobs` are in place of those of the sweep's file.
    """
    if shutil.which("sbatch") is None:
        raise ComputeError(
            "Slurm's `sbatch` is not on this machine: run the sweep on a login node of the "
            "cluster, or use --scheduler"
        )
    logs = expanded(asked.folder) if asked.folder else folder
    gpus = [f"--gres=gpu:{asked.gpus}"] * bool(asked.gpus)
    with _configured():
        options: dict[str, Any] = {
            "queue": asked.queue,
            "account": asked.account,
            "interface": asked.interface,
            "walltime": asked.walltime,
        }
        try:
            logs.mkdir(parents=True, exist_ok=True)
            cluster = SLURMCluster(
                cores=asked.cores,
                processes=1,
                memory=asked.memory,
                worker_extra_args=[
                    *("--nthreads", "1", "--no-dashboard", "--dashboard-address", _HTTP)
                ],
                job_extra_directives=[*gpus, *asked.directives],
                job_script_prologue=[*_exports(asked.cores), *asked.prologue],
                log_directory=str(logs),
                scheduler_options=_MUTE,
                security=True,  # by keys that are made for this run
                shared_temp_directory=str(logs),
                silence_logs="critical",
                **{name: value for name, value in options.items() if value is not None},
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise ComputeError(f"jobs of Slurm could not be asked for: {error}") from error
        with cluster, Client(cluster, set_as_default=False) as client:
            cluster.scale(jobs=jobs or asked.jobs)
            yield client


@contextmanager
def _deaf_loop() -> Iterator[Any]:
    """An event loop in a thread to which Ctrl-C is not told, and so to no worker that it starts.

    A terminal tells it to all of them; they end with this process, and have nothing to say.
    """
    runner = LoopRunner()
    ensure_running()  # where the thread of the loop starts it, that thread hears Ctrl-C again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield runner.loop
    finally:
        runner.stop()


def _device(gpus: list[str], number: int) -> dict[str, str]:
    """What makes a worker see one GPU."""
    return {"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]} if gpus else {}


def _exports(cores: int) -> list[str]:
    """What a job's worker has to know of this configuration, and how many threads it has."""
    told = {
        f"DASK_{name.upper().replace('.', '__')}": str(value)
        for name, value in _CONFIG.items()
        if name.startswith("distributed.worker.")
    }
    told |= dict.fromkeys(THREADS, str(cores))
    return [f"export {name}={value}" for name, value in told.items()]
