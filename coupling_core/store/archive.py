"""The stored form of a result: one safetensors file, in which no flipped byte goes unnoticed.

The arrays are the file's tensors, all else is a JSON header in its metadata. Two hashes seal it:
one of the arrays' bytes, and one of everything before them (the first hash included), taken with
its own digits set to zero. So the header can be trusted without reading the arrays.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.reading import opened, read_bytes
from coupling_core.base.records import SCHEMA, Request
from coupling_core.base.results import Result, Sizes, result_type
from coupling_core.base.writing import write_whole, writing
from coupling_core.store.request_key import UNSAID, is_key_of
from coupling_core.store.schema import Tensor, require_types, tensors, typed

SUFFIX = ".safetensors"
MAX_RESULT = 2**30
"""Bytes of one result; the largest of a model of 80 blocks takes half of it."""

_MAX_HEADER = 2**25
"""Bytes of its header: what is made of them takes twenty times as much memory. A mean over all
pairs of 80 blocks has a fifth of it, at 512 tokens."""
_MAX_SIDE = 2**31
_LENGTH = 8  # a safetensors file begins with the length of its header, as eight bytes
_BLANK = "0" * 64
# Unescaped quotes, so these never match inside the JSON header, which is a string of the metadata.
_HEADER_SEAL = re.compile(rb'"header_sha256":"([0-9a-f]{64})"')
_ARRAYS_SEAL = re.compile(rb'"arrays_sha256":"([0-9a-f]{64})"')
_seals: dict[int, str] = {}
"""Of the results in memory that were read from files, by their identity; no field of theirs."""
_UNREADABLE = (
    *(AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError),
    SafetensorError,
)


@dataclass(frozen=True)
class Header:
    """What a stored result says of itself before its arrays are read.

    Args:
        kind: the class of the result.
        fields: its fields that are no arrays.
        sizes: how large it is.
    """

    kind: type[Result]
    fields: dict[str, Any]
    sizes: Sizes

    @property
    def certified(self) -> bool:
        """Whether every SVD passed its certificate."""
        return all(c.certified for c in self.kind.each_certificate(self.fields))


def save(result: Result, path: Path) -> None:
    """Write a result, whole or not at all."""
    with writing(path, "choose a folder that exists and that you may write to"):
        write_whole(path, encode(result))


def load(path: Path) -> Result:
    """Read a result, and refuse one that differs in any byte from what was written.

    Raises:
        InputError: where the file cannot be read, is damaged, or is of another schema.
    """
    with naming(path):
        return decode(read_bytes(path, MAX_RESULT))


def read_header(path: Path) -> Header:
    """Read what a stored result says of itself; of the arrays only the size is checked."""
    with naming(path):
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            first = file.read(_LENGTH)
            head = first + file.read(_header_end(first, size) - _LENGTH)
        return _parse_header(head, size)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Begin what is wrong with a file with its name."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except InputError as error:
        raise InputError(f"{path} {error}") from error


def encode(result: Result) -> bytes:
    """The bytes of a result's file."""
    values = {item.name: getattr(result, item.name) for item in fields(result)}
    arrays = {
        name: np.ascontiguousarray(value)  # a transposed view would be written in the wrong order
        for name, value in values.items()
        if isinstance(value, np.ndarray)
    }
    header = {name: value for name, value in values.items() if name not in arrays}
    metadata = {
        "schema": str(SCHEMA),
        "header": json.dumps(header, default=asdict),
        "arrays_sha256": _BLANK,
        "header_sha256": _BLANK,
    }
    data = save_tensors(arrays, metadata)
    end = _header_end(data[:_LENGTH], len(data))
    head = _with_seal(data[:end], _ARRAYS_SEAL, _sha256(memoryview(data)[end:]))
    return _with_seal(head, _HEADER_SEAL, _sha256(head)) + data[end:]


def decode(data: bytes) -> Result:
    """The result that a file's bytes hold."""
    end = _header_end(data[:_LENGTH], len(data))
    header = _parse_header(data[:end], len(data))
    if _seal(data[:end], _ARRAYS_SEAL) != _sha256(memoryview(data)[end:]):
        raise InputError("is damaged: its arrays do not match the hash that they were sealed with")
    try:
        arrays: dict[str, Any] = load_tensors(data)
        result = header.kind(**header.fields, **arrays)
    except _UNREADABLE as error:
        raise InputError(f"is no result that this version can read: {error}") from error
    # "" where it was not stored
    if result.key and not is_key_of(result.key, result.request, result.identity):
        raise InputError(f"is no sound result: its key {result.key} is not that of its request")
    _seals[id(result)] = _seal(data[:end], _HEADER_SEAL)
    finalize(result, _seals.pop, id(result)).atexit = False
    return result


def seal(result: Result) -> str:
    """The hash of all that a result's file says; "" where it was not read from one."""
    return _seals.get(id(result), "")


def _header_end(first: bytes, size: int) -> int:
    end = _LENGTH + int.from_bytes(first, "little")
    if len(first) < _LENGTH or end > min(size, _MAX_HEADER):
        raise InputError(
            f"is no stored result, or damaged: its {size} bytes do not begin with a header of at "
            f"most {_MAX_HEADER}, as a safetensors file does"
        )
    return end


def _parse_header(head: bytes, size: int) -> Header:
    """Read and check the bytes before the arrays, of a file of this size."""
    try:
        said = json.loads(head[_LENGTH:])
        metadata = said.pop("__metadata__")
        schema, text = metadata["schema"], metadata["header"]
        arrays = tensors(said)
        whole = len(head) + max(tensor.data_offsets[1] for tensor in arrays.values())
    except _UNREADABLE as error:
        raise InputError("is no stored result, or damaged: it has no header of ours") from error
    if schema != str(SCHEMA):
        raise InputError(
            f"was written in schema {str(schema)[:20]}, and this version reads schema {SCHEMA}: "
            "compute it anew, or open it with the version that wrote it"
        )
    sealed = _seal(head, _HEADER_SEAL) == _sha256(_with_seal(head, _HEADER_SEAL, _BLANK))
    if not sealed or size != whole:
        raise InputError(
            "is damaged: its header does not match its hash, or it has "
            f"{size} bytes instead of {whole}"
        )
    try:
        return _header(json.loads(text), arrays)
    except (*_UNREADABLE, CouplingError) as error:
        raise InputError(f"is no result that this version can read: {error}") from error


def _header(said: Any, arrays: Mapping[str, Tensor]) -> Header:
    request = Request(**(dict(UNSAID) | said["request"]))
    kind = result_type(request)
    fields = typed(kind, said | {"request": request})
    require_types(kind, fields)
    sizes = kind.sizes_of(fields, {name: tuple(each.shape) for name, each in arrays.items()})
    if not all(0 <= side < _MAX_SIDE for side in astuple(sizes)):
        raise ValueError("no result has such sizes")
    return Header(kind, fields, sizes)


def _sha256(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def _seal(head: bytes, which: re.Pattern[bytes]) -> str:
    match = which.search(head)
    return match[1].decode() if match else "missing"


def _with_seal(head: bytes, which: re.Pattern[bytes], digits: str) -> bytes:
    match = which.search(head)
    return head[: match.start(1)] + digits.encode() + head[match.end(1) :] if match else head
