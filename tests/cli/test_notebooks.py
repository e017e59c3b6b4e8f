"""The notebooks run as they stand, say what they said, and leave the user's store alone."""

import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MOST = 300_000
"""Bytes of a notebook with its outputs."""
TRAINS = "own_model"
"""The one that trains a model, whose numbers differ from machine to machine."""


def cells(notebook, kind):
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def printed(notebook):
    """What each cell prints, in one piece: a kernel may send a line's end on its own."""
    streams = [
        [out.text for out in cell.outputs if out.output_type == "stream"]
        for cell in cells(notebook, "code")
    ]
    return ["".join(texts) for texts in streams]


def test_notebooks_are_small_complete_and_of_no_machine():
    assert [path.stem for path in NOTEBOOKS] == ["first_look", "many_models", TRAINS, "what_if"]
    for path in NOTEBOOKS:
        text, notebook = path.read_text(), nbformat.read(path, as_version=4)
        assert len(text.encode()) < MOST, path.name
        code = cells(notebook, "code")
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
        assert not re.search(r"/home/|/work/|/tmp/|site-packages", text), path.name
        for cell in cells(notebook, "markdown"):
            links = re.findall(r"\]\(([^)#\s]+)", cell.source)
            assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_it_said(path, tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)
    theirs = tmp_path / "store"
    monkeypatch.setenv("COUPLING_STORE", str(theirs))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads that wait for a busy core wait long
    again = notebooks.ran(path)
    assert not theirs.exists() or not list(theirs.rglob("*.safetensors"))
    if path.stem != TRAINS:
        assert printed(again) == printed(nbformat.read(path, as_version=4))
