"""Sessions wait, and persons have limits: one who has signed in in two tabs is one person."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import until

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import Progress
from coupling_core.serving.desk import Desk
from coupling_core.serving.jobs import Jobs, Limits
from explorer.asking import queue as module
from explorer.asking.queue import Queue
from explorer.server import backend
from explorer.session import sign_in

FIRST, SECOND = Request("The first prompt", k=8), Request("The second prompt", k=8)
Be = Callable[[str], None]


@pytest.fixture
def go_on() -> threading.Event:
    """Lets the measurement under way go on, to its next step and no further."""
    return threading.Event()


@pytest.fixture
def queue(go_on: threading.Event, tmp_path: Path) -> Iterator[Queue]:
    """One job a person, of which none ends by itself."""
    backend.store.forget()

    def measure(request: Request, *_: object, progress: Callable[[Progress], None], **__: object):
        assert go_on.wait(30)
        progress(Progress("blocks", 1, 2))
        raise ComputeError("it went on")

    yield Queue(Jobs(backend.store(), measure, Limits(per_owner=1)), Desk(tmp_path))
    go_on.set()
    wait_for_the_worker()


def wait_for_the_worker() -> None:
    """Until it has nothing left to do."""
    for thread in threading.enumerate():
        if thread.name == "measuring":
            thread.join(30)


@pytest.fixture
def be(monkeypatch: pytest.MonkeyPatch) -> Be:
    """Be a tab of a person: "ann 1" is Ann's first."""

    def be(tab: str) -> None:
        monkeypatch.setattr(module, "_session", lambda: tab)
        monkeypatch.setattr(module, "_is_open", lambda _: True)
        monkeypatch.setattr(sign_in, "person", lambda: tab.split()[0])

    return be


def test_a_person_has_the_same_limit_in_every_tab(queue: Queue, be: Be) -> None:
    be("ann 1")
    queue.join(FIRST)
    be("ann 2")
    with pytest.raises(InputError, match="1 of your jobs"):
        queue.join(SECOND)
    assert not queue.waits(backend.key(SECOND))
    be("bob 1")
    assert queue.join(SECOND).state == "queued"


def test_a_job_goes_on_while_another_tab_of_the_person_waits(
    queue: Queue, be: Be, go_on: threading.Event
) -> None:
    be("ann 1")
    key = queue.join(FIRST).key
    be("ann 2")
    assert queue.join(FIRST).owners == 1
    queue.leave(key)
    assert not queue.waits(key)
    assert queue.status(key).owners == 1
    be("ann 1")
    assert queue.waits(key)
    queue.leave(key)
    assert queue.status(key).owners == 0
    go_on.set()
    wait_for_the_worker()
    assert queue.status(key).state == "cancelled"


def test_a_job_ends_when_the_last_tab_that_waits_is_closed(
    queue: Queue, be: Be, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: set[str] = set()
    monkeypatch.setattr(module, "EVERY", 0.01)
    for tab in ("ann 1", "ann 2", "bob 1"):
        be(tab)
        monkeypatch.setattr(module, "_is_open", lambda session: session not in closed)
        key = queue.join(FIRST).key
    closed.add("ann 1")
    time.sleep(0.2)
    assert queue.status(key).owners == 2, "another tab of hers waits"
    closed.add("ann 2")
    until(lambda: queue.status(key).owners == 1)
    closed.add("bob 1")
    until(lambda: queue.status(key).owners == 0)
    assert not queue.waits(key)


def test_only_the_latest_jobs_sessions_are_remembered(
    queue: Queue, be: Be, go_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT", 1)
    be("ann 1")
    first = queue.join(FIRST).key
    be("bob 1")
    assert queue.join(SECOND).state == "queued"
    be("ann 1")
    assert queue.waits(first), "it is under way"
    go_on.set()
    wait_for_the_worker()
    be("bob 1")
    second = queue.join(SECOND).key
    assert queue.waits(second)
    be("ann 1")
    assert not queue.waits(first)
