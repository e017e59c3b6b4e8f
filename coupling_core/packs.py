"""Stored results in one file, to hand to somebody else: `coupling runs export` and `import`.

A pack is a ZIP file: `manifest.json`, which lists what is in it, and each result in its stored
form. A pack comes from anywhere, so nothing of it is believed: every member is read into memory, of
a size that is bounded, checked as a stored file is, and put into the store under its own key. No
member's name is ever used as a path.
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
from pathlib import Path
from typing import Any

from coupling_core.archive import SUFFIX, decode, encode
from coupling_core.errors import InputError
from coupling_core.keys import parse_key
from coupling_core.records import SCHEMA
from coupling_core.store import Store

MANIFEST = "manifest.json"
VERSION = 1
MAX_RESULT = 2**30
"""Bytes of one result; the largest of a model of 80 blocks takes half of it."""

_MAX_MANIFEST = 2**24
_UNREADABLE = (
    # What zipfile raises, or may, on bytes that are no ZIP file's; it has no one class for them.
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Packed:
    """What became of one result of a pack.

    Args:
        name: its key, or what the pack calls it where that is none.
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
    temporary = path.with_name(f".{path.name}.part")
    try:
        with zipfile.ZipFile(temporary, "w") as file:
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
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return len(listed)


def unpack(path: Path, store: Store) -> Iterator[Packed]:
    """Put a pack's results into a store; what is refused keeps nothing else from being put.

    Raises:
        InputError: where the file is no pack.
        ComputeError: where the store cannot be written.
    """
    with _opened(path) as file:
        for entry in _listed(file):
            yield _put(file, entry, store)


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except _UNREADABLE as error:
        raise InputError(
            f"{path} is no pack of results, or is damaged ({error}): expected a file that "
            "`coupling runs export` wrote"
        ) from error


def _listed(file: zipfile.ZipFile) -> list[dict[str, Any]]:
    """What the manifest lists."""
    try:
        manifest = json.loads(_read(file, MANIFEST, _MAX_MANIFEST))
        version, results = manifest["version"], list(manifest["results"])
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file.filename} is no pack of results: it has no {MANIFEST} of ours ({error})"
        ) from error
    if version != VERSION:
        raise InputError(
            f"{file.filename} is a pack of version {version}, and this program reads version "
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
        result = decode(data)
        if result.key != key:
            raise InputError(f"holds the result {result.key}")
    except InputError as error:
        return Packed(key, "refused", str(error))
    with suppress(InputError):
        store.path(key)
        return Packed(key, "there before")
    store.put(result)
    return Packed(key, "new")


def _read(file: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member's content; zipfile reads no more of it than the size that is checked here."""
    try:
        if file.getinfo(name).file_size > most:
            raise InputError(f"{name} has more than the {most} bytes that are allowed")
        return file.read(name)
    except _UNREADABLE as error:
        why = str(error) or type(error).__name__
        raise InputError(f"{name} cannot be read from the pack ({why})") from error
