"""Files are read to a bound, and neither pipes nor devices are."""

import os
from pathlib import Path

import pytest

from coupling_core.base.errors import InputError
from coupling_core.base.reading import opened, read_bytes
from coupling_core.base.textfiles import MOST_COLUMNS, csv_rows, read_text


def test_a_file_is_read_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(OSError, match="at most"):
        read_bytes(path, 4)


def test_neither_a_pipe_a_device_nor_a_folder_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"), opened(tmp_path / "pipe"):
        pass
    with pytest.raises(OSError, match="device"):
        read_bytes(Path("/dev/zero"), 10)
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path, 10)


def test_ends_of_lines_are_alike(tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "x").write_bytes(f"\ufeffa{end}b".encode())
        assert read_text(tmp_path / "x") == "a\nb"


def test_a_table_has_few_columns(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("prompt" + ",x" * MOST_COLUMNS + "\n" + "a\n" * 10)
    with pytest.raises(InputError, match=r"1,000 .*1,001"):
        list(csv_rows(tmp_path / "x.csv", ("prompt",)))
