"""Stored results in one file, to hand to somebody else: `coupling runs export` and `import`.

A pack is a ZIP file: `manifest.json`, which lists what is in it, and each result in its stored
form; one result may come as such a file by itself. Both come from anywhere, so nothing of them is
believed: what is read has a bounded size, is checked as a stored file is and for what no seal tells
(`soundness`), and is put into the store under its own key. No member's name is ever used as a path.
"""

import hashlib
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from coupling_core.base.errors import InputError
from coupling_core.base.records import SCHEMA
from coupling_core.base.results import Result
from coupling_core.base.writing import replacing
from coupling_core.store.archive import SUFFIX, decode, encode
from coupling_core.store.disk import Store
from coupling_core.store.request_key import parse_key

MANIFEST = "manifest.json"
VERSION = 1
MAX_RESULT = 2**30
"""Bytes of one result; the largest of a model of 80 blocks takes half of it."""

_MAX_MANIFEST = 2**24
_ZIP = (b"PK\3\4", b"PK\5\6")  # a full and an empty one; no result begins so
_UNREADABLE = (
    *(EOFError, LookupError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError),
    *(lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error),
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

    Args:
        store: where they are.
        keys: which; each is read to its last byte.
        path: of the new file.

    Returns:
        how many there are.

    Raises:
        InputError: where a key is not stored.
        ComputeError: where a result is damaged.
        OSError: where the file cannot be written.
    """
    listed = []
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
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
    """Put a file's results into a store; raises as `take_in` does, and where it cannot be read."""
    try:
        with path.open("rb") as file:
            yield from take_in(file, str(path), store)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def take_in(
    file: BufferedIOBase, name: str, store: Store, *, packs: bool = True
) -> Iterator[Packed]:
    """Put results into a store; what is refused keeps nothing else from being put.

    Args:
        file: a pack, or one result as the store writes it.
        name: what to call it.
        store: where to.
        packs: whether a pack is taken, rather than one result only.

    Raises:
        InputError: where the file is neither.
        ComputeError: where the store cannot be written.
    """
    first = file.read(len(_ZIP[0]))
    file.seek(0)
    if first not in _ZIP:
        yield _put_one(file, name, store, packs=packs)
        return
    if not packs:
        raise InputError(f"{name} is a pack, and one result at a time is taken here")
    try:
        opened = zipfile.ZipFile(file)
    except _UNREADABLE as error:
        raise InputError(
            f"{name} is no pack of results, or is damaged ({error}): expected a file that "
            "`coupling runs export` wrote"
        ) from error
    with opened:
        for entry in _listed(opened, name):
            yield _put(opened, entry, store)


def _put_one(file: BufferedIOBase, name: str, store: Store, *, packs: bool) -> Packed:
    data = file.read(MAX_RESULT + 1)
    if len(data) > MAX_RESULT:
        raise InputError(f"{name} has more than the {MAX_RESULT} bytes of a result")
    try:
        return _keep(_sound(data), store)
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


def _listed(file: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    """What the manifest lists."""
    try:
        manifest = json.loads(_read(file, MANIFEST, _MAX_MANIFEST))
        version, results = manifest["version"], list(manifest["results"])
    except (InputError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} is no pack of results: it has no {MANIFEST} of ours ({error})"
        ) from error
    if version != VERSION:
        raise InputError(
            f"{name} is a pack of version {version}, and this program reads version "
            f"{VERSION}: export it anew, or use a newer version of this program"
        )
    return results


def _put(file: zipfile.ZipFile, entry: Any, store: Store) -> Packed:
    key = entry.get("key") if isinstance(entry, dict) else None
    if not isinstance(key, str) or parse_key(key) is None:
        return Packed(str(key)[:80], "refused", "the manifest gives no key of a stored result")
    try:
        data = _read(file, f"{key}{SUFFIX}", MAX_RESULT)
        if hashlib.sha256(data).hexdigest() != entry.get("sha256"):
            raise InputError("is damaged: it does not match the hash in the manifest")
        result = _sound(data)
        if result.key != key:
            raise InputError(f"holds the result {result.key}")
    except InputError as error:
        return Packed(key, "refused", str(error))
    return _keep(result, store)


def _read(file: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member's content; zipfile reads no more of it than the size that is checked here."""
    try:
        if file.getinfo(name).file_size > most:
            raise InputError(f"{name} has more than the {most} bytes that are allowed")
        return file.read(name)
    except _UNREADABLE as error:
        why = str(error) or type(error).__name__
        raise InputError(f"{name} cannot be read from the pack ({why})") from error
