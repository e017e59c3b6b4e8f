"""A sweep in jobs of a real Slurm, of one node, that the test starts."""

import subprocess
from pathlib import Path

import pytest
from one_node import NoSlurm, slurm
from sweep_places import PROMPTS, STEPS, ended, lay_out, start, stored

TOTAL = len(STEPS) * PROMPTS
JOBS = """
[slurm]
jobs = 2
memory = "2GB"
walltime = "00:10:00"
"""


@pytest.fixture
def node(tmp_path_factory, monkeypatch):
    """A Slurm; where none can be started, the test says why and is skipped."""
    try:
        with slurm(tmp_path_factory.mktemp("slurm")) as conf:
            monkeypatch.setenv("SLURM_CONF", str(conf))
            yield conf
    except NoSlurm as why:
        pytest.skip(f"Slurm was not started: {why}")


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


def test_where_there_is_no_slurm_that_is_told(tmp_path, monkeypatch, run):
    file = lay_out(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, told = run("sweep", "run", file, "--slurm", "--store", tmp_path / "store")
    assert status == 1
    assert "sbatch" in told
