"""The store: results in a folder, one file each, found by what was asked for.

A result is written whole or not at all, and read verified, so that a crash, a damaged file or
another process never leads to a wrong answer: at worst to computing it again. The folder is bounded
in size, and what was not used for longest goes first. Below it lie folders that are read and never
written: a store that others share, and the gallery, of results that come with the program.
"""

import logging
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.folders import IN_CHECKOUT, SHIPPED, expanded, user_cache
from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.base.units import counted, duration
from coupling_core.base.units import size as in_words
from coupling_core.base.writing import refused_write, sweep, write_whole, writing
from coupling_core.store.archive import SUFFIX, encode, load, read_header
from coupling_core.store.request_key import Key, is_key_of, make_key, outdated, parse_key
from coupling_core.store.schema import require_text

_REMEDY = "set COUPLING_STORE to a folder that you may write"

_ROOM = 2**20
"""Bytes without which a disk is taken to be full."""

UNSEEN = 0.01
"""Share of the bound that a process may write until it looks at all results again: thousands of
files are not looked at for each of thousands of results."""

_HEADERS = 2**14
"""Files whose headers a process keeps: a page lists all results anew whenever one comes or goes."""

_SHOWN = ("request", "identity", "tokens", "provenance")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """What the store says of a result without reading its arrays.

    Args:
        key: the store key.
        path: its file.
        size: of the file, in bytes.
        read_only: whether it lies below the store, and so can be neither evicted nor removed.
        used: when it was last read or written, in seconds since the epoch.
        problem: why the result cannot be read, "" where nothing is wrong. With a problem, the
            fields below have their defaults.
        request: what was asked.
        identity: who the model is.
        tokens: token texts.
        token: the token measured or fixed, 1..n; 0 where all tokens are.
        n_blocks: L, the number of blocks.
        k_max: singular triplets stored; 0 where there are none.
        k_view: side of the stored corner of each matrix; 0 where there are none.
        certified: whether every SVD passed its certificate.
        provenance: library versions, device, seconds, ...
    """

    key: str
    path: Path
    size: int
    read_only: bool
    used: float
    problem: str = ""
    request: Request | None = None
    identity: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    tokens: tuple[str, ...] = field(default=(), repr=False)
    token: int = 0
    n_blocks: int = 0
    k_max: int = 0
    k_view: int = 0
    certified: bool = False
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @property
    def outdated(self) -> str:
        """Why it answers no request any more, though it can be read; "" where it does."""
        return outdated(self.request, self.identity) if self.request else ""

    @property
    def row(self) -> dict[str, object]:
        """What lists of results show people, by column; of one that cannot be read, why."""
        if self.problem or self.request is None:
            return {"Model": "unreadable", "Prompt": self.problem, "Key": self.key}
        request, made = self.request, self.provenance
        return {
            "Prompt": request.prompt_words,
            "Model": self.identity.get("name", request.model),
            "Kind": request.kind_words,
            "Weights": "trained" if request.untrained is None else f"untrained {request.untrained}",
            "Token": f"{self.token or 'all'} of {len(self.tokens)}",
            "K": self.k_max or None,
            "Measured": made["date"][:16].replace("T", " "),
            "From": self.path.parent.name if self.read_only else "here",
            "Certified": self.certified,
            "Blocks": self.n_blocks,
            "Final norm": {"include": "included", "exclude": "left out"}[request.final_norm],
            "Computing": duration(made["seconds"]),
            "Size": in_words(self.size),
            "Key": self.key,
        } | ({"Note": self.outdated} if self.outdated else {})

    def matches(self, words: str) -> bool:
        """Whether every word occurs in what lists show of it."""
        text = " ".join(map(str, self.row.values())).lower()
        return all(word in text for word in words.lower().split())


def default_root() -> Path:
    """COUPLING_STORE, or `cache/` of a checkout, or a folder in the user's cache."""
    if chosen := os.environ.get("COUPLING_STORE"):
        return expanded(chosen)
    own = IN_CHECKOUT and (SHIPPED / "gallery").is_dir()
    return SHIPPED if own else user_cache() / "results"


def default_layers() -> tuple[Path, ...]:
    """COUPLING_LAYERS: folders of stored results, separated as those of PATH; none by default."""
    named = filter(None, os.environ.get("COUPLING_LAYERS", "").split(os.pathsep))
    layers = tuple(map(expanded, named))
    for layer in layers:
        if not layer.is_dir():
            raise InputError(f"COUPLING_LAYERS names {layer}, which is no folder: leave it out")
    return layers


