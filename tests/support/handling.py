"""How tests use a page: its buttons, its jobs, and the numbers that its figures were sent."""

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from screen import unpacked, words
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button
from waiting import until

from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store


def labels(app: AppTest) -> list[str]:
    """What all buttons say."""
    return [one.label for one in app.button]


def button(app: AppTest, label: str) -> Button:
    """The button that says this, or else the one that begins so."""
    found = [one for one in app.button if one.label == label]
    (one, *_) = found or [one for one in app.button if one.label.startswith(label)]
    return one


def press(app: AppTest, label: str) -> AppTest:
    """The page after a click."""
    button(app, label).click().run()
    assert not app.exception
    return app


def settled(app: AppTest) -> AppTest:
    """The page once the queue is empty."""
    from explorer.asking.queue import queue

    until(lambda: not queue().active())
    app.run()
    assert not app.exception
    return app


def numbers(sent: Any) -> np.ndarray:
    """Numbers of a figure, which travel as binary or as a list."""
    return unpacked(sent) if isinstance(sent, dict) else np.array(sent, float)


def trace(figure: dict[str, Any], name: str) -> dict[str, Any]:
    """The trace whose name begins so."""
    (found,) = [one for one in figure["data"] if one.get("name", "").startswith(name)]
    return found


def shipped(request: Request) -> Result:
    """The result that ships for a request."""
    found = Store().find(request, resolve(request).identity)
    assert found is not None
    return found


def ran(program: str) -> tuple[dict[str, Any], str]:
    """What a recipe has at its end, and what it printed."""
    has: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(program, has)
    return has, printed.getvalue()


def plain_words(app: AppTest) -> str:
    """All captions, texts and headings, as a reader sees them."""
    return words(app).replace("\\", "")


def boxes(app: AppTest) -> list[str]:
    """What a page says went wrong or was left out, and what it lacks."""
    found = (*app.error, *app.warning, *app.info)
    return [f"{box.type}: {box.value}".replace("\\", "") for box in found]
