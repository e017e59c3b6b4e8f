"""Files that visitors hand over: taken from pages that ask for one, and only so many bytes.

Streamlit takes files from any session, and keeps them until it forgets the session. Here a session
is let in while its page asks for a file, each file takes the place of its earlier ones, and what no
page took within a minute goes, whoever's it is.
"""

from collections import Counter
from threading import Lock

from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from coupling_core.base.settings import settings
from explorer.server import visitors

FRAME = 2**14
"""Bytes of a request beside its file's."""

ADDRESS, ALL = 2, 4
"""As many files of the largest size one address, and all together, may hand over at a time."""

_MEGABYTE = 2**20

EVERY = 5.0
"""Seconds between two looks at what is kept."""

LOOKS = 12
"""Looks at which a file is kept that no page takes."""


class Uploads:
    """Who is asked for a file, and how many bytes are under way and kept; from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pages: dict[str, str] = {}  # that each session shows
        self._asking: dict[str, str] = {}  # the page that last asked each for a file
        self._coming: dict[object, tuple[str, str, int]] = {}
        self._looks: Counter[str] = Counter()  # by file

    def turn_to(self, session: str, page: str) -> None:
        """Note which page a session shows."""
        with self._lock:
            self._pages[session] = page

    def ask(self, session: str) -> None:
        """Have its page ask a session for a file."""
        with self._lock:
            self._asking[session] = self._pages.get(session, "")

    def is_asked(self, session: str) -> bool:
        """Whether the page that a session shows asks for a file."""
        return session in self._pages and self._asking.get(session) == self._pages[session]

    def begin(
        self, session: str, address: str, size: int, kept: MemoryUploadedFileManager
    ) -> object | None:
        """Hold the place of a file that is coming, in that of the session's earlier ones.

        Gives what `end` takes back; None where there is no place now.
        """
        with self._lock:
            kept.remove_session_files(session)
            most = largest()
            is_alone = all(who != session for who, *_ in self._coming.values())
            theirs, others = self._held(address, kept)
            theirs += size
            if not is_alone or theirs > ADDRESS * most or theirs + others > ALL * most:
                return None
            ticket = object()
            self._coming[ticket] = session, address, size
            return ticket

    def end(self, ticket: object) -> None:
        """Note that what was coming has arrived, or was broken off."""
        with self._lock:
            del self._coming[ticket]

    def sweep(self, kept: MemoryUploadedFileManager) -> None:
        """Let go of what closed sessions left, and of what no page took."""
        with self._lock:
            for session in [who for who in self._pages if not visitors.is_open(who)]:
                del self._pages[session]
                self._asking.pop(session, None)
            here = [(who, file) for who, held in list(kept.file_storage.items()) for file in held]
            self._looks = Counter({file: self._looks[file] + 1 for _, file in here})
            for session, file in here:
                if self._looks[file] >= LOOKS or not visitors.is_open(session):
                    kept.remove_file(session, file)

    def _held(self, address: str, kept: MemoryUploadedFileManager) -> tuple[int, int]:
        """Bytes of an address, and of all others, under way and kept."""
        held = [(at, size) for _, at, size in self._coming.values()]
        for session, files in list(kept.file_storage.items()):
            size = sum(len(file.data) for file in list(files.values()))
            held.append((visitors.address(session), size))
        theirs = sum(size for at, size in held if at == address)
        return theirs, sum(size for _, size in held) - theirs


def largest() -> int:
    """Bytes of the largest request with a file."""
    return settings().upload_bytes + FRAME


def megabytes() -> int:
    """The largest file as Streamlit counts, in whole megabytes."""
    return -(-settings().upload_bytes // _MEGABYTE)


uploads = Uploads()
"""Those of this process."""
