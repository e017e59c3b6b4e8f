"""Texts of others on a page: what they mean to Markdown is taken from them."""

import re

_MARKS = re.compile(r"([\\`*_\[\]<>$~])")


def plain(text: str) -> str:
    """A text as Markdown that shows every character of it."""
    return _MARKS.sub(r"\\\1", text)


def sentence(error: Exception | str) -> str:
    """An error as a sentence."""
    text = str(error)
    return plain(text[:1].upper() + text[1:]) + ("" if text.endswith((".", "!", "?")) else ".")
