"""Nothing listens that need not: the sockets of every process that we start, in every mode."""

import subprocess
from pathlib import Path

import pytest
from listening import Watch, watching
from one_node import NoSlurm, slurm
from schedulers import scheduler
from sweep_places import STEPS, lay_out, python, start

MINUTES = 10


def shown(watch: Watch) -> str:
    return "; ".join(f"{one.address}:{one.port} {one.answers}" for one in watch.sockets.values())


def finished(process: subprocess.Popen[str]) -> None:
    """Wait for a command's end, which shall be a good one."""
    try:
        out, err = process.communicate(timeout=MINUTES * 60)
        assert process.returncode == 0, (out, err)
    finally:
        process.kill()


@pytest.mark.full
def test_a_command_listens_nowhere(tmp_path: Path) -> None:
    model = ("--model", "coupling-explorer/mini-64", "--revision", "step0")
    command = ("depth", *model, "--prompt", "The")
    with watching(0.1) as watch:
        finished(python("-m", "coupling_core", *command, "--store", str(tmp_path)))
    assert not watch.sockets, shown(watch)


def one_step(folder: Path, more: str = "") -> Path:
    """A small sweep."""
    file = lay_out(folder)
    file.write_text(file.read_text().replace(str(list(STEPS)), "[0]") + more)
    return file


@pytest.mark.slow
def test_a_sweep_on_a_scheduler_over_tcp_opens_nothing_more(tmp_path: Path) -> None:
    with scheduler() as (address, _), watching() as watch:
        finished(start(one_step(tmp_path), tmp_path / "store", "--scheduler", address))
    ours = [one for one in watch.sockets.values() if "coupling_core" in one.program]
    assert not ours, shown(watch)


@pytest.mark.slow
def test_a_sweep_in_jobs_of_slurm_says_nothing_by_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = '\n[slurm]\njobs = 1\nmemory = "2GB"\nwalltime = "00:10:00"\n'
    try:
        with slurm(tmp_path) as conf:
            monkeypatch.setenv("SLURM_CONF", str(conf))
            with watching() as watch:
                finished(start(one_step(tmp_path, jobs), tmp_path / "store", "--slurm"))
    except NoSlurm as why:
        pytest.skip(f"Slurm was not started: {why}")
    assert not watch.answering, shown(watch)
    # Jobs on other machines reach the scheduler and one another: two encrypted ports, and no more.
    assert len(watch.open_to_others) <= 3, shown(watch)
    assert 8787 not in {one.port for one in watch.sockets.values()}
