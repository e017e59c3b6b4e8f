"""Whether the bytes that are loaded are those that the model's name stands for.

A hash that is remembered by a file's size and times does not see what rots beneath the file system,
and the name of a commit says nothing of the bytes in its folder. So what is loaded is hashed, once
a load: small files before they are read, weights while they are. What the hash shall be is said by

    a folder's own hash, or a conversion's       each file's, as it was first read
    the cache of the hub                         the names of its blobs
    a suite that this project trained            the commit, and `files.json` beside the snapshots

What has none of these (a snapshot of plain files, where a disk has no links) is taken as it is.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from pydantic import TypeAdapter

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.reading import opened
from coupling_core.base.writing import write_whole
from coupling_core.sources import hub
from coupling_core.sources.file_hashes import break_seal, counted, file_digest, hash_of
from coupling_core.sources.identity import Source
from coupling_core.sources.refusals import reading

RECORD = "files.json"
"""Of a suite: sha256 of what lies beside the weights of each of its checkpoints."""

_WEIGHTS = ".safetensors"
_INPUTS = ("tokenizer.json", "preprocessor_config.json")
"""What turns an input into numbers, and a suite's checkpoints from those of another."""
_PIECE = 2**20
"""Bytes that are hashed at a time."""
_LOOK = 0.5
"""Seconds between two looks whether somebody still waits."""
_BLOBS = {64: "sha256", 40: "git"}
"""What a blob's name is by its letters: sha256 of a large file, git's hash of a small one."""
_HEXADECIMAL = re.compile("[0-9a-f]+")
_RECORDS = TypeAdapter(dict[str, dict[str, str]])


@dataclass(frozen=True)
class Claim:
    """What files shall be.

    Args:
        files: one, or several that are hashed as one.
        algorithm: as `hashlib` calls it; "git" is SHA-1 as git has it, over the size and the file.
        expected: the hash in hexadecimal letters.
    """

    files: tuple[Path, ...]
    algorithm: str
    expected: str

    @property
    def of_weights(self) -> bool:
        """Whether weights are among them, which take long."""
        return any(file.suffix == _WEIGHTS for file in self.files)


@dataclass(frozen=True)
class Stamp:
    """A file as the system knew it when it was hashed."""

    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, file: Path) -> "Stamp":
        """That of a file now."""
        stat = file.stat()
        return cls(stat.st_ino, stat.st_size, stat.st_mtime_ns)


Stamps = dict[Path, Stamp]


@contextmanager
def verified(
    source: Source, waiting: Callable[[], object], *, weights: bool = True
) -> Iterator[Stamps]:
    """Load a model's files in this context, and be sure that they are what they shall be.

    Args:
        source: where they are.
        waiting: called now and then where hashing takes longer than loading; what it raises ends
            both.
        weights: whether they are loaded too.

    Returns:
        stamps of all files that are looked at.

    Raises:
        ComputeError: where a file is not what it shall be, or was written to meanwhile; then also
            in place of a complaint of ours that this would explain.
    """
    claims = [claim for claim in claims_of(source) if weights or not claim.of_weights]
    with reading(source.folder):
        stamps = {file: Stamp.of(file) for claim in claims for file in claim.files}
    stop = Event()
    for claim in claims:
        if not claim.of_weights:
            _require(source, claim, _digest(claim, stop))
    large = [claim for claim in claims if claim.of_weights]
    with ThreadPoolExecutor(min(len(large), os.cpu_count() or 1) or 1) as pool:
        hashed = [(claim, pool.submit(_digest, claim, stop)) for claim in large]
        try:
            yield stamps
        except (ComputeError, InputError):
            _require_all(source, hashed, waiting)
            raise
        else:
            _require_all(source, hashed, waiting)
        finally:
            stop.set()
    require_unwritten(source, stamps)


def require_unwritten(source: Source, stamps: Stamps) -> None:
    """Refuse what was read of files that were written to in their place since they were hashed.

    One that another has replaced, or that is gone, is still there for who has it open.
    """
    for file, stamp in stamps.items():
        now = Stamp.of(file) if file.exists() else stamp
        if now.inode == stamp.inode and now != stamp:
            raise ComputeError(
                f"{file} was written to while {source.name} was read from it, so what came out "
                "belongs to neither the old bytes nor the new: measure again"
            )


def claims_of(source: Source) -> list[Claim]:
    """What a model's files shall be, config and tokenizer before weights."""
    folder = source.folder
    if source.kind != "hub":
        found = [Claim((file,), "sha256", file_digest(file)) for file in counted(folder)]
    elif hub.cache.is_own(source.location):
        found = _recorded(source, folder)
    else:
        found = _named(folder)
    return sorted(found, key=lambda claim: claim.of_weights)


