"""A GGUF file read by transformers without an object for every token.

The package's reader makes two arrays of each token, score and type, several times a conversion: a
minute for a vocabulary of 262,144 tokens. From what it reads so, transformers takes the config and
the weights, and of long lists only how many there are.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coupling_core.base.extras import needed

_LONG = 1000
"""Members from which on a list is passed over; lists of a config have one a layer."""


@contextmanager
def read_fast() -> Iterator[None]:
    """Let transformers read so; other threads wait, as `quiet` makes them."""
    with needed("gguf"):
        import gguf
    package: Any = gguf
    own = package.GGUFReader
    package.GGUFReader = _reader(package)
    try:
        yield
    finally:
        package.GGUFReader = own


def _reader(gguf: Any) -> type:
    import numpy as np

    kinds = gguf.GGUFValueType

    class Reader(gguf.GGUFReader):
        @property
        def data(self) -> Any:
            return self._data

        @data.setter
        def data(self, mapped: Any) -> None:
            self._data = mapped.view(np.ndarray)  # a memmap is slow to cut

        def _get_field_parts(self, orig_offs: Any, raw_type: Any) -> Any:
            if raw_type == kinds.ARRAY and self.byte_order != "S":
                inner, n = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
                kind, start = kinds(inner[0]), orig_offs + 12
                types = [kinds.ARRAY, kind]
                if n[0] >= _LONG and kind == kinds.STRING:
                    first, at = self._get_str(start), start
                    for _ in range(int(n[0])):
                        at += 8 + struct.unpack_from("<Q", self._data, at)[0]
                    # The vocabulary's size is the length of this list.
                    return at - orig_offs, [inner, n, *first], [3] * int(n[0]), types
                if n[0] >= _LONG and (of := self.gguf_scalar_to_np.get(kind)):
                    size = 12 + int(n[0]) * np.dtype(of).itemsize
                    return size, [inner, n, self._get(start, of)], [2], types
            return super()._get_field_parts(orig_offs, raw_type)

    return Reader
