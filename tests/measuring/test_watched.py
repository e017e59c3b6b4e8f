"""A call shows how far it is where somebody watches, and takes the bar away at its end."""

import pytest

from coupling_core import ablate, jacobian, measure, read_out, steer
from coupling_core.base.results import Progress
from coupling_core.measuring.watched import watched

IDS = (3, 1, 4, 1, 5)


@pytest.fixture
def terminal(monkeypatch):
    """One on stderr, in which rich would draw."""
    monkeypatch.setenv("FORCE_COLOR", "1")


@pytest.fixture(scope="module")
def found(llama):
    return measure(IDS, kind="directions", model=llama)


CALLS = {
    "measure": lambda m, found, how: measure(IDS, kind="trajectory", model=m, **how),
    "jacobian": lambda m, found, how: jacobian(m, IDS, block=1, **how),
    "steer": lambda m, found, how: steer(found, block=1, model=m, **how),
    "ablate": lambda m, found, how: ablate(found, model=m, **how),
    "read_out": lambda m, found, how: read_out(found, found.u[0], model=m, **how),
}


def test_a_slow_call_shows_a_bar_in_a_terminal(terminal, llama, found, capsys):
    silent, loud = [], []
    for name, call in CALLS.items():
        call(llama, found, {})
        told = capsys.readouterr()
        silent += [name] * ("tracing" not in told.err)
        loud += [name] * bool(told.out)
    assert (silent, loud) == ([], [])


def test_nothing_is_shown_where_no_terminal_is_and_who_watches_is_told(llama, found, capsys):
    CALLS["measure"](llama, found, {})
    for call in CALLS.values():
        stages = []
        call(llama, found, {"progress": lambda at, stages=stages: stages.append(at.stage)})
        assert "tracing" in stages
    assert "".join(capsys.readouterr()) == ""


@pytest.mark.parametrize("progress", [False, lambda at: None])
def test_a_terminal_stays_empty_where_that_is_said(terminal, llama, found, progress, capsys):
    measure(IDS, k=4, model=llama, progress=progress)
    assert "".join(capsys.readouterr()) == ""


def test_json_logs_have_no_bar_between_them_but_a_line_now_and_then(terminal, monkeypatch, capsys):
    monkeypatch.setattr("coupling_core.base.logs.are_json", lambda: True)
    monkeypatch.setattr("coupling_core.base.bars.APART", 0.0)
    with watched(None) as report:
        report(Progress("blocks", 2, 8))
    assert "".join(capsys.readouterr()) == "blocks: 2 of 8\n"


def test_the_next_call_has_a_bar_after_one_that_failed(terminal, capsys):
    with pytest.raises(RuntimeError), watched(None):
        raise RuntimeError
    with watched(None) as report:
        assert report is not None
