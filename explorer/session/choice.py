"""A list to choose from, whose last entry lets the reader type."""

from collections.abc import Callable

import streamlit as st

from explorer.session.session import change, draw, value


def choice(
    label: str, field: str, options: list[str], own: str, labelled: Callable[[str], str] = str
) -> bool:
    """Offer values for a field of the state; tells whether the reader types one instead.

    `own` is what the entry for typing is called.
    """
    key, flag = f"{field}@list", f"_own_{field}"
    now = value(field)
    typed = own in options and (st.session_state.get(flag, False) or now not in options)
    if now not in options and not typed:
        options = [*options, now]
    shown = own if typed else now

    def take() -> None:
        if key not in st.session_state:  # a client may speak of what is no longer drawn
            return
        chosen = st.session_state[key]
        st.session_state[flag] = chosen == own
        change(**({} if chosen == own else {field: chosen}))

    draw(st.selectbox, label, key, shown, take, options, format_func=labelled)
    return typed
