"""Sweeps on clusters: workers of this machine, a scheduler over TCP whose workers die, Slurm."""

import os
import subprocess
from multiprocessing import current_process
from pathlib import Path

import pytest
from listening import watching
from one_node import NoSlurm, slurm
from schedulers import scheduler
from sweep_places import PROMPTS, STEPS, ended, lay_out, python, start, stored, table, wait
from waiting import until

from coupling_core import ComputeError
from coupling_core.experiments.sweeps import clusters
from coupling_core.experiments.sweeps.definition import Slurm

TOTAL = len(STEPS) * PROMPTS
JOBS = '[slurm]\njobs = 2\nmemory = "2GB"\nwalltime = "00:10:00"\n'


@pytest.mark.slow
def test_workers_share_gpus_and_threads_and_only_the_key_opens_them(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # what somebody set by hand counts
    monkeypatch.setattr("coupling_core.engine.hardware.threads", lambda: 4)
    monkeypatch.setattr(
        "coupling_core.engine.hardware.devices", lambda: ["cuda:0", "cuda:1", "cpu"]
    )
    with watching() as watch, clusters.local() as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        assert len(workers) == 2
        for address in (client.scheduler.address, *workers):
            assert address.startswith("tls://127.0.0.1:")
        threads, gpus = (
            sorted(client.run(lambda name: os.environ.get(name), name).values())
            for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
        )
        assert (threads, gpus) == (["2", "2"], ["0", "1"])
    assert len(watch.sockets) >= 3
    assert not watch.open_to_others
    assert not watch.answering, "HTTP servers tell of tasks, paths and source"
    for name in ("OMP_NUM_THREADS", "DASK_LOGGING__DISTRIBUTED"):
        assert name not in os.environ, "what workers are told stays with what is started next"


def test_workers_that_cannot_start_are_told_and_none_starts_workers_itself(monkeypatch):
    monkeypatch.setattr(clusters, "_HOST", "203.0.113.1")  # an address of no machine
    with pytest.raises(ComputeError, match="__main__"), clusters.local(1):
        pass
    # As a worker is, while it imports the script that started it.
    monkeypatch.setattr(current_process(), "_inheriting", True, raising=False)
    with pytest.raises(SystemExit), clusters.local(1):
        pass


def test_a_job_of_slurm_is_asked_for_as_the_sweep_says(tmp_path, monkeypatch):
    """By commands in place of Slurm's, which keep what they are given."""
    for name, does in (
        ("sbatch", "cp $1 copy; mv copy job; echo Job 7"),
        ("scancel", "echo $1 >7"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\ncd {tmp_path}; {does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    asked = Slurm(
        queue="long", cores=3, memory="2GB", walltime="00:10:00", gpus=1,
        directives=("--constraint=a100",), prologue=("module load cuda",),
    )  # fmt: skip
    with clusters.slurm(asked, tmp_path / "logs"):
        until((tmp_path / "job").is_file)
    *job, worker = (tmp_path / "job").read_text().split("\n")[:-1]
    directives = "-p long,--cpus-per-task=3,--mem=2G,-t 00:10:00,--gres=gpu:1,--constraint=a100"
    assert {f"#SBATCH {line}" for line in directives.split(",")} <= set(job)
    assert {"export OMP_NUM_THREADS=3", "module load cuda"} <= set(job)
    assert "export DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE=False" in job
    assert "--tls-key" in worker
    assert (tmp_path / "7").read_text() == "7\n"
    unreadable = asked.model_copy(update={"memory": "much"})
    with pytest.raises(ComputeError, match="much"), clusters.slurm(unreadable, tmp_path / "logs"):
        pass


@pytest.mark.slow
def test_workers_and_the_scheduler_die_and_nothing_is_lost(tmp_path):
    file, store = lay_out(tmp_path), tmp_path / "store"
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
    assert len(table(store).splitlines()) == 1 + 2 * TOTAL  # each at two K


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
    file, store = lay_out(tmp_path, JOBS), tmp_path / "store"
    status, printed, told = ended(start(file, store, "--slurm"))
    assert status == 0, told
    assert (printed["done"], printed["failed"]) == (TOTAL, [])
    assert stored(store) == TOTAL
    listed = subprocess.run(["squeue", "--noheader"], capture_output=True, text=True, check=True)
    assert listed.stdout == ""  # its jobs ended with it
    again, printed, _ = ended(start(file, store, "--slurm"))
    assert (again, printed["stored"], printed["done"]) == (0, TOTAL, 0)
