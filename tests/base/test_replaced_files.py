"""A file that is replaced is another file: whoever reads the old one has it to its end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from coupling_core.base.writing import write_quietly, write_whole

OLD, NEW = b"old " * 5000, b"new"


@pytest.mark.parametrize(
    "write",
    [write_whole, lambda path, data: write_quietly(path, data.decode())],
    ids=["whole", "quietly"],
)
def test_who_reads_a_file_while_it_is_replaced_has_the_old_one(
    tmp_path: Path, write: Callable[[Path, bytes], object]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with path.open("rb", buffering=0) as reader:
        first = reader.read(100)
        write(path, NEW)
        assert first + reader.read() == OLD
    assert path.read_bytes() == NEW