def record(repository: Path, folder: Path) -> str:
    """Note what lies beside the weights of a suite's checkpoint, under its commit.

    Args:
        repository: of the suite.
        folder: with the files of the checkpoint.

    Returns:
        the commit: a hash of the weights and of what turns an input into numbers, so that one model
        has one name wherever it was trained.
    """
    commit = _digest(_commit(folder, ""), Event())
    beside = (file for file in counted(folder) if file.suffix != _WEIGHTS)
    told = {file.name: hash_of(file) for file in beside}
    noted = _records(repository) | {commit: told}
    write_whole(repository / RECORD, (json.dumps(noted, indent=1) + "\n").encode())
    return commit


def _commit(folder: Path, expected: str) -> Claim:
    rest = next((name for name in _INPUTS if (folder / name).is_file()), _INPUTS[0])
    return Claim((folder / hub.cache.SINGLE, folder / rest), "sha1", expected)


def _recorded(source: Source, folder: Path) -> list[Claim]:
    """Those of a suite; what was trained before there was a record has its commit alone."""
    told = _records(hub.cache.repository(source.location)).get(source.digest, {})
    beside = [
        Claim((file,), "sha256", told[file.name]) for file in counted(folder) if file.name in told
    ]
    return [*beside, _commit(folder, source.digest)]


def _records(repository: Path) -> dict[str, dict[str, str]]:
    """What is noted of a suite's checkpoints, by their commits."""
    path = repository / RECORD
    try:
        return _RECORDS.validate_json(path.read_bytes()) if path.is_file() else {}
    except ValueError as error:
        raise ComputeError(
            f"{path}, which says what the suite's files must be, is damaged: restore it from a "
            "copy, or delete it; then weights and tokenizer are checked by their commits alone"
        ) from error


def _named(folder: Path) -> list[Claim]:
    """Those of a snapshot of the hub's cache, whose files are links to blobs."""
    files = {file.name: file for file in counted(folder)}
    weights = hub.cache.weights(files, (folder / hub.cache.INDEX).read_text)
    loaded = [file for name, file in files.items() if name in weights or file.suffix != _WEIGHTS]
    names = {file: file.readlink().name for file in loaded if file.is_symlink()}
    return [
        Claim((file,), _BLOBS[len(name)], name)
        for file, name in names.items()
        if len(name) in _BLOBS and _HEXADECIMAL.fullmatch(name)
    ]


def _digest(claim: Claim, stop: Event) -> str:
    """The hash of what is there now; half of one where it is to stop."""
    is_git = claim.algorithm == "git"
    found = hashlib.new("sha1" if is_git else claim.algorithm, usedforsecurity=False)
    for path in claim.files:
        with reading(path), opened(path) as file:
            if is_git:
                found.update(b"blob %d\0" % path.stat().st_size)
            while not stop.is_set() and (piece := file.read(_PIECE)):
                found.update(piece)
    return found.hexdigest()


def _require_all(
    source: Source,
    hashed: Sequence[tuple[Claim, "Future[str]"]],
    waiting: Callable[[], object],
) -> None:
    while wait([future for _, future in hashed], _LOOK).not_done:
        waiting()
    for claim, future in hashed:
        _require(source, claim, future.result())


def _require(source: Source, claim: Claim, found: str) -> None:
    if found == claim.expected:
        return
    if source.kind == "gguf":
        break_seal(source.folder)
    names = " and ".join(str(file) for file in claim.files)
    verb = "is" if len(claim.files) == 1 else "are"
    algorithm = "git's SHA-1" if claim.algorithm == "git" else claim.algorithm
    raise ComputeError(
        f"{names} {verb} damaged: {algorithm} is {found[:12]}… where {source.name} needs "
        f"{claim.expected[:12]}…, so nothing is measured: {_remedy(source)}"
    )


def _remedy(source: Source) -> str:
    """What mends a model's files."""
    match source.kind:
        case "gguf":
            return f"measure again, and {source.location} is converted anew"
        case "folder":
            return "copy the folder anew from where it came from"
        case _ if not hub.cache.is_own(source.location):
            return "delete what the link points to and measure again, and it is fetched anew"
    trained = hub.cache.trained_here(source.location)
    if not trained.is_dir():
        return "restore it from a copy, or install the program anew"
    if hub.cache.is_watched(source.location):
        return f"delete {trained}, and train it anew"
    return f"delete {trained}, and `{hub.cache.made_by(source.location)}` makes it anew"
