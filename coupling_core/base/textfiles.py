"""Text files that people write: read with complaints that name the file and the line."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from coupling_core.base.errors import InputError
from coupling_core.base.reading import TEXT, read_bytes

MOST_COLUMNS = 1000
csv.field_size_limit(max(csv.field_size_limit(), TEXT))  # a cell may be as long as its file


def read_text(path: Path) -> str:
    """The text of a file, with every end of a line as a newline; raises `InputError`."""
    try:
        content = read_bytes(path, TEXT)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return decoded(content, str(path))


def decoded(content: bytes, whose: str) -> str:
    """The text of bytes, with every end of a line as a newline; raises `InputError`."""
    try:
        text = content.decode("utf-8-sig")  # spreadsheets put a mark before it
    except ValueError as error:
        raise InputError(f"{whose} cannot be read as text: {error}: save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def legible(name: str) -> str:
    """A file's name as a text: bytes of it that are no UTF-8 are spelled out."""
    return name.encode("utf-8", "backslashreplace").decode()


def read_stdin() -> str:
    """The text of standard input, with every end of a line as a newline; raises `InputError`."""
    if sys.stdin is None:
        raise InputError("standard input is closed: send the prompts there, or name a file")
    content = sys.stdin.buffer.read(TEXT + 1)
    if len(content) > TEXT:
        raise InputError(f"standard input has more than {TEXT:,} bytes: split it")
    return decoded(content, "standard input")


def csv_rows(
    text: str, path: Path, required: Collection[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file by the columns that its first line names, each with its line.

    Raises:
        InputError: where it lacks a required column, or is no table; it names the path.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""), restval="", strict=True)
    try:
        columns = reader.fieldnames = [
            _meant(name, required, reader.fieldnames or ()) for name in reader.fieldnames or ()
        ]
        if problem := _problem(columns, required):
            raise InputError(f"{path}: {problem}")
        for cells in reader:
            if None in cells:
                raise InputError(
                    f"{path}, line {reader.line_num}: more cells than columns: put what has a "
                    "comma in quotes"
                )
            yield reader.line_num - sum(cell.count("\n") for cell in cells.values()), cells
    except csv.Error as error:
        line = reader.line_num + 1
        raise InputError(f"{path}, line {line}: {error}: is a quote left open?") from error


def _problem(columns: Sequence[str], required: Collection[str]) -> str:
    """What is wrong with the columns that line 1 names; "" for nothing."""
    if len(columns) > MOST_COLUMNS:  # each of which every row would have
        return f"expected at most {MOST_COLUMNS:,} columns, got {len(columns):,}"
    if twice := [name for name, times in Counter(columns).items() if times > 1]:
        return f"the column {twice[0]!r} comes twice in line 1: rename one"
    if missing := [name for name in required if name not in columns]:
        named = ", ".join(columns) or "an empty file"
        hint = ": separate columns by commas" * (";" in named or "\t" in named)
        return f"expected a column {missing[0]!r} in line 1, got {named}{hint}"
    return ""


def _meant(name: str, required: Collection[str], columns: Collection[str]) -> str:
    """The column that a name in line 1 stands for: Prompt is prompt, where there is no other."""
    plain = name.strip().lower()
    return plain if plain in required and plain not in columns else name
