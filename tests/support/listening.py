"""Which sockets our processes listen on, and whether anything there answers HTTP."""

import socket
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

LOOPBACK = ("127.0.0.1", "::1")
PATHS = ("/", "/health", "/metrics", "/json/identity.json", "/info/main/workers.html")
"""What dask's schedulers and workers answer to unless told; beside a list of what they do."""

Key = tuple[int, str, int]


@dataclass(frozen=True)
class Heard:
    """One socket that a process listens on."""

    program: str  # the process's command line
    address: str
    port: int
    answers: tuple[str, ...]  # paths of HTTP that gave anything but "not found"


@dataclass
class Watch:
    """What has been heard so far."""

    sockets: dict[Key, Heard] = field(default_factory=dict)

    @property
    def open_to_others(self) -> list[Heard]:
        """Those that other machines reach."""
        return [one for one in self.sockets.values() if one.address not in LOOPBACK]

    @property
    def answering(self) -> list[Heard]:
        """Those that say something by HTTP."""
        return [one for one in self.sockets.values() if one.answers]


@contextmanager
def watching(every: float = 0.3) -> Iterator[Watch]:
    """Look again and again at the sockets that are new: of this process and of all below it."""
    known = Watch()
    look(known, psutil.Process())
    watch, done = Watch(), threading.Event()

    def again() -> None:
        while not done.is_set():
            look(watch, psutil.Process(), known.sockets.keys())
            done.wait(every)

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield watch
    finally:
        done.set()
        thread.join()


def look(watch: Watch, root: psutil.Process, known: Collection[Key] = ()) -> None:
    """Note what a process, and all that it has started, listen on beside what is known."""
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error):
            program = " ".join(process.cmdline())
            if "python" not in program:  # a browser, or a daemon of Slurm
                continue
            for one in process.net_connections("inet"):
                key = (process.pid, *one.laddr)
                if one.status == psutil.CONN_LISTEN and key not in {*watch.sockets, *known}:
                    answers = tuple(path for path in PATHS if _answers(*one.laddr, path))
                    watch.sockets[key] = Heard(program, *one.laddr, answers)


def _answers(address: str, port: int, path: str) -> bool:
    host = "127.0.0.1" if address == "0.0.0.0" else "::1" if address == "::" else address
    with suppress(OSError), socket.create_connection((host, port), timeout=2) as asked:
        asked.settimeout(2)
        asked.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        time.sleep(0.05)
        line = asked.recv(64).split(b"\r\n")[0]
        return line.startswith(b"HTTP/") and b" 404 " not in line
    return False
