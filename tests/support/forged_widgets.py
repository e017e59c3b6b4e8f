"""Values of widgets as no browser sends them: of any type, for any widget, in any number."""

import json
from collections.abc import Iterator

from streamlit.proto.WidgetStates_pb2 import WidgetState
from wire import Visitor

REFUSED = "a control sent a value that it does not offer"
_SELECTED = {"rows": [99999], "points": [{"customdata": ["x", {}]}], "columns": ["q"], "cells": []}
TEXTS = (
    *("", "nonsense", "x" * 20_000, "[]", "null", "7", "{", '{"a": 1}', "1e999"),
    *(
        json.dumps(forged)
        for forged in (
            {"selection": _SELECTED},
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
"""A widget is sent one value in so many, and the next widget the next ones: a page has dozens."""


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


def exceptions(visitor: Visitor) -> list[str]:
    """What went wrong on the page."""
    return [f"{one.type}: {one.message}" for one in visitor.elements("exception")]
