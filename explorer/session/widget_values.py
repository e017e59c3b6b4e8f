"""What a client says that widgets hold, checked where it is read: it may say anything.

A browser sends what its widgets offer. A program that speaks to the websocket may send any value
of any type for any widget, and Streamlit takes it as it comes.
"""

from contextlib import suppress
from typing import Any

from streamlit.runtime.state.session_state import Serialized, Value, WStates

from explorer.session.session import tell

_NONE_OF_ITS = "a control sent a value that it does not offer, and is as it was"

_ALSO = {"double_value": "int_value"}
"""What a browser sends besides: of a widget for numbers a whole one as such."""

_read = WStates.__getitem__


def guard() -> None:
    """Have every value checked that a client sends; as often as one likes."""
    WStates.__getitem__ = _checked  # type: ignore[method-assign]


def picked_rows(widget: Any, count: int) -> list[int]:
    """The rows that are selected in a table of so many; none where it makes no sense."""
    match widget:
        case {"selection": {"rows": [*rows]}}:
            chosen = [row for row in rows if type(row) is int and 0 <= row < count]
            return list(dict.fromkeys(chosen))
    return []


def picked_row(widget: Any, count: int) -> int | None:
    """The one row that is selected in a table of so many; None where it has no such row."""
    match widget:
        case {"selection": {"rows": [int(row)]}} if type(row) is int and 0 <= row < count:
            return row
    return None


def _checked(states: WStates, key: str) -> Any:
    """The value of a widget; its default where what was sent is none that it has."""
    sent, widget = states.states.get(key), states.widget_metadata.get(key)
    if not isinstance(sent, Serialized) or widget is None:
        return _read(states, key)
    if sent.value.WhichOneof("value") in (None, widget.value_type, _ALSO.get(widget.value_type)):
        with suppress(Exception):  # whatever Streamlit makes of a value that no browser sends
            return _read(states, key)
    tell(_NONE_OF_ITS)
    found = widget.deserializer(None)
    states[key] = Value(found)
    return found
