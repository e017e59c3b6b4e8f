"""What the documents say is so: commands run as they stand, tables name every key, names exist."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import coupling_core
from coupling_core import PromptSource, Store
from coupling_core.experiments.sweeps.definition import Models, Slurm, Sweep
from coupling_core.experiments.sweeps.table import COLUMNS
from coupling_core.sources.prompts import BENCHMARKS

ROOT = Path(__file__).parents[2]
FIGURES = (ROOT / "docs" / "figures.md").read_text()
SWEEPS = (ROOT / "docs" / "sweeps.md").read_text()
PROMPT = re.search(r'`(--prompt "[^"]*")`', FIGURES)[1]
COMMANDS = re.findall(r"`coupling ([^`]*--out [^`]*)`", FIGURES)


def arguments(command: str, folder: Path) -> list[str]:
    """What comes after `coupling`, with HTML in place of SVG, which needs no Chromium."""
    keys = [entry.key for entry in Store().entries() if entry.read_only and "-v24" in entry.key]
    for name, key in zip(("KEY1", "KEY2"), keys, strict=False):
        command = command.replace(name, key)
    command = command.replace("$P", PROMPT).replace("--image ", f"--image {ROOT}/")
    *words, name = shlex.split(command)
    return [*words, str(folder / name.replace(".svg", ".html"))]


def test_every_row_has_its_command():
    rows = [line for line in FIGURES.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(COMMANDS)


@pytest.mark.real
@pytest.mark.parametrize(
    "command",
    [
        # A representative third by default, and all in `make test-slow`.
        pytest.param(command, marks=() if number % 3 == 0 else pytest.mark.slow)
        for number, command in enumerate(COMMANDS)
    ],
)
def test_a_command_of_the_table_writes_its_figure(run, tmp_path, command):
    words = arguments(command, tmp_path)
    status, _, error = run(*words)
    assert status == 0, error
    assert Path(words[-1]).stat().st_size > 10_000


@pytest.mark.parametrize("name", coupling_core.__all__)
def test_every_public_name_is_there(name):
    assert getattr(coupling_core, name) is not None


def test_what_is_slow_is_imported_when_it_is_asked_for():
    slow = ("torch", "scipy", "pandas", "distributed")
    program = (
        f"import sys, json, coupling_core; print(json.dumps([n in sys.modules for n in {slow}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not any(json.loads(done.stdout))


def named(text: str) -> set[str]:
    """What stands in code in the first cells of the tables of a text."""
    cells = (line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    return {name.strip("[]") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize(
    ("begin", "end", "keys"),
    [
        ("## What the file may say", "In `[[models]]`", list(Sweep.model_fields)),
        ("In `[[models]]`", "In `[[prompts]]`", list(Models.model_fields)),
        ("In `[[prompts]]`", "In `[slurm]`:", [field.name for field in fields(PromptSource)]),
        ("In `[slurm]`:", "## Prompts", list(Slurm.model_fields)),
        ("## Prompts", "## Models", list(BENCHMARKS)),
        ("## What comes of it", "## How large", list(COLUMNS)),
        (
            "## The sweeps that come",
            "Each says",
            [path.name for path in (ROOT / "sweeps").glob("*.toml")],
        ),
    ],
    ids=["sweep", "models", "prompts", "slurm", "data sets", "columns", "files"],
)
def test_a_table_on_sweeps_names_every_key_and_no_other(begin, end, keys):
    text = SWEEPS[SWEEPS.index(begin) :]
    assert named(text[: text.index(end)]) == set(keys)
