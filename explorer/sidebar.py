"""The controls that every page shares: what is measured, and how it is looked at."""

from collections.abc import Callable

import streamlit as st

from coupling_core.errors import CouplingError
from coupling_core.gallery import EXAMPLES, UNTRAINED_SEED
from coupling_core.identity import ALIASES
from coupling_core.records import DEFINITIONS, FINAL_NORMS
from coupling_core.scores import DEFINITION_NAMES
from coupling_core.tokens import Tokens, tokenize
from explorer import backend
from explorer.session import bound, change, current

OTHER_MODEL = "Another model…"
OWN_TEXT = "Your own text…"
LONGEST_TOKEN_LIST = 256
"""A list of more tokens than this is no help; a number is then typed."""


def sidebar() -> None:
    """Draw the shared controls."""
    with st.sidebar:
        st.caption("What is measured")
        _model()
        _prompt()
        tokens = _tokens()
        _token(tokens)
        bound(
            st.selectbox,
            "Final norm in the last block",
            "final_norm",
            FINAL_NORMS,
            help="The paper's Eq. 7 counts the model's final norm as part of the last block.",
        )
        st.caption("How it is looked at (never computes)")
        _score()


def _model() -> None:
    options = list(ALIASES)
    if not backend.is_hosted():
        options.append(OTHER_MODEL)
    stored = {entry.identity.get("digest") for entry in backend.entries()}
    chosen = ALIASES.get(current().model)
    badge = " :gray-badge[stored]" if chosen and chosen.sha256 in stored else ""
    if _choice(f"Model{badge}", "model", options, OTHER_MODEL):
        bound(
            st.text_input,
            "Hub id, folder or .gguf file",
            "model",
            place="own",
            placeholder="owner/name",
        )
        bound(st.text_input, "Revision", "revision", placeholder="branch, tag or commit")
    bound(
        st.toggle,
        "Untrained twin",
        "untrained",
        read=lambda on: UNTRAINED_SEED if on else None,
        write=lambda seed: seed is not None,
        help="The same architecture with fresh random weights: what coupling looks like by chance.",
    )


def _prompt() -> None:
    if _choice("Prompt", "prompt", [*EXAMPLES, OWN_TEXT], OWN_TEXT, _one_line):
        bound(st.text_area, "Text", "prompt", place="own", height=110)


def _choice(
    label: str, field: str, options: list[str], own: str, labelled: Callable[[str], str] = str
) -> bool:
    """Offer a list whose last entry lets the reader type; tells whether they do."""
    key, flag = f"{field}@list", f"_own_{field}"
    value = getattr(current(), field)
    typed = own in options and (st.session_state.get(flag, False) or value not in options)
    if value not in options and not typed:
        options = [*options, value]
    shown = own if typed else value
    if st.session_state.get(key) != shown:
        st.session_state[key] = shown

    def take() -> None:
        chosen = st.session_state[key]
        st.session_state[flag] = chosen == own
        change(**({} if chosen == own else {field: chosen}))

    st.selectbox(label, options, key=key, format_func=labelled, on_change=take)
    return typed


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tokens() -> Tokens | None:
    """The prompt's tokens where they can be known now; the page itself tells what is wrong."""
    try:
        return tokenize(current().request())
    except CouplingError:
        return None


def _token(tokens: Tokens | None) -> None:
    """Choose the token by its text where the texts are known, else by its number."""
    if tokens is None or not 0 < len(tokens.texts) <= LONGEST_TOKEN_LIST:
        bound(st.number_input, "Token (1 is the first, -1 the last)", "token", step=1)
        return
    n = len(tokens.texts)
    st.caption(f"{n} tokens, {sum(tokens.special)} of them special")

    def counted(token: int) -> int:
        number = token + n + 1 if token < 0 else token
        return -1 if number == n else number

    def labelled(position: int) -> str:
        number = n if position == -1 else position
        if not 1 <= number <= n:
            return f"{number} (this prompt has 1 to {n})"
        text = f"{number} · {tokens.texts[number - 1]!r}"
        return text + " (special)" * tokens.special[number - 1] + " (last)" * (position == -1)

    positions = [-1, *range(n - 1, 0, -1)]
    if (chosen := counted(current().token)) not in positions:
        positions.append(chosen)
    bound(
        st.selectbox,
        "Token measured",
        "token",
        positions,
        # The browser sends labels: one that was another prompt's would be taken for a value.
        place=f"tokens-{hash(tokens.texts)}",
        format_func=labelled,
        write=counted,
    )


def _score() -> None:
    bound(
        st.selectbox,
        "Definition of the score",
        "definition",
        DEFINITIONS,
        format_func=lambda name: DEFINITION_NAMES[name],
    )
    if current().definition == "paper":
        bound(st.number_input, "Order p of the norm", "p", 1.0, step=1.0, format="%g")
    bound(st.number_input, "K, leading singular triplets", "k", 1, step=5)
    bound(
        st.text_input,
        "Blocks",
        "blocks",
        placeholder="all; or 9-16, 3,7 or 1-30:2",
    )
