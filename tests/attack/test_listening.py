"""Nothing listens that need not: the sockets of every process that we start, in every mode."""

import subprocess
from pathlib import Path

import pytest
from listening import watching
from one_node import NoSlurm, slurm
from sweep_places import lay_out, python, start


def finished(process: subprocess.Popen[str]) -> None:
    """Wait for a command's end, which shall be a good one."""
    try:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, (out, err)
    finally:
        process.kill()


@pytest.mark.full
def test_a_command_listens_nowhere(tmp_path: Path) -> None:
    model = ("--model", "coupling-explorer/mini-64", "--revision", "step0")
    command = ("depth", *model, "--prompt", "The")
    with watching() as watch:
        finished(python("-m", "coupling_core", *command, "--store", str(tmp_path)))
    assert not watch.sockets, watch


@pytest.mark.slow
def test_a_sweep_on_a_scheduler_over_tcp_opens_nothing_more(tmp_path: Path) -> None:
    from distributed import LocalCluster  # as somebody starts one elsewhere

    file, own = lay_out(tmp_path, steps=[0]), {"host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=1, **own) as cluster, watching() as watch:
        where = ("--scheduler", cluster.scheduler_address)
        finished(start(file, tmp_path / "store", *where))
    ours = [one for one in watch.sockets.values() if "coupling_core" in one.program]
    assert not ours, watch


@pytest.mark.slow
def test_a_sweep_in_jobs_of_slurm_says_nothing_by_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = '\n[slurm]\njobs = 1\nmemory = "2GB"\nwalltime = "00:10:00"\n'
    try:
        with slurm(tmp_path) as conf:
            monkeypatch.setenv("SLURM_CONF", str(conf))
            with watching() as watch:
                finished(start(lay_out(tmp_path, jobs, [0]), tmp_path / "store", "--slurm"))
    except NoSlurm as why:
        pytest.skip(f"Slurm was not started: {why}")
    assert not watch.answering, watch
    # Jobs on other machines reach the scheduler and one another: two encrypted ports, and no more.
    assert len(watch.open_to_others) <= 3, watch
    assert 8787 not in {one.port for one in watch.sockets.values()}
