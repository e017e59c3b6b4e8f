"""A bar in a terminal, and in a notebook that has no widgets."""

import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from coupling_core.base.bars import Bar

CELL = """
import coupling_core as cc
from coupling_core.base.bars import Bar, is_watched
assert is_watched()
from coupling_core.measuring.watched import watched
from coupling_core.base.results import Progress
with watched(None) as report:
    for done in range(9):
        report(Progress("blocks", done, 8, note="this takes long" * (done == 3)))
"""


def test_a_bar_says_where_it_stands_and_goes(capsys):
    bar = Bar()
    bar.show(0, 0, "tracing")
    bar.show(2, 8, "blocks")
    bar.say("this takes long")
    bar.end()
    told = capsys.readouterr()
    assert told.out == ""
    assert "tracing" in told.err
    assert "2/8" in told.err
    assert "this takes long\n" in told.err
    assert told.err.rsplit("\r", 2)[1].strip() == ""


@pytest.mark.full
def test_a_notebook_shows_it_as_text_on_stderr_alone():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(notebook, timeout=180, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert {(one.output_type, one.name) for one in outputs} == {("stream", "stderr")}
    text = "".join(one.text for one in outputs)
    assert "8/8" in text
    assert "ipywidgets" not in text


@pytest.mark.full
def test_nobody_is_shown_one_who_does_not_look():
    unseen = CELL.replace("assert ", "assert not ")
    shown = subprocess.run([sys.executable, "-c", unseen], capture_output=True, check=True)
    assert shown.stdout + shown.stderr == b""
