"""The head of a GGUF file: whether the file is whole, and how long its conversion takes."""

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError
from coupling_core.base.reading import opened

_SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "B",
    10: "Q",
    11: "q",
    12: "d",
}
"""The numbers of the format's types, as `struct` calls them."""
_TEXT, _LIST = 8, 9
_ALIGNMENT = 32
_START, _A_TOKEN, _A_NUMBER = 5.0, 5e-5, 4e-8
"""Seconds of a conversion on a small machine: in any case, for each token, for each weight."""


@dataclass(frozen=True)
class Head:
    """What the head of a file says.

    Args:
        tokens: of the vocabulary.
        numbers: weights in all.
    """

    tokens: int
    numbers: int

    @property
    def seconds(self) -> float:
        """What the conversion takes on a small machine."""
        return _START + _A_TOKEN * self.tokens + _A_NUMBER * self.numbers


def read_head(path: Path, *more: Path) -> Head:
    """Read the head of a GGUF file, or of one in parts, the first of which has the head."""
    try:
        size = sum(part.stat().st_size for part in (path, *more))
        with opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as first:
            return _Walk(first, size).head()
    except (struct.error, ValueError, IndexError, KeyError, OverflowError, MemoryError) as error:
        raise ComputeError(
            f"{path} is damaged, or was cut short: copy or download it anew"
        ) from error


class _Walk:
    """One way through the head."""

    def __init__(self, whole: mmap.mmap, size: int) -> None:
        self._whole, self._size, self._at = whole, size, 4
        (version,) = struct.unpack_from("<I", whole, 4)
        self._order = "<" if version & 0xFFFF else ">"  # files of machines of the other byte order

    def head(self) -> Head:
        """To the end of it."""
        if self._whole[:4] != b"GGUF":
            raise ValueError("another magic number")
        _, n_tensors, n_fields = self._read("IQQ")
        tokens, alignment = 0, _ALIGNMENT
        for _ in range(n_fields):
            name = self._text()
            (kind,) = self._read("I")
            value = self._value(kind)
            tokens = value if name == b"tokenizer.ggml.tokens" else tokens
            alignment = value if name == b"general.alignment" else alignment
        tensors = [self._tensor(alignment) for _ in range(n_tensors)]
        start = -(-self._at // alignment) * alignment
        if any(start + end > self._size for _, end in tensors):
            raise ValueError("the weights end too early")
        return Head(tokens, sum(numbers for numbers, _ in tensors))

    def _read(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(self._order + form, self._whole, self._at)
        self._at += struct.calcsize(self._order + form)
        return found

    def _pass(self, n: int) -> None:
        self._at += n
        if self._at > len(self._whole):
            raise ValueError("the head ends too early")

    def _text(self) -> bytes:
        (n,) = self._read("Q")
        start = self._at
        self._pass(n)
        return self._whole[start : self._at]

    def _value(self, kind: int) -> Any:
        """A number; of a list how many there are; nothing of a text."""
        if kind in _SCALARS:
            return self._read(_SCALARS[kind])[0]
        if kind == _TEXT:
            self._text()
            return None
        if kind != _LIST:
            raise ValueError("a type that there is not")
        inner, n = self._read("IQ")
        if inner in _SCALARS:
            self._pass(n * struct.calcsize(_SCALARS[inner]))
        else:
            for _ in range(n):
                self._value(inner)
        return n

    def _tensor(self, alignment: int) -> tuple[int, int]:
        """How many numbers a tensor has, and the byte it ends at, counted from where they begin."""
        self._text()
        (dims,) = self._read("I")
        numbers = prod(self._read(f"{dims}Q"))
        kind, offset = self._read("IQ")
        known = _sizes()
        if not numbers or offset % alignment or (known and kind not in known):
            raise ValueError("a tensor that there cannot be")
        block, width = known.get(kind, (1, 0))
        return numbers, offset + numbers // block * width


def _sizes() -> dict[int, tuple[int, int]]:
    """Numbers of a block and its bytes, by type; empty where the library is not installed."""
    try:
        from gguf.constants import GGML_QUANT_SIZES
    except ImportError:
        return {}
    return {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}
