"""A prompt as its tokens: their texts in a row, special ones and the measured one marked."""

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from coupling_core.base.images import is_image
from coupling_core.base.kinds import kind_of
from coupling_core.base.results import Result
from coupling_core.base.units import cut, percent
from coupling_core.sources.tokens import Group, grouped, visible, with_bytes_named
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
.tokens .shared { display: inline-flex; flex-direction: column; align-items: center;
  vertical-align: top; border: none; line-height: 1.3 }
.tokens .shared small { font-size: .7rem }
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
    groups = grouped(texts)
    shown, previous = [], 0
    for i in _positions(len(groups), _group_of(groups, measured)):
        if i > previous:
            between = sum(group.count for group in groups[previous:i])
            shown.append(f'<span class="aside">… {between} more …</span>')
        shown.append(_chip(groups[i], special, measured))
        previous = i + 1
    if next_tokens:
        text, probability = next_tokens[0]
        shown.append(
            f'<span class="aside"> {lead} <b>{escape(quoted(text))}</b>'
            f" ({percent(probability)})</span>"
        )
    st.html(_STYLE + f'<div class="tokens">{"".join(shown)}</div>')


def of_result(result: Any, *, clicks: bool = True) -> None:
    """Show the tokens of a result, and which of them it is of."""
    is_of_one = kind_of(result.request.kind).token == "measured"
    likely = getattr(result, "next_tokens", ())
    if is_image(result.request.prompt):
        tokens(result.tokens, result.token if is_of_one else 0, (), likely, "seen as")
    elif is_of_one and clicks:
        pick(result.tokens, result.token, _special(result))
        for text, probability in likely[:1]:
            st.caption(f"Then most likely **{plain(quoted(text))}** ({percent(probability)}).")
    else:
        tokens(result.tokens, result.token if is_of_one else 0, _special(result), likely)


def _special(result: Result) -> tuple[bool, ...]:
    """Which tokens of a result the tokenizer added; empty where that is not known."""
    found = backend.tokens(result.request)
    same = found is not None and found.ids == tuple(result.token_ids)
    return found.special if found and same else ()


def pick(texts: tuple[str, ...], token: int, special: tuple[bool, ...] = ()) -> None:
    """Offer the tokens of a prompt as chips, of which a click selects one."""
    special = special or (False,) * len(texts)
    shown = [i + 1 for i in _positions(len(texts), token)]
    called = names(texts)
    bound(
        st.pills,
        "Token",
        "token",
        shown,
        # The browser sends labels: one that was another prompt's would be taken for a value.
        place=f"chips-{hash((texts, tuple(shown)))}",
        format_func=lambda number: _label(number, called[number - 1], special[number - 1]),
        write=lambda _: token,
        required=True,
    )


def names(texts: Sequence[str]) -> list[str]:
    """What each token of a prompt is called: its text, and which part of a shared character."""
    found = []
    for group in grouped(texts):
        if group.count == 1:
            found.append(visible(group.text))
            continue
        parts = range(1, group.count + 1)
        found += [f"{visible(group.text)} ({part} of {group.count})" for part in parts]
    return found


def _label(number: int, name: str, special: bool) -> str:
    short = plain(cut(name, LONGEST))
    return f"{f'*{short}*' if special else short} :small[{number}]"


def _group_of(groups: Sequence[Group], token: int) -> int:
    """Which group a token is in, from 1 on; 0 where there is no such token."""
    within = (g.first <= token < g.first + g.count for g in groups)
    return next((at for at, found in enumerate(within, start=1) if found), 0)


def _positions(n: int, measured: int) -> list[int]:
    """Indices shown: both ends and what surrounds the measured token."""
    if n <= MOST:
        return list(range(n))
    part = MOST // 4
    near = range(max(0, measured - part), min(n, measured + part))
    return sorted({*range(part), *near, *range(n - part, n)})


def _chip(group: Group, special: Sequence[bool], measured: int) -> str:
    """A token; of characters that several share the characters once, with the tokens under them."""
    numbers = range(group.first, group.first + group.count)
    text = escape(_visible(group.text))
    if group.count == 1:
        return _token(group.first, text, special, measured)
    parts = "".join(_token(n, str(n), special, measured) for n in numbers)
    return f'<span class="shared">{text}<small>{parts}</small></span>'


def _token(number: int, text: str, special: Sequence[bool], measured: int) -> str:
    is_special, is_measured = special[number - 1], number == measured
    kinds = " ".join(["special"] * is_special + ["measured"] * is_measured)
    title = f"token {number}" + ", special" * is_special + ", measured" * is_measured
    return f'<span class="{kinds}" title="{title}">{text}</span>'


def quoted(text: str) -> str:
    """A token in a sentence, without the space before a word."""
    return f"“{visible(text.strip() or text)}”"


def _visible(text: str) -> str:
    """Line breaks and tabs as signs, and a sign for what would be invisible."""
    return with_bytes_named(text).replace("\n", "⏎").replace("\t", "⇥") or "∅"
