"""States, Jacobians and singular values in a sentence, with their indices set as such."""

import re
from collections.abc import Callable

_INDEXED = re.compile(r"\b(x|J|s)([\^_])(\d+|[lkK]|\([lkK] ?[-+] ?1\))(?!\w)")
"""Such as x^30, J^l and s_(K+1), as captions write them: a screen reader says them too."""


def in_tex(text: str, plain: Callable[[str], str]) -> str:
    """The sentence as Markdown, with TeX for what has an index.

    Args:
        text: the sentence.
        plain: makes Markdown of the rest.
    """
    parts, end = [], 0
    for found in _INDEXED.finditer(text):
        letter, mark, index = found.groups()
        parts += [plain(text[end : found.start()]), f"${letter}{mark}{{{index.strip('()')}}}$"]
        end = found.end()
    return "".join((*parts, plain(text[end:])))


def in_html(text: str) -> str:
    """The sentence, whose marks are escaped already, as plotly writes it."""

    def of(found: re.Match[str]) -> str:
        letter, mark, index = found.groups()
        name = "sup" if mark == "^" else "sub"
        return f"{letter}<{name}>{index.strip('()')}</{name}>"

    return _INDEXED.sub(of, text)
