"""What widgets hold before the browser has taken in what they show.

A reader who clicks at once sends back what all widgets began with; were that not what they show,
the click would undo what was chosen.
"""

from typing import Any

import pytest
from screen import PAGES, Open
from streamlit.testing.v1 import AppTest

LOOKED_AT = {
    "a model and a prompt of one's own": {
        "model": "some-org/some-model", "rev": "side", "prompt": "Something of my own", "k": "40",
        "blocks": "9-16", "threshold": "0.3", "layout": "circle", "def": "directions",
    },
    "a checkpoint and a list": {
        "model": "mini-64", "rev": "step64", "k": "8", "step": "64", "list": "shipped", "nth": "3",
        "raw": "1", "fit": "each", "role": "B",
    },
}  # fmt: skip


def begins_otherwise(app: AppTest) -> list[str]:
    """The labels of widgets that begin with something else than what they show."""
    protos = [node.proto for node in app._tree if hasattr(node, "proto")]
    told = [proto for proto in protos if getattr(proto, "set_value", False)]
    return [proto.label for proto in told if shown_by(proto) != begun_with(proto)]


def shown_by(proto: Any) -> list[object]:
    """What a widget is told to show."""
    fields = proto.DESCRIPTOR.fields_by_name
    given = [getattr(proto, one) for one in ("raw_values", "raw_value", "value") if one in fields]
    return next(filter(None, map(listed, given)), [])


def begun_with(proto: Any) -> list[object]:
    """What it begins with; where it has options, their names and not their numbers."""
    default = listed(proto.default)
    if "options" not in proto.DESCRIPTOR.fields_by_name or not proto.options:
        return default
    names = [getattr(option, "content", option) for option in proto.options]
    if proto.DESCRIPTOR.fields_by_name["default"].has_presence and not proto.HasField("default"):
        return []
    return [names[int(n)] for n in default]


def listed(given: Any) -> list[object]:
    """One value or several, but for an empty text."""
    several = [given] if isinstance(given, str | bool | int | float) else list(given)
    return [one for one in several if one != ""]


@pytest.mark.parametrize("link", LOOKED_AT.values(), ids=LOOKED_AT)
@pytest.mark.parametrize("title", PAGES)
def test_every_widget_begins_with_what_it_shows(
    open_page: Open, title: str, link: dict[str, str]
) -> None:
    assert begins_otherwise(open_page(title, **link)) == []
