"""`coupling jobs`: what running apps measure, and an end to it."""

import threading

import pytest
from command_line import printed
from waiting import until

from coupling_core import Progress, Request
from coupling_core.serving.desk import Desk
from coupling_core.serving.jobs import JobStatus

RUNNING = JobStatus(
    "abc-1", Request("A secret"), "running", seconds=75.0, progress=Progress("blocks", 3, 30),
    whose=("f00d",),
)  # fmt: skip
WAITING = JobStatus("abd-2", Request("-", model="m", revision="main"), "queued", place=1)


@pytest.fixture
def app(tmp_path):
    """A running app with two jobs."""
    found = Desk(tmp_path / "apps")
    found.show([RUNNING, WAITING])
    return found


def test_jobs_are_listed(run, tmp_path, app):
    assert printed(run("jobs", "--json")) == []
    assert run("jobs")[1].startswith("nothing ")
    there = ("jobs", "--store", tmp_path / "apps")
    status, out, _ = run(*there)
    assert status == 0
    first, second = (line.split("  ") for line in out.splitlines()[-2:])
    assert {"abc-1", "running", "75", "blocks", "3", "30", "f00d"} <= {*map(str.strip, first)}
    assert {"abd-2", "queued", "1", "m", "main"} <= {*map(str.strip, second)}
    assert "secret" not in out
    assert [job["key"] for job in printed(run(*there, "--json"))] == ["abc-1", "abd-2"]


def test_a_job_is_ended(run, tmp_path, app):
    def serve():
        until(app.asked)
        app.show([WAITING])

    thread = threading.Thread(target=serve)
    thread.start()
    assert run("jobs", "--end", "abc", "--store", tmp_path / "apps")[:2] == (0, "abc-1  ended\n")
    thread.join(10)
