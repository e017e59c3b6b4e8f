"""All that a page draws, for the one file that has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.figures.document import document, drawing, paragraph

_WHOLE = "_whole"

Drawn = tuple[go.Figure, tuple[Result, AnyView] | tuple[()]]
"""A figure, and what it is of: nothing where it names that itself."""


@dataclass
class Whole:
    """What one run of a page has drawn so far.

    Args:
        title: of the page.
        of: the one result that it is about, and how that is looked at, where there is one.
        sentences: what it says of its figures, as text.
        figures: by their names, each with what it is of; nothing where it names that itself.
        places: of them on the page, as Streamlit counts the parts within parts.
    """

    title: str = ""
    of: tuple[Result, AnyView] | None = None
    sentences: list[str] = field(default_factory=list)
    figures: dict[str, Drawn] = field(default_factory=dict)
    places: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def from_the_top(self) -> dict[str, Drawn]:
        """The figures as they stand on the page, which may be drawn in another order."""
        names = sorted(self.figures, key=lambda name: self.places.get(name, ()))
        return {name: self.figures[name] for name in names}

    def file(self) -> bytes:
        """All of it as one HTML file, which needs no network: each figure says where it is from."""
        parts = [paragraph(sentence) for sentence in self.sentences]
        if self.of:
            result, view = self.of
            parts.append(paragraph(result.verdict_in(view)))
        for figure, shown in self.from_the_top.values():
            parts += [paragraph(figure.layout.meta["alt"]), drawing(figure, *shown)]
        return document(self.title, parts)


def place_of(container: DeltaGenerator) -> tuple[int, ...]:
    """Where a container stands on the page: what is above it comes before it, compared so."""
    cursor = container._cursor
    return cursor.parent_path if cursor else ()


def begin(title: str) -> None:
    """Forget what the last run has drawn; the first thing a page does, and a part of one."""
    st.session_state[_WHOLE] = Whole(title)


def whole() -> Whole:
    """What this run has drawn, and will have: it is filled as the page goes on."""
    return st.session_state.setdefault(_WHOLE, Whole())


def drawn_in(state: Mapping[str, Any]) -> Whole:
    """What the page of a session has drawn; nothing where it did not begin."""
    return state[_WHOLE] if _WHOLE in state else Whole()
