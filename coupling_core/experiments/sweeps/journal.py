"""What a sweep notes on the disk while it runs: for `sweep status`, the Runs page and a resume.

<store>/sweeps/<id>/plan.json       what is measured; it also proves that a worker sees the store
<store>/sweeps/<id>/found.json      its models and prompts as they were found
<store>/sweeps/<id>/state.json      how far it is
<store>/sweeps/<id>/failures.json   what could not be measured, with its traceback
<store>/sweeps/<id>/table.csv       the scores
"""

import hashlib
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from pydantic import TypeAdapter

from coupling_core.base.errors import InputError
from coupling_core.base.folders import SWEEPS
from coupling_core.base.units import duration
from coupling_core.base.writing import write_quietly, write_whole, writing
from coupling_core.store.disk import Store, as_store

FOLDER = "sweeps"
MEASURED = "measured"
"""Of the folder of shipped sweeps: those whose tables come with the program."""
EVERY = 1.0
"""Seconds between two notes of the state."""
SILENT = 60.0
"""Seconds after which a run of another machine that notes nothing is taken to be gone."""
_SEAL = "sha256"
MOST_FAILURES = 1000
"""How many are noted in full."""


@dataclass(frozen=True)
class Failure:
    """What could not be measured.

    Args:
        model: title of the weights.
        prompt: its text.
        kind: what was asked.
        error: why not, in plain words.
        trace: the traceback; "" where the words say all.
        attempts: how often it was tried.
    """

    model: str
    prompt: str
    kind: str
    error: str
    trace: str = ""
    attempts: int = 1


@dataclass(frozen=True, repr=False)
class State:
    """How far a sweep is.

    Args:
        name: of its folder.
        title: what it is about.
        total: measurements in all.
        stored: of them, those that were there when it began.
        done: measured since then.
        failed: could not be measured.
        seconds: of computing, all workers together.
        busy: for which the workers were at it, loading and saving included.
        started: in seconds since the epoch.
        updated: the same, of this note.
        workers: how many there are now.
        working: titles of the weights that are in work now.
        host: where it is run.
        pid: of the process that runs it.
        ended: "" while it runs; "done", "stopped", or why it ended before its time.
    """

    name: str
    title: str
    total: int
    stored: int
    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    busy: float = 0.0
    started: float = 0.0
    updated: float = 0.0
    workers: int = 0
    working: tuple[str, ...] = ()
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    ended: str = ""

    def __repr__(self) -> str:
        return f"State({self.name}, {self.told})"

    @property
    def told(self) -> str:
        """How far it is, in a line."""
        took = duration(self.updated - self.started)
        return (
            f"{self.how}: {self.stored} stored before, {self.done} measured in {took}, "
            f"{self.failed} failed, {self.left} left"
        )

    @property
    def how(self) -> str:
        """Whether it runs, or how it ended, in a word or a sentence."""
        return self.ended or ("runs" if self.runs else "stopped without a word")

    @property
    def left(self) -> int:
        """Measurements that are still to be done."""
        return self.total - self.stored - self.done - self.failed

    @property
    def seconds_left(self) -> float:
        """By the pace so far; NaN before the first is done."""
        ended = self.done + self.failed
        return (self.updated - self.started) / ended * self.left if ended else float("nan")

    @property
    def runs(self) -> bool:
        """Whether the process that noted this still runs it."""
        if self.ended:
            return False
        if self.host != socket.gethostname():
            return time.time() - self.updated < SILENT
        try:
            return psutil.Process(self.pid).create_time() < self.started + 1
        except (psutil.Error, ValueError, OverflowError):
            return False


