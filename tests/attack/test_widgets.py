"""Widget values as no browser sends them: of any type, for any widget, in any number."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import ROOT, App, serving
from streamlit.proto.WidgetStates_pb2 import WidgetState
from wire import Visitor, visiting

from explorer.session.widget_values import picked_row

PAGES = ["", *(path.stem.partition("_")[2] for path in sorted(ROOT.glob("pages/*.py")))]
REFUSED = "a control sent a value that it does not offer"
SELECTED = {"rows": [99999], "points": [{"customdata": ["x", {}]}], "columns": ["q"], "cells": []}
TEXTS = (
    *("", "nonsense", "x" * 20_000, "[]", "null", "7", "{", '{"a": 1}', "1e999"),
    *(
        json.dumps(forged)
        for forged in (
            {"selection": SELECTED},
            {"selection": {"rows": ["a"], "points": [{}]}},
            {"selection": {"rows": [True], "points": 7}},
            {"selection": None},
            [{"event": "picked", "value": [0, -1, "x", None]}],
            [{"event": "picked", "value": {"0": 3}}, {"event": 7}, 5],
            {"picked": [3, [4]]},
            {"at": {"step": "x", "pace": 7}},
            {"edited_rows": {"99": {"x": 1}}, "added_rows": [7], "deleted_rows": ["a"]},
            {"edited_rows": [], "added_rows": {}, "deleted_rows": 3},
        )
    ),
)


SHARES = 6
"""A widget is sent one text in so many, and the next widget the next ones: a page has dozens."""


def forged(widget: str, texts: tuple[str, ...] = TEXTS) -> Iterator[WidgetState]:
    """Values of every type that a message has room for."""
    yield WidgetState(id=widget, trigger_value=True)
    yield WidgetState(id=widget, bool_value=True)
    for number in (1e300, float("nan"), -5.5):
        yield WidgetState(id=widget, double_value=number)
    for number in (2**62, -3):
        yield WidgetState(id=widget, int_value=number)
    for text in texts:
        yield WidgetState(id=widget, string_value=text)
        yield WidgetState(id=widget, json_value=text)
        yield WidgetState(id=widget, json_trigger_value=text)
    yield WidgetState(id=widget, double_array_value={"data": [1e300, float("nan")]})
    yield WidgetState(id=widget, int_array_value={"data": [7, -1, 2**40]})
    yield WidgetState(id=widget, string_array_value={"data": ["nonsense", "*b*"]})
    yield WidgetState(id=widget, string_array_value={})
    yield WidgetState(id=widget, arrow_value={"data": b"junk"})
    yield WidgetState(id=widget, bytes_value=b"\xff\0")
    file = {"file_id": "x", "name": "../../x", "size": 5}
    yield WidgetState(id=widget, file_uploader_state_value={"uploaded_file_info": [file]})
    yield WidgetState(id=widget, string_trigger_value={"data": "x"})
    yield WidgetState(id=widget, chat_input_value={"data": "x"})


@pytest.mark.parametrize(
    ("held", "row"),
    [
        ({"selection": {"rows": [2]}}, 2),
        *(
            ({"selection": {"rows": rows}}, None)
            for rows in ([3], [-1], [True], ["1"], [1.0], [0, 1], [], None, 7, {"0": 1})
        ),
        *((held, None) for held in (None, {}, [], "x", {"selection": None}, {"selection": [1]})),
    ],
)
def test_a_row_is_taken_only_where_there_is_one(held: object, row: int | None) -> None:
    assert picked_row(held, 3) == row


def exceptions(visitor: Visitor) -> list[str]:
    return [f"{one.type}: {one.message}" for one in visitor.elements("exception")]


@pytest.mark.parametrize("page", ["", "Runs"])
def test_no_value_of_any_type_raises_for_all_widgets_at_once(demo: App, page: str) -> None:
    with visiting(demo.url) as visitor:
        visitor.open(page)
        widgets = list(visitor.widgets)
        assert len(widgets) > 10
        told = 0
        for states in zip(*(forged(widget, TEXTS[9:11]) for widget in widgets), strict=True):
            visitor.send(*states)
            assert not exceptions(visitor)
            told += any(REFUSED in text for text in visitor.texts())
        assert told > 10


@pytest.fixture(scope="module")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Where nobody is a stranger: every widget that there is."""
    folder: Path = tmp_path_factory.mktemp("home")
    with serving(folder / "store", folder / "log.txt") as served:
        yield served


def unfold(visitor: Visitor, page: str) -> None:
    """Open a page with all that is folded away on it."""
    visitor.open(page)
    folds = [widget for widget, kind in visitor.widgets.items() if kind == "expandable"]
    visitor.send(*(WidgetState(id=fold, bool_value=True) for fold in folds))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_no_value_of_any_type_raises_for_any_widget(at_home: App, page: str) -> None:
    raised = []
    with visiting(at_home.url) as visitor:
        unfold(visitor, page)
        widgets = dict(visitor.widgets)
    for number, (widget, kind) in enumerate(widgets.items()):
        with visiting(at_home.url) as visitor:
            unfold(visitor, page)
            for state in forged(widget, TEXTS[number % SHARES :: SHARES]):
                visitor.send(state)
                found = exceptions(visitor)
                raised += [f"{kind} {widget[-30:]} {str(state)[:200]}: {one}" for one in found]
                if found:
                    unfold(visitor, page)
    assert not raised
