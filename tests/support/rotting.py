"""Bits that change on a disk, with the file system's knowledge or without."""

import json
from pathlib import Path

import pytest

from coupling_core.base.folders import user_cache
from coupling_core.sources import file_hashes


def flip(file: Path, bit: int) -> bytes:
    """Change one bit of a file; gives what it held."""
    before = file.read_bytes()
    after = bytearray(before)
    after[bit // 8] ^= 1 << bit % 8
    file.write_bytes(after)
    return before


def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have hashes remembered of files that were written just now too."""
    monkeypatch.setattr(file_hashes, "_FRESH", 0)


def rot(file: Path, bit: int) -> bytes:
    """Change one bit beneath the file system: as far as that knows, nothing was written."""
    before = flip(file, bit)
    memory = user_cache() / "hashes.json"
    files = json.loads(memory.read_text())["files"]
    stat = file.stat()  # its times cannot be set: what is remembered is brought to the new ones
    files[str(file)][:-1] = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
    memory.write_text(json.dumps({"files": files, "sha256": file_hashes._sha256_of(files)}))
    return before
