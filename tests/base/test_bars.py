"""A bar in a terminal, and in a notebook that has no widgets; and how long the rest will take."""

import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from coupling_core.base.bars import Bar, Pace

CELL = """
import coupling_core as cc
from coupling_core.base.bars import is_watched
assert is_watched()
from coupling_core.measuring.watched import watched
from coupling_core.base.results import Progress
with watched(None) as report:
    for done in range(9):
        report(Progress("blocks", done, 8, note="this takes long" * (done == 3)))
"""


def test_a_bar_says_where_it_stands_and_goes(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Bar() as bar:
        bar.show(0, 0, "tracing")
        bar.show(2, 8, "blocks")
        bar.note("this takes long")
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


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_neither_loading_nor_the_first_wait_nor_a_stored_answer_counts():
    clock = Clock()
    pace = Pace(3, clock=clock)
    for wait in (1000, 100):
        clock.now += wait
        pace.begin()
    pace.step(computed=True)
    assert pace.words() == "prompt 2 of 3, about 3 min"
    pace = Pace(4, clock=clock, of="measurement", starts_slowly=True)
    for wait, told in ((1000, "2 of 4"), (60, "3 of 4, about 2 min")):
        clock.now += wait
        pace.step()
        assert pace.words() == f"measurement {told}"
    pace = Pace(10, clock=clock)
    clock.now += 60
    pace.step(computed=False)
    assert pace.words() == "prompt 2 of 10"


def test_of_those_at_work_side_by_side_each_is_half_done():
    clock = Clock()
    pace = Pace(11, done=1, clock=clock)
    pace.begin()
    clock.now += 120
    pace.step(computed=True)
    # Two at work besides the next are one more that is done: 60 seconds each, 9 are left.
    assert pace.words(beside=2) == "prompt 2 of 11, about 9 min"
