"""The commands that the documents give are run as they stand, but for the form of their figure."""

import re
import shlex
from pathlib import Path

import pytest

from coupling_core import Store

FIGURES = (Path(__file__).parents[1] / "docs" / "figures.md").read_text()
PROMPT = re.search(r'`(--prompt "[^"]*")`', FIGURES)[1]
COMMANDS = re.findall(r"`coupling ([^`]*--out [^`]*)`", FIGURES)


def arguments(command: str, folder: Path) -> list[str]:
    """What comes after `coupling`, with HTML in place of SVG, which needs no Chromium."""
    keys = [entry.key for entry in Store().entries() if entry.read_only and "-v24" in entry.key]
    for name, key in zip(("KEY1", "KEY2"), keys, strict=False):
        command = command.replace(name, key)
    *words, name = shlex.split(command.replace("$P", PROMPT))
    return [*words, str(folder / name.replace(".svg", ".html"))]


def test_every_row_has_its_command():
    rows = [line for line in FIGURES.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(COMMANDS)


@pytest.mark.real
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_table_writes_its_figure(run, tmp_path, command):
    words = arguments(command, tmp_path)
    status, _, error = run(*words)
    assert status == 0, error
    assert Path(words[-1]).stat().st_size > 10_000
