"""Texts of tokens, short and visible, as plotly draws them."""

import html

LONGEST = 14


def label(text: str) -> str:
    """A token's text on one line: signs for line breaks, tabs and emptiness, a long one cut."""
    visible = text.replace("\n", "⏎").replace("\t", "⇥").strip() or ("␣" if text else "∅")
    short = visible if len(visible) <= LONGEST else visible[: LONGEST - 1] + "…"
    return html.escape(short, quote=False)
