"""Jane Austen's novels, from the data of an R package."""

import re
import zlib
from pathlib import Path
from typing import Any

from coupling_core.base.errors import InputError

try:
    import rdata
except ModuleNotFoundError as error:
    raise InputError("rdata is missing: make .venv/installed-dev") from error


def novels(folder: Path) -> list[str]:
    """The novels' chapters, from the lazily loaded data base of an R package.

    Its index (.rdx) says where in the .rdb each object begins and how long it is; an object is its
    length in four bytes, and then a compressed stream.
    """
    index, objects = rdata.read_rds(folder / "Rdata.rdx"), (folder / "Rdata.rdb").read_bytes()
    chapters: list[str] = []
    for _, (start, length) in sorted(index["variables"].items()):
        stream = zlib.decompress(objects[start + 4 : start + length])
        lines: Any = rdata.conversion.convert(rdata.parser.parse_data(stream, extension=".rds"))
        chapters += re.split(r"\n(?=CHAPTER|Chapter )", "\n".join(map(str, lines)))
    return chapters
