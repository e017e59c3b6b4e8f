"""Texts of tokens, short and visible, as plotly draws them."""

from html import escape

from coupling_core.base.units import cut
from coupling_core.sources.tokens import visible


def short(text: str, longest: int = 14) -> str:
    """A token's text on one line; a long one is cut."""
    seen = visible(text)
    return escape(cut(seen, longest), quote=False)


def label(text: str) -> str:
    """A token's text on one line, without the spaces before it."""
    return short(text.strip(" ") or text)


def numbered(number: int, text: str) -> str:
    """A token on an axis: its text, cut short, and its number."""
    return f"{short(text, 10)} {number}"
