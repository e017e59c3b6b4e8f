"""Captions and alternative texts: what a figure shows and how it is read, in sentences."""

import re
import textwrap
from collections.abc import Callable
from html import escape

import numpy as np

from coupling_core.analysis.scores import definition_name
from coupling_core.base.records import AnyView, View
from coupling_core.base.results import Result
from coupling_core.base.units import counted, cut, rounded
from coupling_core.base.wording import sentences
from coupling_core.sources.aliases import terms_of
from coupling_core.sources.tokens import visible

_INDEXED = re.compile(r"\b(x|J|s)([\^_])(\d+|[lkK]|\([lkK] ?[-+] ?1\))(?!\w)")
"""Such as x^30, J^l and s_(K+1), as captions write them: a screen reader says them too."""


def provenance(result: Result, view: AnyView, whose: str = "") -> str:
    """Where a figure comes from, in one line: model, tokens, K, definition, versions.

    `whose` stands for the model and what was measured, where it is of more than one.
    """
    prompt = textwrap.shorten(result.prompt_text, 60, placeholder=" …")
    versions = result.provenance.get("versions", {})
    return " · ".join(
        sentences(
            whose or result.subject,
            f"prompt of {counted(len(result.tokens), 'token')}{_put_first(result)}: “{prompt}”",
            *((f"K = {view.k}", definition_name(view)) if isinstance(view, View) else ()),
            result.final_norm_words,
            result.precision,
            terms_of(result.identity),
            (result.svds, "SVDs certified" if result.certified else "SVDs not all certified"),
            ", ".join(f"{name} {version}" for name, version in versions.items()),
        )
    )


def _put_first(result: Result) -> str:
    """The token before the text, if the tokenizer has put one there."""
    first, rest, text = result.tokens[0], "".join(result.tokens[1:]), result.prompt_text
    alike = "".join(rest.split()) == "".join(text.split()) != ""  # some tokenizers drop blanks
    return f", {first!r} first" if alike else ""


def verdict(result: Result, view: AnyView, *more: str) -> str:
    """What is found in a view, in a sentence or two, and where it comes from."""
    found = "Not all is measured yet."
    if result.complete:
        found = result.part("views").verdict(result, view, *more)
    return f"{found} {provenance(result, view)}"


def zero_words(is_corrected: bool, floor: float) -> str:
    """What an unrelated basis scores; the mean floor is NaN where none is measured yet."""
    if is_corrected:
        return "0 is what an unrelated basis gives"
    value = "" if np.isnan(floor) else f", {rounded(floor)} in the mean"
    return f"an unrelated basis gives the chance floor{value}, and not 0"


def leading(k: int, side: int) -> str:
    """Which triplets a matrix shows."""
    return f"K = {k}" if side >= k else f"leading {side} of K = {k}"


def in_tex(text: str, plain: Callable[[str], str]) -> str:
    """The sentence as Markdown, which `plain` makes of what has no index, and TeX of the rest."""
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


def short(text: str, longest: int = 14) -> str:
    """A token's text on one line; a long one is cut."""
    return escape(cut(visible(text), longest), quote=False)


def label(text: str) -> str:
    """A token's text on one line, without the spaces before it."""
    return short(text.strip(" ") or text)


def numbered(number: int, text: str) -> str:
    """A token on an axis: its text, cut short, and its number."""
    return f"{short(text, 10)} {number}"
