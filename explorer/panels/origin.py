"""Whose numbers a figure has: on its picture, in the names of its files, and in its table."""

import html
import textwrap
from typing import TYPE_CHECKING, NamedTuple

import plotly.graph_objects as go

from coupling_core.analysis.compare import Comparison
from coupling_core.analysis.exports import file_name, signed, signed_differences
from coupling_core.base.records import AnyView, View
from coupling_core.base.results import Result

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

LETTERS = 64
"""Letters of a line below a picture: those that fit below a map in a third of the page."""


class Shown(NamedTuple):
    """What a figure is of: a result, and how it is looked at."""

    result: Result
    view: AnyView


Origin = Shown | Comparison | None
"""None where a figure names its sources itself."""


def lines(figure: go.Figure, of: Origin) -> str:
    """Model, prompt and K in two lines, for the picture."""
    match of:
        case None:
            told = textwrap.wrap(figure.layout.meta.get("source", ""), LETTERS)[:2]
        case Comparison():
            told = [f"{side}: {_in_a_line(each)}" for side, each in _sides(of).items()]
        case Shown(result, view):
            told = [f"{result.subject}{_k(view)}"]
            told.append("“" + _short(result.prompt_text, LETTERS) + "”")
    return "<br>".join(html.escape(line) for line in told)


def file(of: Origin, name: str, ending: str) -> str:
    """What a figure's file is called."""
    match of:
        case None:
            return name + ending
        case Comparison():
            what = f"with {of.b.model_name} {name}"
            return file_name(of.a, of.view, what, ending)
        case Shown(result, view):
            return file_name(result, view, name, ending)


def signed_table(table: "DataFrame", of: Origin) -> "DataFrame":
    """A figure's table with columns that say whose it is."""
    match of:
        case None:
            return table
        case Comparison():
            return signed_differences(table, of)
        case Shown(result, view):
            return signed(table, result, view)


def source(of: Origin) -> tuple[Result, AnyView] | tuple[()]:
    """The one result that a figure is of, with its view; () where it names its sources itself."""
    return tuple(of) if isinstance(of, Shown) else ()


def _sides(found: Comparison) -> dict[str, Shown]:
    return {"A": Shown(found.a, found.view), "B": Shown(found.b, found.view)}


def _in_a_line(shown: Shown) -> str:
    told = f"{shown.result.model_name}{_k(shown.view)}, "
    return f"{told}“{_short(shown.result.prompt_text, max(12, LETTERS - len(told)))}”"


def _k(view: AnyView) -> str:
    return f", K = {view.k}" if isinstance(view, View) else ""


def _short(text: str, letters: int) -> str:
    return textwrap.shorten(text, letters, placeholder=" …")
