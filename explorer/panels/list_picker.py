"""Which list of prompts a page shows: above the figures, also on a phone."""

from collections.abc import Callable

import streamlit as st

from coupling_core.base.errors import InputError
from coupling_core.base.settings import settings
from coupling_core.base.units import size
from coupling_core.sources.prompts import TEXTS
from explorer.panels.uploader import taken, uploader
from explorer.server import prompt_lists
from explorer.server.prompt_lists import PromptList
from explorer.session.plain_text import plain, sentence
from explorer.session.session import bound, change
from explorer.session.state import State

WIDTH = 340
"""Of each of the two ways to a list, in pixels."""
_OPEN = "own@list"
_PASTED, _FILE, _SAID = "pasted@list", "file@list", "_said_of_list"


def list_picker(state: State) -> PromptList | None:
    """Draw what chooses a list, where lists are looked at.

    It is None where the page shows one prompt.
    """
    chosen = prompt_lists.get(state.prompts) if state.prompts else None
    if chosen is None:
        return None
    lists = {name: found for name in prompt_lists.known() if (found := prompt_lists.get(name))}
    lists |= {chosen.name: chosen}
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        bound(
            st.selectbox,
            "Prompts",
            "prompts",
            list(lists),
            place="list",
            format_func=lambda name: lists[name].called,
            width=WIDTH,
        )
        # As wide as the list beside it: neither is the lesser way. Whether it is open is kept, so
        # that it can be closed once it has been used.
        with st.popover(
            "Use your own prompts",
            icon=":material/edit_note:",
            width=WIDTH,
            key=_OPEN,
            on_change=change,
        ):
            _own()
        st.button(
            "Back to one prompt",
            type="tertiary",
            icon=":material/arrow_back:",
            on_click=change,
            kwargs={"prompts": State.prompts, "nth": State.nth},
        )
    if told := st.session_state.pop(_SAID, ""):
        st.error(told, icon=":material/error:")
    return chosen


def _own() -> None:
    st.text_area(
        "Paste them here, one prompt on each line",
        key=_PASTED,
        height=160,
        max_chars=prompt_lists.LETTERS,
    )
    st.button("Use these prompts", on_click=_take_pasted)
    uploader(
        "Or choose a file: .txt with one prompt on each line, or .csv or .jsonl with a column "
        "called prompt",
        _FILE,
        TEXTS,
        on_change=_take_file,
        help="Each prompt is measured once, however often it stands there.",
    )


def _take_pasted() -> None:
    _take(lambda: prompt_lists.pasted(str(st.session_state.get(_PASTED, ""))))


def _take_file() -> None:
    file, most = taken(_FILE), settings().upload_bytes
    if file is None:
        return
    if file.size > most:
        st.session_state[_SAID] = (
            f"{plain(file.name)} has {size(file.size)}, and {size(most)} are taken here."
        )
        return
    _take(lambda: prompt_lists.uploaded(file.name, file.getvalue()))


def _take(read: Callable[[], PromptList]) -> None:
    st.session_state[_OPEN] = False
    try:
        change(prompts=read().name)
    except InputError as error:
        st.session_state[_SAID] = sentence(error)
