"""The controls that every page shares: what is measured, and how it is looked at."""

import streamlit as st

from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.errors import CouplingError
from coupling_core.base.records import FINAL_NORMS, LEVEL_WORDS
from coupling_core.sources.tokens import Tokens
from coupling_core.sources.tokens import counted as in_words
from explorer.panels.page import Page
from explorer.panels.prompt_picker import prompt_picker
from explorer.panels.switches import twin_toggle
from explorer.server import backend
from explorer.session.chips import names
from explorer.session.fitting import narrow
from explorer.session.session import bound, current
from explorer.session.state import State

LONGEST_TOKEN_LIST = 256
"""A list of more tokens than this is no help; a number is then typed."""


def sidebar(page: Page) -> None:
    """Draw the shared controls of a page; nothing where it has its own."""
    if page.picker is None:
        return
    with st.sidebar:
        page.picker()
        if page.asks_twin:
            twin_toggle()
        prompt_picker(takes_lists=page.takes_lists)
        _token(None if page.takes_lists and current().prompts else _tokens(page))
        if page.asks_k:
            _k(page)
        with st.expander("Advanced", key="advanced@sidebar", type="compact"):
            _advanced()


def _tokens(page: Page) -> Tokens | None:
    """The prompt's tokens where they can be known now; the page itself tells what is wrong."""
    try:
        return backend.tokens(current(page.state).request())
    except CouplingError:
        return None


def _token(tokens: Tokens | None) -> None:
    """Choose the token by its text where the texts are known, else by its number."""
    if tokens is None or not 0 < len(tokens.texts) <= LONGEST_TOKEN_LIST:
        bound(st.number_input, "Token (1 is the first, -1 the last)", "token", step=1)
        return
    n, called = len(tokens.texts), names(tokens.texts)
    st.caption(f"{in_words(tokens.special)}.")

    def counted(token: int) -> int:
        number = token + n + 1 if token < 0 else token
        return -1 if number == n else number

    def labelled(position: int) -> str:
        number = n if position == -1 else position
        if not 1 <= number <= n:
            return f"{number} (this prompt has 1 to {n})"
        text = f"{number} · {called[number - 1]}"
        return text + " (special)" * tokens.special[number - 1] + " (last)" * (position == -1)

    positions = [-1, *range(n - 1, 0, -1)]
    if (chosen := counted(current().token)) not in positions:
        positions.append(chosen)
    bound(
        st.selectbox,
        "Token",
        "token",
        positions,
        # The browser sends labels: one that was another prompt's would be taken for a value.
        place=f"tokens-{hash(tokens.texts)}",
        format_func=labelled,
        write=counted,
    )


def _k(page: Page) -> None:
    """Choose K; where none is chosen, a narrow model shows its width."""

    def shown(k: int) -> int:
        width = narrow(current(page.state)) if k == State.k else None
        return width or k

    bound(st.number_input, "K: leading directions of each block", "k", 1, step=5, write=shown)


def _advanced() -> None:
    """What few change; all but the final norm computes nothing."""
    bound(
        st.selectbox,
        "Definition of the score",
        "definition",
        DEFINITIONS,
        format_func=lambda name: DEFINITIONS[name].label,
    )
    if DEFINITIONS[current().definition].takes_p:
        bound(st.number_input, "Order p of the norm", "p", 1.0, step=1.0, format="%g")
    if DEFINITIONS[current().definition].rotated:
        bound(
            st.selectbox,
            "Chance level",
            "level",
            LEVEL_WORDS,
            format_func=lambda level: LEVEL_WORDS[level].capitalize(),
            help="Random bases share neither subspaces nor vectors. Bases rotated within their "
            "subspaces share the subspaces: what is above them is paired vectors.",
        )
    bound(
        st.text_input,
        "Blocks",
        "blocks",
        placeholder="all; or 9-16, 3,7 or 1-30:2",
    )
    bound(
        st.selectbox,
        "Final norm in the last block",
        "final_norm",
        FINAL_NORMS,
        help="The paper's Eq. 7 counts the model's final norm as part of the last block. Another "
        "choice is another measurement.",
    )
