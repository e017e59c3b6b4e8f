"""Several runs on this machine: one after the other here, or each as a task of a worker."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import torch

from coupling_core.base.errors import ComputeError, CouplingError, InputError
from coupling_core.engine import hardware
from coupling_core.experiments.sweeps import clusters
from coupling_core.sources import hub
from studies.vision import training
from studies.vision.data import load_pictures
from studies.vision.pictures import Pictures
from studies.vision.plans import VisionPlan

LOOK = 0.5
"""Seconds between two looks at how far the workers are."""

Report = Callable[[int, str], None]
Say = Callable[[str], None]


def train_all(
    plans: Sequence[VisionPlan],
    report: Report,
    say: Say,
    device: str | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> None:
    """Train the runs that are not finished; those that were begun go on.

    Args:
        plans: all of them; of the same data and size.
        report: told how many epochs of all runs are done, and what is under way.
        say: told what takes long before that.
        device: where to compute; None takes CUDA where there is one, and all that there are.
        threads: of the processor, a run; as many, and the numbers are alike.
        workers: runs at a time; as many as devices unless told.

    Raises:
        InputError: where there is no such data or device.
        ComputeError: where the data cannot be fetched, or runs failed; the others are trained.
    """
    hardware.choose_device(device)
    folders = {plan: hub.cache.trained_here(plan.repo) for plan in plans}
    missing = [plan for plan in plans if not training.is_finished(folders[plan], plan)]
    if missing:
        _pictures(plans[0].data, plans[0].size, say)  # once, before many workers ask for it
    cuda = sum(name.startswith("cuda") for name in hardware.devices())
    count = min(workers or (1 if device else max(1, cuda)), len(missing))
    tell = _teller(folders, report)
    if count > 1:
        failures = _at_once(missing, folders, tell, device, threads, count)
    else:
        failures = _one_by_one(missing, folders, tell, device, threads, say)
    if failures:
        plan, error = next(iter(failures.items()))
        raise ComputeError(
            f"{len(failures)} of {len(plans)} runs failed, such as {plan.repo}: {error}; the same "
            "command tries them again"
        )


def _teller(folders: Mapping[VisionPlan, Path], report: Report) -> Callable[[], None]:
    """What counts the saved epochs, of which any process can read the files."""

    def tell() -> None:
        done = {plan: training.epochs_done(folder) for plan, folder in folders.items()}
        ended = sum(done[plan] == plan.epochs for plan in done)
        report(sum(done.values()), f"epochs; {ended} of {len(done)} runs are done")

    return tell


def _one_by_one(
    plans: Sequence[VisionPlan],
    folders: Mapping[VisionPlan, Path],
    tell: Callable[[], None],
    device: str | None,
    threads: int | None,
    say: Say,
) -> dict[VisionPlan, str]:
    failures: dict[VisionPlan, str] = {}
    for plan in plans:
        try:
            _train(plan, folders[plan], device, threads, say, lambda _: tell())
        except ComputeError as error:
            failures[plan] = str(error)
    return failures


def _at_once(
    plans: Sequence[VisionPlan],
    folders: Mapping[VisionPlan, Path],
    tell: Callable[[], None],
    device: str | None,
    threads: int | None,
    workers: int,
) -> dict[VisionPlan, str]:
    if device is not None and device.startswith("cuda"):
        raise InputError(
            f"--device {device} is one, and each of {workers} workers takes its own: leave "
            "--device or --workers out, or give cpu"
        )
    with clusters.local(workers) as client:
        futures = {
            plan: client.submit(_train, plan, folders[plan], device, threads, pure=False)
            for plan in plans
        }
        while not all(future.done() for future in futures.values()):
            tell()
            time.sleep(LOOK)
        tell()
        failures = {plan: future.exception() for plan, future in futures.items()}
    return {plan: _words(error) for plan, error in failures.items() if error is not None}


def _words(error: BaseException) -> str:
    from dask.distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return "its worker died: for want of memory, perhaps"
    return str(error) if isinstance(error, CouplingError) else repr(error)


def _train(
    plan: VisionPlan,
    folder: Path,
    device: str | None,
    threads: int | None,
    say: Say = lambda _: None,
    report: training.Report = lambda _: None,
) -> None:
    """One run, in whatever process this is."""
    if threads is not None:
        torch.set_num_threads(threads)
    training.train(plan, _pictures(plan.data, plan.size, say), folder, report, device)


@lru_cache(maxsize=1)  # the next run of this process learns the same
def _pictures(data: str, size: int, say: Say) -> Pictures:
    return load_pictures(data, size, say)
