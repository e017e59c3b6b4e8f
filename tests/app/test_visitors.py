"""Many at once: who draws when, whose jobs wait, who a visitor is, and what of files is kept."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from waiting import PATIENCE, until

from coupling_core import ComputeError, InputError, Progress, Request
from coupling_core.base.settings import settings
from coupling_core.serving.desk import Desk
from coupling_core.serving.jobs import Jobs, Limits
from explorer.asking import queue as asking
from explorer.asking.queue import Queue
from explorer.server import backend, visitors
from explorer.server.turns import Turns
from explorer.server.uploads import FRAME, LOOKS, Uploads, largest
from explorer.server.visitors import household
from explorer.session import sign_in

FIRST, SECOND = Request("The first prompt", k=8), Request("The second prompt", k=8)
MOST = 1000 + FRAME
Be = Callable[[str], None]

# ---- who draws when: in the order of asking, a few at a time, and nobody holds a place in vain


def begun(work: Callable[..., None], *given: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread


def test_so_many_draw_at_once_and_the_others_in_the_order_in_which_they_came() -> None:
    turns, drawn, go = Turns(2), [], [threading.Event() for _ in range(6)]

    def draw(number: int) -> None:
        with turns.drawing():
            drawn.append(number)
            go[number].wait(PATIENCE)

    threads = []
    for number in range(6):
        threads.append(begun(draw, number))
        until(lambda number=number: len(drawn) + len(turns._waiting) == number + 1)
    assert sorted(drawn) == [0, 1]
    for number in range(6):
        go[number].set()
        until(lambda number=number: len(drawn) == min(number + 3, 6))
    assert drawn[2:] == [2, 3, 4, 5]
    for thread in threads:
        thread.join(PATIENCE)


def test_who_waits_for_something_leaves_the_place_and_never_waits_for_it_again() -> None:
    """Else two might wait for one another: one for a lock, the other for a place."""
    turns, answer, lock = Turns(1), threading.Event(), threading.Lock()
    said = []

    def asks() -> None:
        with turns.drawing(), lock:
            with turns.stepping_aside():
                answer.wait(PATIENCE)
            said.append("answered")

    def meanwhile() -> None:
        with turns.drawing():
            answer.set()
            with lock:
                said.append("after it")

    first = begun(asks)
    until(lock.locked)
    second = begun(meanwhile)
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert said == ["answered", "after it"]


def test_a_page_that_fails_gives_its_place_back_and_who_has_none_leaves_none() -> None:
    turns = Turns(1)
    with turns.stepping_aside():
        pass
    assert turns._free == 1
    with suppress(ValueError), turns.drawing():
        raise ValueError
    with turns.drawing(), turns.stepping_aside():
        pass
    assert turns._free == 1


def test_a_page_that_hangs_keeps_its_place_for_a_while(monkeypatch) -> None:
    monkeypatch.setattr("explorer.server.turns.LONGEST", 0.2)
    monkeypatch.setattr("explorer.server.turns.LOOK", 0.1)
    turns, end = Turns(1), threading.Event()

    def hangs() -> None:
        with turns.drawing():
            end.wait(PATIENCE)

    hanging = begun(hangs)
    until(lambda: turns._since)
    with turns.drawing():
        end.set()
        hanging.join(PATIENCE)
        assert turns._free == 0  # of which there is one, and it is taken
    assert turns._free == 1


# ---- one who has signed in in two tabs is one person


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
        monkeypatch.setattr(asking, "_session", lambda: tab)
        monkeypatch.setattr(asking, "_is_open", lambda _: True)
        monkeypatch.setattr(sign_in, "person", lambda: tab.split()[0])

    return be


def test_a_person_has_the_same_limit_in_every_tab(queue, be) -> None:
    be("ann 1")
    queue.join(FIRST)
    be("ann 2")
    with pytest.raises(InputError, match="1 of your jobs"):
        queue.join(SECOND)
    assert not queue.waits(backend.key(SECOND))
    be("bob 1")
    assert queue.join(SECOND).state == "queued"


def test_a_job_goes_on_while_another_tab_of_the_person_waits(queue, be, go_on) -> None:
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


def test_a_job_ends_when_the_last_tab_that_waits_is_closed(queue, be, monkeypatch) -> None:
    closed: set[str] = set()
    monkeypatch.setattr(asking, "EVERY", 0.01)
    for tab in ("ann 1", "ann 2", "bob 1"):
        be(tab)
        monkeypatch.setattr(asking, "_is_open", lambda session: session not in closed)
        key = queue.join(FIRST).key
    closed.add("ann 1")
    time.sleep(0.2)
    assert queue.status(key).owners == 2, "another tab of hers waits"
    closed.add("ann 2")
    until(lambda: queue.status(key).owners == 1)
    closed.add("bob 1")
    until(lambda: queue.status(key).owners == 0)
    assert not queue.waits(key)


def test_only_the_latest_jobs_sessions_are_remembered(queue, be, go_on, monkeypatch) -> None:
    monkeypatch.setattr(asking, "KEPT", 1)
    be("ann 1")
    first = queue.join(FIRST).key
    be("bob 1")
    second = queue.join(SECOND).key
    be("ann 1")
    assert queue.waits(first), "it is under way"
    go_on.set()
    wait_for_the_worker()
    be("bob 1")
    queue.join(SECOND)
    assert queue.waits(second)
    be("ann 1")
    assert not queue.waits(first)


# ---- who a visitor is where nobody signs in, and what of his files is kept


def test_an_address_is_that_of_a_household() -> None:
    households = {
        "192.0.2.7": "192.0.2.7",
        "::ffff:192.0.2.7": "192.0.2.7",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "2001:db8:1:2::": "2001:db8:1:2::/64",
        "fe80::1%eth0": "fe80::/64",
        "::1": "::/64",
        "a socket": "a socket",
        "": "",
    }
    assert {remote: household(remote) for remote in households} == households


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Sessions that are; each is at the address that its name begins with."""
    found: set[str] = set()
    monkeypatch.setattr(visitors, "is_open", lambda session: session not in found)
    monkeypatch.setattr(visitors, "address", lambda session: session.split()[0])
    monkeypatch.setenv("COUPLING_UPLOAD_BYTES", "1000")
    settings.cache_clear()
    yield found
    settings.cache_clear()


