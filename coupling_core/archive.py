"""The stored form of a result: one safetensors file, sealed by a hash of every byte of it.

The arrays are the file's tensors, all else is a JSON header in its metadata. The hash is taken of
the whole file with the hash's own digits set to zero, so a flipped byte is noticed wherever it is.
"""

import errno
import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from coupling_core.errors import ComputeError, CouplingError, InputError
from coupling_core.keys import make_key
from coupling_core.records import SCHEMA, Certificate, DepthResult, Request

SUFFIX = ".safetensors"
TEMPORARY = ".tmp"
_LENGTH = 8  # a safetensors file begins with the length of its header, as eight bytes
_BLANK = "0" * 64
_SEAL = re.compile(rb'"sha256":"([0-9a-f]{64})"')  # unescaped, so never inside the JSON header
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, SafetensorError)


@dataclass(frozen=True)
class Header:
    """What a stored result says of itself before its arrays are read.

    Args:
        fields: the fields of `DepthResult` that are no arrays.
        shapes: the shape of each array.
        size: how many bytes the file has when it is whole.
    """

    fields: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    size: int


def save(result: DepthResult, path: Path) -> None:
    """Write a result, whole or not at all.

    Raises:
        InputError: where the path cannot be written.
        ComputeError: where the disk is full.
    """
    try:
        write_whole(path, encode(result))
    except OSError as error:
        raise refused_write(
            error, path, "choose a folder that exists and that you may write"
        ) from (error)


def load(path: Path) -> DepthResult:
    """Read a result, and refuse one that differs in any byte from what was written.

    Raises:
        InputError: where the file cannot be read, is damaged, or is of another schema.
    """
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except InputError as error:
        raise InputError(f"{path} {error}") from error


def read_header(path: Path) -> Header:
    """Read what a stored result says of itself; of the arrays only the size is checked.

    Raises:
        InputError: as `load` does.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = _header_length(file.read(_LENGTH), size)
            header = _parse_header(file.read(length))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except InputError as error:
        raise InputError(f"{path} {error}") from error
    if header.size != size:
        raise InputError(f"{path} is damaged: it has {size} bytes instead of {header.size}")
    return header


def encode(result: DepthResult) -> bytes:
    """The bytes of a result's file."""
    values = {item.name: getattr(result, item.name) for item in fields(result)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    header = {name: value for name, value in values.items() if name not in arrays}
    header["request"] = asdict(result.request)
    header["certificates"] = [asdict(certificate) for certificate in result.certificates]
    metadata = {"schema": str(SCHEMA), "header": json.dumps(header), "sha256": _BLANK}
    data = bytearray(save_tensors(arrays, metadata))
    start, seal = _digest(data)
    data[start : start + len(seal)] = seal
    return bytes(data)


def decode(data: bytes) -> DepthResult:
    """The result that a file's bytes hold.

    Raises:
        InputError: where they are not, to the last byte, what `encode` made.
    """
    length = _header_length(data[:_LENGTH], len(data))
    header = _parse_header(data[_LENGTH : _LENGTH + length])
    start, seal = _digest(data)
    if data[start : start + len(seal)] != seal:
        raise InputError("is damaged: its hash is not the one it was sealed with")
    try:
        arrays: dict[str, Any] = load_tensors(data)
        result = DepthResult(**header.fields, **arrays)
    except _UNREADABLE as error:
        raise InputError(f"is no result that this version can read: {error}") from error
    if result.key != str(make_key(result.request, result.identity)):
        raise InputError(f"is no sound result: its key {result.key} is not that of its request")
    return result


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file so that a reader, or a crash at any moment, sees the old one or the new one.

    Raises:
        OSError: where that fails; the old file is untouched then.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if temporary.read_bytes() != data:
            raise OSError(errno.EIO, "what was written does not read back the same")
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
    _sync_folder(path.parent)


def refused_write(error: OSError, path: Path, remedy: str) -> CouplingError:
    """A failed write in plain words: a full disk is no fault of the input, all else is."""
    why = error.strerror or str(error)
    if error.errno in _FULL:
        return ComputeError(
            f"{path} could not be written, for the disk is full ({why}): free some space, remove "
            "results that are no longer needed, or choose another disk; what was stored before "
            "is untouched"
        )
    return InputError(f"{path} cannot be written ({why}): {remedy}")


def _header_length(first: bytes, size: int) -> int:
    length = int.from_bytes(first, "little")
    if len(first) < _LENGTH or _LENGTH + length > size:
        raise InputError(
            f"is no stored result, or damaged: its {size} bytes do not hold the header that a "
            "safetensors file begins with"
        )
    return length


def _parse_header(head: bytes) -> Header:
    try:
        tensors = json.loads(head)
        metadata = tensors.pop("__metadata__")
        schema, text = metadata["schema"], metadata["header"]
    except _UNREADABLE as error:
        raise InputError("is no stored result, or damaged: it has no header of ours") from error
    if schema != str(SCHEMA):
        raise InputError(
            f"was written in schema {schema}, and this version reads schema {SCHEMA}: compute it "
            "anew, or open it with the version that wrote it"
        )
    try:
        end = max(tensor["data_offsets"][1] for tensor in tensors.values())
        shapes = {name: tuple(tensor["shape"]) for name, tensor in tensors.items()}
        return Header(_typed(json.loads(text)), shapes, _LENGTH + len(head) + end)
    except (*_UNREADABLE, CouplingError) as error:
        raise InputError(f"is no result that this version can read: {error}") from error


def _typed(header: dict[str, Any]) -> dict[str, Any]:
    """Give JSON's lists and mappings their types back."""
    return header | {
        "request": Request(**header["request"]),
        "tokens": tuple(header["tokens"]),
        "certificates": tuple(Certificate(**item) for item in header["certificates"]),
        "next_tokens": tuple((text, probability) for text, probability in header["next_tokens"]),
    }


def _digest(data: bytes | bytearray) -> tuple[int, bytes]:
    """Where the hash stands, and what it has to be."""
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    match = _SEAL.search(data, 0, end)
    if match is None:
        raise InputError("is damaged: it lost the hash that it was sealed with")
    view, start = memoryview(data), match.start(1)
    digest = hashlib.sha256(view[:start])
    digest.update(_BLANK.encode())
    digest.update(view[start + len(_BLANK) :])
    return start, digest.hexdigest().encode()


def _sync_folder(folder: Path) -> None:
    # Not every system lets a folder be opened; the rename is then as durable as it makes it.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