class Journal:
    """The notes of one sweep.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._noted = 0.0

    @classmethod
    def of(cls, store: Store | str | os.PathLike[str] | None, name: str) -> "Journal":
        """That of a sweep, in the store that its results go to.

        Args:
            store: a `Store` or its folder; None is that of the command line.
            name: of the sweep's folder there, the `id` of its plan.
        """
        return cls(as_store(store).root.absolute() / FOLDER / name)

    @property
    def witness(self) -> Path:
        """The file by which a worker sees that it has the same store."""
        return self.folder / "plan.json"

    @property
    def table(self) -> Path:
        """The file of the scores."""
        return self.folder / "table.csv"

    @property
    def noted_at(self) -> float:
        """When its models and prompts were found, in seconds since the epoch; 0 if not noted."""
        try:
            return self._found.stat().st_mtime
        except OSError:
            return 0.0

    @property
    def _found(self) -> Path:
        return self.folder / "found.json"

    def begin(self, plan: dict[str, object], found: dict[str, object] | None = None) -> None:
        """Note what is measured, and its models and prompts as they were found.

        Raises:
            InputError: where this sweep is being run already.
            InputError, ComputeError: where the folder cannot be written.
        """
        if (state := self.state()) and state.runs and state.pid != os.getpid():
            raise InputError(
                f"{self.folder.name} is being run by process {state.pid} on {state.host}: wait for "
                "it, or stop it"
            )
        remedy = "set COUPLING_STORE or --store to a folder that you may write to"
        with writing(self.witness, remedy):
            self.folder.mkdir(parents=True, exist_ok=True)
            if found is not None:
                write_whole(self._found, json.dumps(_sealed(found)).encode())
            write_whole(self.witness, json.dumps(_sealed(plan), indent=1).encode())

    def note(self, state: State, *, now: bool = False) -> None:
        """Note how far it is, at most once a second unless it must be now."""
        if now or time.monotonic() - self._noted > EVERY:
            self._noted = time.monotonic()
            write_quietly(self.folder / "state.json", json.dumps(_sealed(asdict(state))))

    def note_failures(self, failures: list[Failure]) -> None:
        """Replace what could not be measured."""
        kept = [asdict(failure) for failure in failures[:MOST_FAILURES]]
        write_quietly(self.folder / "failures.json", json.dumps(kept, indent=1))

    def state(self) -> State | None:
        """How far it is; None where it was never run, or the note cannot be read."""
        try:
            return _STATE.validate_python(_read(self.folder / "state.json"))
        except (OSError, ValueError, RecursionError):
            return None

    def failures(self) -> list[Failure]:
        """What could not be measured."""
        try:
            return _FAILURES.validate_json((self.folder / "failures.json").read_bytes())
        except (OSError, ValueError):
            return []

    def plan(self) -> dict[str, object]:
        """What is measured; empty where that cannot be read."""
        return _read_or_none(self.witness)

    def found(self) -> dict[str, object]:
        """Its models and prompts as they were found; empty where that cannot be read."""
        return _read_or_none(self._found)


def by_reason(failures: Iterable[Failure]) -> list[tuple[Failure, int]]:
    """The first failure of each reason, and how many there are of it; the most frequent first."""
    firsts: dict[str, Failure] = {}
    times: Counter[str] = Counter()
    for failure in failures:
        firsts.setdefault(failure.error, failure)
        times[failure.error] += 1
    return [(firsts[error], n) for error, n in times.most_common()]


def told_failure(failure: Failure, n: int) -> str:
    """What could not be measured and why."""
    what = f"{failure.model}, {failure.kind}, {failure.prompt[:60]!r}"
    return f"{what}{f' and {n - 1} more' * (n > 1)}: {failure.error}"


_STATE, _FAILURES = TypeAdapter(State), TypeAdapter(list[Failure])


def _sealed(note: dict[str, object]) -> dict[str, object]:
    """A note with its own hash."""
    return note | {_SEAL: _hash(note)}


def _read(path: Path) -> dict[str, object]:
    """A note as it was written; those of before have no hash."""
    note = json.loads(path.read_bytes())
    if not isinstance(note, dict):
        raise ValueError("a note has names and values")
    if note.pop(_SEAL, None) not in (None, _hash(note)):
        raise ValueError("it is not as it was written")
    return note


def _read_or_none(path: Path) -> dict[str, object]:
    try:
        return _read(path)
    except (OSError, ValueError, RecursionError):
        return {}


def _hash(note: dict[str, object]) -> str:
    # As it is read back: tuples are lists there.
    return hashlib.sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()


def journals(store: Store) -> Iterator[Journal]:
    """Those of a store's sweeps and of the shipped ones, by name."""
    folders = dict.fromkeys((store.root.absolute() / FOLDER, SWEEPS / MEASURED))
    for folder in folders:
        for path in sorted(folder.glob("*/plan.json")):
            yield Journal(path.parent)
