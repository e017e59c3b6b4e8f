"""A sweep on a scheduler with workers in processes of their own, over TCP, which die."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sweep_places import PROMPTS, STEPS, ended, lay_out, python, start, stored, table, wait

from coupling_core import Store
from coupling_core.experiments.sweeps import journals, make, make_table, read, write_table
from coupling_core.experiments.sweeps import worker as working
from coupling_core.measuring.worker import Worker

TOTAL = len(STEPS) * PROMPTS


@contextmanager
def cluster() -> Iterator[tuple[str, subprocess.Popen, list[subprocess.Popen]]]:
    """A scheduler's address, its process, and two workers."""
    quiet = ("--no-dashboard", "--host", "127.0.0.1")
    scheduler = python("-m", "distributed.cli.dask_scheduler", "--port", "0", *quiet)
    workers = []
    try:
        address = ""
        while not address:
            line = scheduler.stderr.readline()
            assert line, "the scheduler ended"
            if found := re.search(r"Scheduler at:\s+(tcp://\S+)", line):
                address = found[1]
        one = ("--nthreads", "1", "--nworkers", "1", "--no-nanny")
        workers = [
            python("-m", "distributed.cli.dask_worker", address, *one, *quiet) for _ in range(2)
        ]
        yield address, scheduler, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.communicate()


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """The sweep's file, the store, and the table that one measurement after another gives."""
    file = lay_out(tmp_path)
    plan, alone = make(read(file)), Store(tmp_path / "alone")
    alone.root.mkdir()
    # The process of earlier tests chose how it multiplies in another folder, where no worker looks.
    one = Worker()
    monkeypatch.setattr(working, "measure", one.measure)
    for item in plan.items():
        working.work(item.request, str(alone.root), str(file), 60)
    one.close()
    path = alone.root / "sweeps" / "places-alone" / "table.csv"
    path.parent.mkdir(parents=True)
    write_table(path, make_table(plan, alone)[0])
    return file, tmp_path / "store", table(alone.root)


@pytest.mark.slow
def test_workers_and_the_scheduler_die_and_nothing_is_lost(sweep):
    file, store, expected = sweep
    with cluster() as (address, scheduler, workers):
        process = start(file, store, "--scheduler", address)
        wait(lambda: stored(store) >= 5, process)
        workers[0].send_signal(signal.SIGKILL)
        before = stored(store)
        wait(lambda: stored(store) >= before + 5, process)
        scheduler.send_signal(signal.SIGKILL)
        status, printed, told = ended(process)
    assert status == 1
    assert not printed
    assert "scheduler is gone" in told
    assert "Traceback" not in told
    kept = stored(store)
    assert 10 <= kept < TOTAL
    with cluster() as (address, *_):
        status, printed, told = ended(start(file, store, "--scheduler", address))
    assert (status, told.count("error")) == (0, 0)
    assert printed["stored"] == kept
    assert printed["done"] == TOTAL - kept
    assert stored(store) == TOTAL
    assert table(store) == expected


def test_what_others_have_measured_makes_a_table_without_workers(tmp_path, run):
    file, store = lay_out(tmp_path), tmp_path / "store"
    file.write_text(file.read_text().replace(str(list(STEPS)), "[0]"))
    for item in make(read(file)).items():
        working.work(item.request, str(store), str(file), 60)
    status, printed, told = run("sweep", "run", file, "--store", store)
    assert (status, told) == (0, "")
    assert f"all {PROMPTS} were stored" in printed
    assert len(table(store).splitlines()) == 1 + 2 * PROMPTS
    assert [journal.plan()["total"] for journal in journals(Store(store))][:1] == [PROMPTS]


def test_no_scheduler_is_told_in_words(tmp_path, monkeypatch, run):
    from coupling_core.experiments.sweeps import clusters

    file, store = lay_out(tmp_path), tmp_path / "store"
    monkeypatch.setattr(clusters, "_REACH", 1.0)
    for address, status, words in (
        ("tcp://127.0.0.1:9", 1, "no scheduler answers"),
        ("nonsense://x", 2, "is no address"),
    ):
        came = run("sweep", "run", file, "--store", store, "--scheduler", address)
        assert came[0] == status
        assert words in came[2]
