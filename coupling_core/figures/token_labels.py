"""Texts of tokens, short and visible, as plotly draws them."""

from html import escape

from coupling_core.sources.tokens import visible

LONGEST = 14


def short(text: str, longest: int = LONGEST) -> str:
    """A token's text on one line; a long one is cut."""
    seen = visible(text)
    return escape(seen if len(seen) <= longest else seen[: longest - 1] + "…", quote=False)


def label(text: str) -> str:
    """A token's text on one line, without the spaces before it."""
    return short(text.strip(" ") or text)
