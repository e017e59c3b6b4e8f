"""Texts of tokens, short and visible, as plotly draws them."""

from html import escape

from coupling_core.tokens import visible

LONGEST = 14


def label(text: str) -> str:
    """A token's text on one line, without the spaces before it; a long one is cut."""
    seen = visible(text.strip(" ") or text)
    return escape(seen if len(seen) <= LONGEST else seen[: LONGEST - 1] + "…", quote=False)
