import os
import re
from pathlib import Path

import pytest

from coupling_core.base.errors import InputError
from coupling_core.base.reading import opened, read_bytes
from coupling_core.base.textfiles import MOST_COLUMNS, csv_rows, read_text


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_file_is_read_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(OSError, match=re.escape("it has 0 kB, and at most 0 kB are read")):
        read_bytes(path, 4)


def test_a_pipe_is_not_waited_for(pipe: Path) -> None:
    with pytest.raises(OSError, match="it is a pipe or a device"), opened(pipe):
        pass


def test_a_device_is_not_read() -> None:
    with pytest.raises(OSError, match="it is a pipe or a device"):
        read_bytes(Path("/dev/zero"), 10)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path, 10)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines_are_alike(tmp_path: Path, end: str) -> None:
    (tmp_path / "x").write_bytes(f"\ufeffa{end}b".encode())
    assert read_text(tmp_path / "x") == "a\nb"


def test_a_table_has_few_columns(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("prompt" + ",x" * MOST_COLUMNS + "\n" + "a\n" * 10)
    with pytest.raises(InputError, match="at most 1,000 columns, and 1,001 came"):
        list(csv_rows(tmp_path / "x.csv", ("prompt",)))
