"""A page, as its frame and the other pages know it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from explorer.asking.picker import picker
from explorer.session.state import State

GROUPS = ("Learn", "One prompt", "Why", "Many models", "Yours")
"""Of pages, as the navigation names them, in its order."""


@dataclass(frozen=True)
class Page:
    """A page.

    Args:
        title: by which people know it.
        file: that Streamlit runs: its number gives the order, its name the page's address.
        group: one of `GROUPS`, under which the navigation has it.
        state: what of it a link carries.
        kinds: of results, which it shows.
        guide: how its figures are read, in Markdown; empty where it has none.
        picker: draws what chooses the model in the sidebar; None where the page is about no one
            model and no one prompt, and has no such controls.
        asks_k: whether the sidebar asks for K.
        asks_twin: whether it has the switch of the untrained twin, which other pages have beside
            their figures.
        takes_lists: whether it shows a list of prompts as a whole.
    """

    title: str
    file: str
    group: str = "One prompt"
    state: type[State] = State
    kinds: tuple[str, ...] = ()
    guide: str = ""
    picker: Callable[[], None] | None = picker
    asks_k: bool = True
    asks_twin: bool = True
    takes_lists: bool = False

    @property
    def address(self) -> str:
        """Its part of the app's address."""
        number, _, name = PurePath(self.file).stem.partition("_")
        return name if number.isdigit() else ""