@pytest.fixture
def kept() -> MemoryUploadedFileManager:
    return MemoryUploadedFileManager("/upload")


def keep(uploads: Uploads, kept: MemoryUploadedFileManager, session: str, size: int) -> bool:
    """Whether a file is taken."""
    ticket = uploads.begin(session, session.split()[0], size, kept)
    if ticket is None:
        return False
    kept.add_file(session, UploadedFileRec(f"{session} {size}", "name", "type", bytes(size)))
    uploads.end(ticket)
    return True


def test_a_session_an_address_and_all_have_so_much(closed, kept) -> None:
    uploads = Uploads()
    assert [keep(uploads, kept, "a 1", MOST) for _ in range(3)] == [True] * 3
    assert len(kept.file_storage["a 1"]) == 1, "each takes the place of the one before"
    taken = [keep(uploads, kept, who, MOST) for who in ("a 2", "a 3", "b 1", "c 1", "d 1")]
    assert taken == [True, False, True, True, False]
    coming = uploads.begin("a 1", "a", MOST, kept)
    assert uploads.begin("a 1", "a", 1, kept) is None, "one at a time"
    uploads.end(coming)


def test_files_of_closed_sessions_go_and_so_do_those_that_nobody_takes(closed, kept) -> None:
    uploads = Uploads()
    for session in ("a 1", "b 1"):
        uploads.turn_to(session, "Runs")
        uploads.ask(session)
        keep(uploads, kept, session, 10)
    closed.add("a 1")
    uploads.sweep(kept)
    assert not kept.file_storage["a 1"]
    assert not uploads.is_asked("a 1")
    for _ in range(LOOKS - 2):
        uploads.sweep(kept)
    assert kept.file_storage["b 1"]
    uploads.sweep(kept)
    assert not kept.file_storage["b 1"]
    assert uploads.is_asked("b 1")
    assert largest() == MOST
