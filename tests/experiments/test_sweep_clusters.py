"""Sweeps on clusters: workers of this machine, a scheduler over TCP whose workers die, Slurm."""

import os
import subprocess
from pathlib import Path

import pytest
from listening import watching
from one_node import NoSlurm, slurm
from schedulers import scheduler
from sweep_places import PROMPTS, STEPS, ended, lay_out, python, start, stored, table, wait

from coupling_core import Store
from coupling_core.experiments.sweeps import clusters, make, make_table, read, write_table
from coupling_core.experiments.sweeps import worker as working
from coupling_core.measuring.worker import Worker

TOTAL = len(STEPS) * PROMPTS
JOBS = """
[slurm]
jobs = 2
memory = "2GB"
walltime = "00:10:00"
"""


@pytest.mark.full
def test_two_workers_share_the_threads_and_only_the_key_opens_them(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # what somebody set by hand counts
    monkeypatch.setattr("coupling_core.engine.hardware.threads", lambda: 4)
    monkeypatch.setattr("coupling_core.engine.hardware.devices", lambda: ["cpu"])
    with watching() as watch, clusters.local(2) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        assert len(workers) == 2
        for address in (client.scheduler.address, *workers):
            assert address.startswith("tls://127.0.0.1:")
        assert set(client.run(lambda: os.environ.get("OMP_NUM_THREADS")).values()) == {"2"}
    assert len(watch.sockets) >= 3
    assert not watch.open_to_others
    assert not watch.answering, "HTTP servers tell of tasks, paths and source"
    for name in ("OMP_NUM_THREADS", "DASK_LOGGING__DISTRIBUTED"):
        assert name not in os.environ, "what workers are told stays with what is started next"


@pytest.mark.slow
def test_there_is_a_worker_for_each_gpu(monkeypatch):
    monkeypatch.setattr(
        "coupling_core.engine.hardware.devices", lambda: ["cuda:0", "cuda:1", "cpu"]
    )
    with clusters.local() as client:
        found = client.run(lambda: os.environ.get("CUDA_VISIBLE_DEVICES"))
    assert sorted(found.values()) == ["0", "1"]


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
    with scheduler() as (address, its_process):
        worker = ("-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1")
        second = python(*worker, address)
        process = start(file, store, "--scheduler", address)
        wait(lambda: stored(store) >= 5, process)
        second.kill()
        second.communicate()
        before = stored(store)
        wait(lambda: stored(store) >= before + 5, process)
        its_process.kill()
        status, printed, told = ended(process)
    assert status == 1
    assert not printed
    assert "scheduler is gone" in told
    assert "Traceback" not in told
    kept = stored(store)
    assert 10 <= kept < TOTAL
    with scheduler() as (address, _):
        status, printed, told = ended(start(file, store, "--scheduler", address))
    assert (status, told.count("error")) == (0, 0)
    assert printed["stored"] == kept
    assert printed["done"] == TOTAL - kept
    assert stored(store) == TOTAL
    assert table(store) == expected


def test_a_cluster_that_is_not_there_is_told(tmp_path, monkeypatch, run):
    file = lay_out(tmp_path)
    monkeypatch.setattr(clusters, "_REACH", 1.0)
    monkeypatch.setenv("PATH", str(tmp_path))
    for options, status, word in (
        (("--scheduler", "tcp://127.0.0.1:9"), 1, "scheduler"),
        (("--scheduler", "nonsense://x"), 2, "nonsense"),
        (("--slurm",), 1, "sbatch"),
    ):
        came = run("sweep", "run", file, "--store", tmp_path / "store", *options)
        assert (came[0], word in came[2]) == (status, True)


@pytest.fixture
def node(tmp_path_factory, monkeypatch):
    """A Slurm; where none can be started, the test says why and is skipped."""
    try:
        with slurm(tmp_path_factory.mktemp("slurm")) as conf:
            monkeypatch.setenv("SLURM_CONF", str(conf))
            yield conf
    except NoSlurm as why:
        pytest.skip(f"Slurm was not started: {why}")


@pytest.mark.slow
def test_a_sweep_runs_in_two_jobs_of_slurm(node: Path, tmp_path):
    file, store = lay_out(tmp_path), tmp_path / "store"
    file.write_text(file.read_text() + JOBS)
    status, printed, told = ended(start(file, store, "--slurm"))
    assert status == 0, told
    assert (printed["done"], printed["failed"]) == (TOTAL, [])
    assert stored(store) == TOTAL
    listed = subprocess.run(["squeue", "--noheader"], capture_output=True, text=True, check=True)
    assert listed.stdout == ""  # its jobs ended with it
    again, printed, _ = ended(start(file, store, "--slurm"))
    assert (again, printed["stored"], printed["done"]) == (0, TOTAL, 0)
