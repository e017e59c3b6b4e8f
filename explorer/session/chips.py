"""A prompt as its tokens: their texts in a row, special ones and the measured one marked."""

from html import escape
from typing import Any

import streamlit as st

from coupling_core.base.images import is_image
from coupling_core.base.kinds import kind_of
from coupling_core.base.results import Result
from coupling_core.sources.tokens import visible
from explorer.server import backend
from explorer.session.plain_text import plain
from explorer.session.session import bound

LONGEST = 16
"""Characters of a token on a chip that can be clicked."""
MOST = 64
"""Tokens shown; of a longer prompt the middle is left out, so that the page stays light."""

_STYLE = """<style>
.tokens { line-height: 2; font-size: .92rem; overflow-wrap: anywhere }
.tokens span { white-space: pre-wrap; padding: .1rem .05rem; margin-right: 2px;
  border-bottom: 2px solid color-mix(in srgb, currentColor 25%, transparent) }
.tokens .special { font-style: italic; opacity: .7; border-bottom-style: dotted }
.tokens .measured { font-weight: 600; border-bottom-color: var(--st-primary-color, #c8431d) }
.tokens .aside { border: none; opacity: .75 }
</style>"""


def tokens(
    texts: tuple[str, ...],
    measured: int,
    special: tuple[bool, ...] = (),
    next_tokens: tuple[tuple[str, float], ...] = (),
    lead: str = "then most likely",
) -> None:
    """Show the tokens of a prompt.

    Args:
        texts: token texts.
        measured: number of the token measured, 1..n; 0 where all are.
        special: whether each was added by the tokenizer; empty where that is not known.
        next_tokens: the model's predictions after the measured token, with probabilities.
        lead: the words before the first of them.
    """
    special = special or (False,) * len(texts)
    shown, previous = [], -1
    for i in _positions(len(texts), measured):
        if i > previous + 1:
            shown.append(f'<span class="aside">… {i - previous - 1} more …</span>')
        shown.append(_chip(i + 1, texts[i], special[i], i + 1 == measured))
        previous = i
    if next_tokens:
        text, probability = next_tokens[0]
        shown.append(
            f'<span class="aside"> {lead} <b>{escape(_visible(text))}</b>'
            f" ({probability:.0%})</span>"
        )
    st.html(_STYLE + f'<div class="tokens">{"".join(shown)}</div>')


def of_result(result: Any) -> None:
    """Show the tokens of a result, and which of them it is of."""
    found = backend.tokens(result.request)
    same = found is not None and found.ids == tuple(result.token_ids)
    special = found.special if found and same else ()
    is_of_one = kind_of(result.request.kind).token == "measured"
    measured, likely = result.token if is_of_one else 0, getattr(result, "next_tokens", ())
    lead = "seen as" if is_image(result.request.prompt) else "then most likely"
    tokens(result.tokens, measured, special, likely, lead)


def pick(result: Result, token: int) -> None:
    """Offer the tokens of a result as chips, of which a click selects one.

    Args:
        result: whose tokens they are.
        token: the selected one, 1..n.
    """
    shown = [i + 1 for i in _positions(len(result.tokens), token)]
    bound(
        st.pills,
        "Token",
        "token",
        shown,
        # The browser sends labels: one that was another prompt's would be taken for a value.
        place=f"chips-{hash((result.tokens, tuple(shown)))}",
        format_func=lambda number: _label(number, result.tokens[number - 1]),
        write=lambda _: token,
        required=True,
    )


def _label(number: int, text: str) -> str:
    seen = visible(text)
    short = seen if len(seen) <= LONGEST else seen[: LONGEST - 1] + "…"
    return f"{plain(short)} :small[{number}]"


def _positions(n: int, measured: int) -> list[int]:
    """Indices shown: both ends and what surrounds the measured token."""
    if n <= MOST:
        return list(range(n))
    part = MOST // 4
    near = range(max(0, measured - part), min(n, measured + part))
    return sorted({*range(part), *near, *range(n - part, n)})


def _chip(number: int, text: str, special: bool, measured: bool) -> str:
    kinds = " ".join(["special"] * special + ["measured"] * measured)
    title = f"token {number}" + ", special" * special + ", measured" * measured
    return f'<span class="{kinds}" title="{title}">{escape(_visible(text))}</span>'


def _visible(text: str) -> str:
    """Line breaks and tabs as signs, and a sign for what would be invisible."""
    return text.replace("\n", "⏎").replace("\t", "⇥") or "∅"
