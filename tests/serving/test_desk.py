"""An operator sees the jobs of an app that runs with a store, and ends any; nothing listens."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import until

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import Progress
from coupling_core.serving import desk
from coupling_core.serving.desk import FOLDER, SILENT, Desk
from coupling_core.serving.jobs import JobStatus

RUNNING = JobStatus(
    "abc-1", Request("A secret"), "running", progress=Progress("blocks", 3, 30), whose=("f00d",)
)
WAITING = JobStatus("abd-2", Request("Another"), "queued", place=1)


def test_jobs_are_written_for_their_owner_alone_and_without_prompts(tmp_path):
    store = tmp_path / "store"
    assert desk.jobs(store) == []
    app = Desk(store)
    app.show([RUNNING, WAITING])
    assert (store / FOLDER).stat().st_mode & 0o777 == 0o700
    first, second = desk.jobs(store)
    assert (first["key"], first["stage"], first["done"], first["whose"]) == (
        "abc-1", "blocks", 3, ["f00d"]
    )  # fmt: skip
    assert (second["state"], second["place"]) == ("queued", 1)
    assert "secret" not in "".join(path.read_text() for path in (store / FOLDER).iterdir())
    app.show([])
    assert desk.jobs(store) == []
    assert list((store / FOLDER).iterdir()) == []


def test_an_app_that_has_it_ends_a_job(tmp_path):
    apps = Desk(tmp_path), Desk(tmp_path)
    apps[0].show([RUNNING])
    apps[1].show([WAITING])

    def serve():
        until(lambda: "abc-1" in apps[0].asked())
        apps[0].show([])

    with ThreadPoolExecutor(1) as beside:
        beside.submit(serve)
        desk.end(tmp_path, "abc-1")
    assert apps[1].asked() == []
    assert [job["key"] for job in desk.jobs(tmp_path)] == ["abd-2"]
    with pytest.raises(InputError, match="abc-1"):
        desk.end(tmp_path, "abc-1")


def test_an_app_that_does_not_answer_is_told(tmp_path, monkeypatch):
    Desk(tmp_path).show([RUNNING])
    monkeypatch.setattr(desk.time, "sleep", lambda _: None)
    clock = iter(range(100))
    monkeypatch.setattr(desk.time, "monotonic", lambda: float(next(clock)))
    with pytest.raises(ComputeError, match="did not end the job abc-1"):
        desk.end(tmp_path, "abc-1")


@pytest.mark.parametrize("what", ["old", "broken", "no file"])
def test_what_an_app_left_behind_is_no_job(what, tmp_path):
    Desk(tmp_path).show([RUNNING])
    (path,) = (tmp_path / FOLDER).iterdir()
    if what == "old":
        before = time.time() - SILENT - 1
        os.utime(path, (before, before))
    if what == "broken":
        path.write_text("{")
    if what == "no file":
        path.unlink()
        path.mkdir()
    assert desk.jobs(tmp_path) == []
    Desk(tmp_path)
    assert path.is_file() == (what == "broken"), "it goes with the next app, once it is old"


def test_a_store_that_cannot_be_written_keeps_no_app_from_measuring(tmp_path):
    (tmp_path / "store").write_text("a file")
    app = Desk(tmp_path / "store")
    app.show([RUNNING])
    assert app.asked() == []
    for store in (tmp_path / "store", tmp_path / ("x" * 300), tmp_path / "none"):
        assert desk.jobs(store) == []


def test_jobs_of_another_user_are_not_taken_for_none(tmp_path, monkeypatch):
    Desk(tmp_path).show([RUNNING])
    monkeypatch.setattr(desk.os, "access", lambda path, mode: mode == os.F_OK)
    with pytest.raises(InputError, match="belongs to the user that runs the app"):
        desk.jobs(tmp_path)
