"""Own prompts: one a line, JSONL or CSV with a category and a difficulty, a folder of images."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coupling_core.base.errors import InputError
from coupling_core.base.images import read_image, unreadable
from coupling_core.base.reading import is_hidden
from coupling_core.base.textfiles import csv_rows, read_stdin, read_text
from coupling_core.sources.prompts.columns import LONGEST, typed
from coupling_core.sources.prompts.prompt import OWN, Prompt, known_names
from coupling_core.sources.refusals import about

IMAGES = (".png", ".jpg", ".jpeg", ".webp")
"""What the images of a folder end in."""

TEXTS = (".csv", ".jsonl", ".txt")
"""What a file of texts ends in."""

TABLES = (
    *(".parquet", ".xlsx", ".xls", ".feather", ".arrow", ".npz", ".nc", ".pkl", ".gz", ".zip"),
    *(".tsv", ".json", ".yaml", ".yml", ".xml"),
)
"""Endings of what people keep tables in, of which a line is no prompt."""

STDIN = Path("-")
"""What standard input is called; it has one prompt a line."""

MOST = 100_000
"""Lines of a file."""

_EXPECTED = """expected JSON such as {"prompt": "...", "category": "art", "difficulty": 1}"""


def read_file(path: Path) -> list[Prompt]:
    """The prompts of a file in their order, with their lines as rows; blank lines are skipped.

    The path - is standard input, with one prompt a line. Of a folder, its images by name; those in
    a folder of their own have its name as category.
    """
    if path == STDIN:
        path = Path("standard input")
        found = [Prompt(line, path.name, n) for n, line in _numbered(path, read_stdin())]
        return _some(path, found)
    if path.is_dir():
        return _from_folder(path)
    if path.suffix.lower() in TABLES:
        raise InputError(
            f"{path} is no text with a prompt a line: they come from .txt, .jsonl and .csv, or in "
            "Python from a frame, such as measure_many(pandas.read_parquet(...))"
        )
    return read_content(path, read_text(path))


def read_content(path: Path, text: str) -> list[Prompt]:
    """The prompts of a file that is at hand, such as one that somebody handed over."""
    match path.suffix.lower():
        case ".jsonl":
            found = list(_from_json(path, text))
        case ".csv":
            found = list(_from_csv(path, text))
        case _:
            found = [Prompt(line, path.name, number) for number, line in _numbered(path, text)]
    return _some(path, found)


def _some(path: Path, found: list[Prompt]) -> list[Prompt]:
    if not found:
        raise InputError(
            f"{path} has no prompt: expected one a line, or a field or column 'prompt'"
        )
    return found


def files_of(path: Path) -> list[Path]:
    """The file itself, or the images of a folder by name."""
    if not path.is_dir():
        return [path]
    images = (file for file in path.rglob("*") if file.suffix.lower() in IMAGES and file.is_file())
    return sorted(file for file in images if not is_hidden(file.relative_to(path)))


def _from_folder(path: Path) -> list[Prompt]:
    files = files_of(path)
    if not files:
        raise InputError(f"the folder {path} has no image: expected {', '.join(IMAGES)}")
    return [
        Prompt(_image(file), path.name, number, "" if file.parent == path else file.parent.name)
        for number, file in enumerate(files, 1)
    ]


def _image(file: Path) -> str:
    try:
        return read_image(file)
    except InputError as error:
        return unreadable(str(error))


def _from_json(path: Path, text: str) -> Iterator[Prompt]:
    for number, line in _numbered(path, text):
        with about(f"{path}, line {number}: {_EXPECTED}"):
            prompt = Prompt.of(_object(line), path.name, number)
        yield prompt


def _numbered(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    if text.count("\n") > MOST:
        raise InputError(f"{path} has more than {MOST:,} lines: split it")
    return ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip())


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_once, parse_int=_whole, parse_float=_finite)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("this is no JSON") from error
    if not isinstance(found, dict):
        raise ValueError("this is no object in braces")
    return known_names(found)


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) < LONGEST else digits


def _finite(digits: str) -> float | str:
    return number if math.isfinite(number := float(digits)) else digits


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object each of whose names comes once: of two, one would be lost."""
    if twice := [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]:
        raise ValueError(f"{twice[0]!r} comes twice in it")
    return dict(pairs)


def _from_csv(path: Path, text: str) -> Iterator[Prompt]:
    lines = csv_rows(text, path, ("prompt",))
    rows = [(number, known_names(cells)) for number, cells in lines]
    columns = {
        name: typed([cells[name] for _, cells in rows])
        for name in (rows[0][1] if rows else ())
        if name not in OWN
    }
    for place, (number, cells) in enumerate(rows):
        own = {name: values[place] for name, values in columns.items()}
        with about(f"{path}, line {number}"):
            prompt = Prompt.of(cells | own, path.name, number)
        yield prompt
