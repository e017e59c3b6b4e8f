"""Who a visitor is where nobody signs in, and what of his files is kept."""

from collections.abc import Iterator

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from coupling_core.base.settings import settings
from explorer.server import uploads as module
from explorer.server import visitors
from explorer.server.uploads import FRAME, LOOKS, Uploads
from explorer.server.visitors import household

MOST = 1000 + FRAME


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


def test_a_page_that_asks_for_a_file_is_the_one_on_the_screen(closed: set[str]) -> None:
    uploads = Uploads()
    uploads.turn_to("a 1", "Runs")
    assert not uploads.is_asked("a 1")
    uploads.ask("a 1")
    uploads.turn_to("a 1", "Runs")  # drawn anew
    assert uploads.is_asked("a 1")
    assert not uploads.is_asked("a 2")
    uploads.turn_to("a 1", "Depth")
    assert not uploads.is_asked("a 1")


def test_a_session_an_address_and_all_have_so_much(
    closed: set[str], kept: MemoryUploadedFileManager
) -> None:
    uploads = Uploads()
    assert [keep(uploads, kept, "a 1", MOST) for _ in range(3)] == [True] * 3
    assert len(kept.file_storage["a 1"]) == 1, "each takes the place of the one before"
    taken = [keep(uploads, kept, who, MOST) for who in ("a 2", "a 3", "b 1", "c 1", "d 1")]
    assert taken == [True, False, True, True, False]
    coming = uploads.begin("a 1", "a", MOST, kept)
    assert uploads.begin("a 1", "a", 1, kept) is None, "one at a time"
    uploads.end(coming)


def test_files_of_closed_sessions_go_and_so_do_those_that_nobody_takes(
    closed: set[str], kept: MemoryUploadedFileManager
) -> None:
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
    assert module.largest() == MOST
