"""Texts of others on a page: what they mean to Markdown is taken from them."""

import re

from coupling_core.base import units
from coupling_core.base.records import Request

_MARKS = re.compile(r"([\\`*_\[\]<>$~&#|])")
_READ_IN_TEXT = re.compile(
    r":(?=[a-z]|[\w+-]+:)"  # emoji, icons, colours
    r"|https?:(?!//huggingface\.co/)|www(?=\.)",  # links, but to where models are asked for
    re.IGNORECASE,
)
"""What Streamlit looks for once Markdown's own marks are gone: no backslash keeps it from that."""
_JOINER = "\u2060"
"""Is not seen, and joins what is on both sides."""


def plain(text: str) -> str:
    """A text as Markdown that shows every character of it, in one line."""
    marked = _MARKS.sub(r"\\\1", " ".join(text.splitlines()))
    return _READ_IN_TEXT.sub(rf"\g<0>{_JOINER}", marked)


def sentence(error: Exception | str) -> str:
    """An error as a sentence."""
    text = str(error)
    return plain(text[:1].upper() + text[1:]) + ("" if text.endswith((".", "!", "?")) else ".")


def weights_form(request: Request) -> str:
    """Which weights of a model are measured, and in what form; "" for all of them as they are."""
    parts = (
        f"the {request.stack}" if request.stack else "",
        f"weights rounded to {request.dtype}" if request.dtype != Request.dtype else "",
        f"quantised to {request.quantize}" if request.quantize else "",
    )
    return ", ".join(filter(None, parts))


def rounded(number: float, digits: int = 3) -> str:
    """A number to so many digits, without the sign of a zero; a dash where there is none."""
    return "-" if number != number else units.rounded(number, digits)
