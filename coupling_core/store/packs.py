"""Stored results in one file, to hand to somebody else: `coupling runs export` and `import`.

A pack is a ZIP file: `manifest.json`, which lists what is in it, and each result in its stored
form; one result may come as such a file by itself. Both come from anywhere, so nothing of them is
believed: what is read has a bounded size, is checked as a stored file is and for what no seal tells
(`soundness`), and is put into the store under its own key. No member's name is ever used as a path.
Nothing in a pack is compressed, so that what comes out of it is never more than its file.
"""

import hashlib
import json
import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import SEEK_END, BufferedIOBase, BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import Any

from coupling_core.base.errors import InputError, reason, refuse
from coupling_core.base.reading import opened
from coupling_core.base.records import SCHEMA
from coupling_core.base.results import Result
from coupling_core.base.writing import replacing, target
from coupling_core.sources.refusals import reading
from coupling_core.store.archive import MAX_RESULT, SUFFIX, decode, encode
from coupling_core.store.disk import Store
from coupling_core.store.request_key import parse_key

MANIFEST = "manifest.json"
VERSION = 1

_MAX_MANIFEST = 2**24
_MAX_READ = 2**22
"""Bytes that are read at once. A pack's directory is, and holds 40,000 results in as many."""
_PART = 2**20
_ZIP = (b"PK\3\4", b"PK\5\6")  # a full and an empty one; no result begins so
_UNREADABLE = (
    *(EOFError, LookupError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError),
    *(struct.error, zipfile.BadZipFile),
)
"""What zipfile raises, or may, on bytes that are no ZIP file's; it has no one class for them."""


@dataclass(frozen=True)
class Packed:
    """What became of one result.

    Args:
        name: its key, or what its pack calls it where that is none.
        state: "new", "there before", or "refused".
        problem: why it was refused.
    """

    name: str
    state: str
    problem: str = ""


def pack(store: Store, keys: Iterable[str], path: Path) -> int:
    """Write stored results into one file, whole or not at all.

    It gives how many there are; each is read to its last byte.
    """
    listed = []
    with replacing(target(path)) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for key in dict.fromkeys(keys):
            result = store.get(key)
            data = encode(result)
            file.writestr(f"{key}{SUFFIX}", data)
            listed.append(
                {
                    "key": key,
                    "sha256": hashlib.sha256(data).hexdigest(),
                    "bytes": len(data),
                    "model": result.model_name,
                    "kind": result.request.kind,
                    "prompt": "".join(result.tokens),
                }
            )
        manifest = {"version": VERSION, "schema": SCHEMA, "results": listed}
        file.writestr(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
    return len(listed)


def unpack(path: Path, store: Store) -> Iterator[Packed]:
    """Put a file's results into a store."""
    with reading(path), opened(path) as file:
        yield from take_in(file, str(path), store)


def take_in(
    file: BufferedIOBase, name: str, store: Store, *, packs: bool = True
) -> Iterator[Packed]:
    """Put results into a store; what is refused keeps nothing else from being put.

    Without `packs`, one result alone is taken. Raises `InputError` where the file is neither.
    """
    first = file.read(len(_ZIP[0]))
    file.seek(0)
    if first not in _ZIP:
        yield _put_one(file, name, store, packs=packs)
        return
    if not packs:
        raise InputError(f"{name} is a pack, and one result at a time is taken here")
    with _Pack(file, name) as members:
        seen: set[str] = set()
        for entry in _listed(members, name):
            yield _put(members, entry, store, seen)


class _InParts:
    """A file for zipfile, which would read a directory of any size at once."""

    def __init__(self, file: BufferedIOBase) -> None:
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(_MAX_READ + 1 if size < 0 else min(size, _MAX_READ + 1))
        if len(data) > _MAX_READ:
            raise zipfile.BadZipFile("its directory is too large")
        return data


class _Pack:
    """The members of a pack, of which no more is read than its file has bytes.

    Args:
        file: what it is in.
        name: what to call it.

    Raises:
        InputError: where it is no ZIP file.
    """

    def __init__(self, file: BufferedIOBase, name: str) -> None:
        self._left = file.seek(0, SEEK_END)  # members may share bytes, again and again
        try:
            self._members = zipfile.ZipFile(_InParts(file))
        except _UNREADABLE as error:
            raise InputError(
                f"{name} is no pack of results, or is damaged ({error}): expected a file that "
                "`coupling runs export` wrote"
            ) from error

    def __enter__(self) -> "_Pack":
        return self

    def __exit__(self, *_: object) -> None:
        self._members.close()

    def read(self, name: str, most: int) -> bytes:
        """A member's content, whose bytes stand in the file as they are."""
        content = BytesIO()
        try:
            member = self._members.getinfo(name)
            refuse(
                (
                    member.file_size > min(most, self._left),
                    f"{name} has more than the {most} bytes that are allowed, or shares its bytes "
                    "with other members of the pack",
                ),
                (
                    member.compress_type != zipfile.ZIP_STORED,
                    f"{name} is compressed, which `coupling runs export` never does: use the pack "
                    "as it was written",
                ),
            )
            self._left -= member.file_size
            with self._members.open(member) as stored:
                copyfileobj(stored, content, _PART)
        except _UNREADABLE as error:
            why = str(error) or type(error).__name__
            raise InputError(f"{name} cannot be read from the pack ({why})") from error
        return content.getvalue()


def _put_one(file: BufferedIOBase, name: str, store: Store, *, packs: bool) -> Packed:
    if file.seek(0, SEEK_END) > MAX_RESULT:
        raise InputError(f"{name} has more than the {MAX_RESULT} bytes of a result")
    file.seek(0)
    try:
        return _keep(_sound(file.read()), store)
    except InputError as error:
        raise InputError(
            f"{name} {error}; expected a result as the store writes it"
            + ", or a pack that `coupling runs export` wrote" * packs
        ) from error


def _sound(data: bytes) -> Result:
    from coupling_core.store.soundness import require_sound  # pydantic

    result = decode(data)
    require_sound(result)
    return result


def _keep(result: Result, store: Store) -> Packed:
    with suppress(InputError):
        store.path(result.key)
        return Packed(result.key, "there before")
    store.put(result)
    return Packed(result.key, "new")


def _listed(file: _Pack, name: str) -> list[dict[str, Any]]:
    """What the manifest lists."""
    try:
        manifest = json.loads(file.read(MANIFEST, _MAX_MANIFEST))
        version, results = manifest["version"], list(manifest["results"])
    except (InputError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} is no pack of results: it has no {MANIFEST} of ours ({reason(error)})"
        ) from error
    if version != VERSION:
        raise InputError(
            f"{name} is a pack of version {version}, and this program reads version "
            f"{VERSION}: export it anew, or use a newer version of this program"
        )
    return results


def _put(file: _Pack, entry: Any, store: Store, seen: set[str]) -> Packed:
    key = entry.get("key") if isinstance(entry, dict) else None
    if not isinstance(key, str) or parse_key(key) is None:
        named = key if isinstance(key, str) else type(key).__name__
        return Packed(named[:80], "refused", "the manifest gives no key of a stored result")
    if key in seen:
        return Packed(key, "refused", "the manifest lists it twice")
    seen.add(key)
    try:
        data = file.read(f"{key}{SUFFIX}", MAX_RESULT)
        result = _sound(data)
        if hashlib.sha256(data).hexdigest() != entry.get("sha256") or result.key != key:
            raise InputError("is damaged: it does not match the hash or the key in the manifest")
    except InputError as error:
        return Packed(key, "refused", str(error))
    return _keep(result, store)