class Store:
    """Results by what was asked for; safe to share between threads and between processes.

    Args:
        root: the folder to write to, made when the first result is put; None is `default_root()`.
        layers: folders to read what it lacks from, the first one first; None is `default_layers()`.
        gallery: the last of them, which comes with the program; None is `cache/gallery/` of a
            checkout.
        max_bytes: above this, the results that were not used for longest are evicted; each process
            may pass it by a hundredth. None is the setting `store_bytes`.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        layers: tuple[Path, ...] | None = None,
        gallery: Path | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self.root = expanded(root) if root else default_root()
        self.gallery = gallery or SHIPPED / "gallery"
        self.layers = (*(default_layers() if layers is None else layers), self.gallery)
        self._max_bytes = max_bytes
        self._written: float = float("inf")  # so that each process's first put looks at all others

    @cached_property
    def max_bytes(self) -> int:
        """The bound, which only who writes asks for: settings take a while to import."""
        if self._max_bytes is not None:
            return self._max_bytes
        from coupling_core.base.settings import settings

        return settings().store_bytes

    def key(self, request: Request, identity: Mapping[str, Any]) -> str:
        """The key under which the answer to a request is put.

        Raises:
            InputError: where the request or the identity is not JSON.
        """
        return str(make_key(request, identity))

    def find(self, request: Request, identity: Mapping[str, Any]) -> Result | None:
        """A stored result that holds all that the request asks for, the closest in size first.

        A damaged one counts as absent, so that it is computed again.
        """
        for path in self._answers(request, identity):
            try:
                return self._use(path)
            except InputError as error:
                if not _is_gone(error):  # else it was evicted just now
                    told = {"key": path.stem}
                    _log.warning("damaged result passed over: %s", error, extra=told)
        return None

    def holds(self, request: Request, identity: Mapping[str, Any]) -> str:
        """The key of what `find` would read first, without opening it; "" where there is nothing.

        Raises:
            InputError: where the request or the identity is not JSON.
        """
        return next((path.stem for path in self._answers(request, identity)), "")

    def get(self, key: str) -> Result:
        """The result with this key.

        Args:
            key: as `result.key` and `Entry.key` have it; its first letters do, where no other key
                begins so.

        Raises:
            InputError: where there is none, or several begin so.
            ComputeError: where it is damaged, or goes while it is read.
        """
        path = self._begun(key)
        try:
            return self._use(path)
        except InputError as error:
            if _is_gone(error):
                raise ComputeError(
                    f"the result {key} is gone: somebody removed it, or the store was full and it "
                    "had gone unused for longest; measure again, or raise COUPLING_STORE_BYTES"
                ) from error
            raise ComputeError(f"{error}; remove it and compute it again") from error

    def put(self, result: Result) -> Path:
        """Write a result, clear away what dead writers left, and evict down to the size bound.

        Raises:
            InputError: where the result is not finished, or its key is not that of its request.
            ComputeError: where the disk is full, or the folder cannot be written.
        """
        if not (result.complete and is_key_of(result.key, result.request, result.identity)):
            raise InputError(
                f"only what is measured to its end, under the key of its request, is stored, and "
                f"{result.key!r} came"
            )
        path = self.root / f"{result.key}{SUFFIX}"
        try:
            self._write(path, data := encode(result))
        except OSError as error:
            raise ComputeError(str(refused_write(error, path, _REMEDY))) from error
        self._written += len(data)
        if self._written >= self.max_bytes * UNSEEN:
            self._written = 0
            for folder in (self.root, *self.root.glob("sweeps/*")):
                sweep(folder)
            self._evict(path)
        return path

    def require_writable(self) -> None:
        """Try out whether a result could be put, so that none is computed in vain.

        Raises:
            InputError: where the folder cannot be written.
            ComputeError: where the disk is full.
        """
        with writing(self.root, _REMEDY):
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root) as file:
                file.write(bytes(_ROOM))

    def entries(self) -> list[Entry]:
        """All stored results, the last used first; only their headers are read."""
        found: dict[str, Entry] = {}
        below = {folder: self._is_below(folder) for folder in (self.root, *self.layers)}
        for _, path in self._files():
            with suppress(FileNotFoundError):  # another process has just evicted it
                found.setdefault(path.stem, _entry(path, read_only=below[path.parent]))
        return sorted(found.values(), key=lambda entry: entry.used, reverse=True)

    def keys(self) -> dict[str, list[Key]]:
        """The keys of all stored results by their digests; no file is opened."""
        found: dict[str, list[Key]] = {}
        for key, _ in self._files():
            found.setdefault(key.digest, []).append(key)
        return found

    def verify(self, key: str) -> str:
        """What is wrong with a stored result, read to its last byte; "" where it is sound.

        Raises:
            InputError: where there is none with this key.
        """
        path = self.path(key)
        try:
            _read(path)
        except InputError as error:
            return str(error)
        return ""

    def path(self, key: str) -> Path:
        """The file of a stored result; raises `InputError` where there is none with this key."""
        for found, path in self._files(key) if parse_key(key) else ():
            if str(found) == key:
                return path
        raise InputError(f"there is no stored result {key!r}: look at the list of stored results")

    def full_key(self, start: str) -> str:
        """The one key that begins so.

        Raises:
            InputError: where there is none, or several.
        """
        return self._begun(start).stem

    def remove(self, key: str) -> None:
        """Delete a result.

        Raises:
            InputError: where there is none with this key, or it belongs to the gallery.
            ComputeError: where the folder cannot be written.
        """
        path = self.path(key)
        if self._is_below(path.parent):
            raise InputError(f"{key} lies in {path.parent}, which is only read from here")
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ComputeError(f"{path} cannot be removed ({error.strerror or error})") from error

    def __repr__(self) -> str:
        """Where it is, and how many results it has; no file is opened."""
        try:
            counts = Counter(path.parent for _, path in self._files())
        except InputError:
            return f"Store({str(self.root)!r}, which cannot be read)"
        own = counts.pop(self.root, 0)
        more = f"{counts.total()} more that are only read"
        return f"Store({str(self.root)!r}, {counted(own, 'result')}, {more})"

    def _answers(self, request: Request, identity: Mapping[str, Any]) -> list[Path]:
        """Files that hold all that a request asks for, the closest in size first."""
        wanted = make_key(request, identity)
        stored = [
            (abs(key.k_view - wanted.k_view), key.k_max, path)
            for key, path in self._files(f"{wanted.digest}-")
            if key.answers(request)
        ]
        return [path for _, _, path in sorted(stored, key=itemgetter(0, 1))]

    def _files(self, start: str = "") -> Iterator[tuple[Key, Path]]:
        """Files whose key begins so, those of the store before those of the layers below it."""
        for folder in dict.fromkeys((self.root, *self.layers)):
            try:
                with os.scandir(folder) as entries:  # three times as fast as a glob
                    names = sorted(each.name for each in entries if each.name.startswith(start))
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise InputError(
                    f"{folder} cannot be read as a store ({error.strerror or error}): name "
                    "another folder"
                ) from error
            for name in names:
                if name.endswith(SUFFIX) and (key := parse_key(name.removesuffix(SUFFIX))):
                    yield key, folder / name

    def _begun(self, start: str) -> Path:
        """The file of the one key that begins so."""
        found: dict[str, Path] = {}
        for key, path in self._files(start) if start else ():
            found.setdefault(str(key), path)
        if len(found) != 1 and start not in found:
            raise InputError(
                f"there is no stored result {start!r}, and no single one that begins so: `coupling "
                "runs list` and Store().entries() list them"
            )
        return found.get(start) or next(iter(found.values()))

    def _is_below(self, folder: Path) -> bool:
        return folder.resolve() in self._below()

    def _below(self) -> set[Path]:
        return {layer.resolve() for layer in self.layers}

    def _use(self, path: Path) -> Result:
        result = _read(path)
        if not self._is_below(path.parent):
            with suppress(OSError):  # what cannot be written can still be read
                os.utime(path)
        return result

    def _write(self, path: Path, data: bytes) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            write_whole(path, data, follow=False)
        except FileNotFoundError:
            # Another process took the file for abandoned: one of the two clocks was just set.
            self.root.mkdir(parents=True, exist_ok=True)
            write_whole(path, data, follow=False)

    def _evict(self, kept: Path) -> None:
        """Delete what was not used for longest until the rest fits; files may vanish meanwhile."""
        if self.root.resolve() in self._below():
            return  # a folder that is only read
        files: list[tuple[int, int, Path]] = []
        with os.scandir(self.root) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and parse_key(entry.name.removesuffix(SUFFIX)):
                    with suppress(FileNotFoundError):
                        stat = entry.stat()
                        files.append((stat.st_mtime_ns, stat.st_size, Path(entry.path)))
        excess = sum(size for _, size, _ in files) - self.max_bytes
        for _, size, path in sorted(files):
            if excess > 0 and path != kept:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                    excess -= size
                    _log.info("result evicted", extra={"key": path.stem, "bytes": size})


def _entry(path: Path, *, read_only: bool) -> Entry:
    """What a file is to a list; raises `FileNotFoundError` where it is gone by now."""
    known: Mapping[str, Any]
    stat = path.stat()
    try:
        known = _said(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    except (InputError, ValueError) as error:
        if _is_gone(error):
            raise FileNotFoundError(path) from error
        said = str(error).encode(errors="backslashreplace")  # it may quote what is no text
        known = {"problem": said.decode()}
    return Entry(path.stem, path, stat.st_size, read_only, stat.st_mtime, **known)


@lru_cache(maxsize=_HEADERS)
def _said(path: Path, *state: int) -> Mapping[str, Any]:
    """What a file says of its result; it is read again where the state of the file is another."""
    header = read_header(path)
    known = {name: header.fields[name] for name in _SHOWN} | asdict(header.sizes)
    known["token"] = header.fields.get("token", 0)
    known["certified"] = header.certified
    require_text(known)
    return known


def _is_gone(error: Exception) -> bool:
    """Whether a file was missing when it was read; by now another process may have put it again."""
    return isinstance(error.__cause__, FileNotFoundError)


def _read(path: Path) -> Result:
    result = load(path)
    if result.key != path.stem:
        raise InputError(f"{path} holds the result {result.key}: the file was renamed or replaced")
    return result


def as_store(store: Store | str | os.PathLike[str] | None) -> Store:
    """A store, from its folder where that came; that of the command line where nothing did."""
    return store if isinstance(store, Store) else Store(store)
