"""The state of one browser session: kept across pages, mirrored in the URL, bound to widgets.

The URL is read when a session opens and when it changes without a widget's doing (the browser's
back and forward). Otherwise the session is right and the URL is written: a link that was drawn
before the last change, or a click that came before the URL caught up, must not undo it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from coupling_core.base.images import is_image
from coupling_core.base.settings import settings
from coupling_core.experiments.gallery import EXAMPLES
from explorer.server.admission import allowed, is_demo, offered, revisions
from explorer.session.state import State, from_query, to_query

_STATE, _PAGE, _URL, _ACTED, _PROBLEMS = "_state", "_page", "_url", "_acted", "_problems"
_DEVICE, _SETTLED, _LENGTH = "_device", "_settled", "_length"
_GIVEN = "_given_prompt"
"""Where the session keeps the prompt that its link came with."""
LONGEST_ADDRESS = 4000
"""Characters of a picture in an address."""
_OF_PROMPT = ("token", "other_token", "fixed", "row_window", "column_window")
"""Fields that number tokens."""


def open_session(page: str) -> State:
    """Bring session and URL together; the first thing every page does."""
    memory, url = st.session_state, st.query_params.to_dict()
    first = _STATE not in memory
    acted = memory.pop(_ACTED, False) or memory.get(_PAGE) != page
    if first or (not acted and url != memory[_URL]):
        state, memory[_PROBLEMS] = _read_url(url)
        if "prompt" in url:
            memory[_GIVEN] = state.prompt
        elif not first and keeps_prompt():
            state = replace(state, prompt=current().prompt)
        memory[_STATE] = state
    if memory.get(_PAGE) != page:
        memory[_SETTLED] = False
    memory[_PAGE] = page
    _write_url()
    return memory[_STATE]


def settle() -> None:
    """Note that a page was drawn to its end, and the browser has the values of its widgets."""
    st.session_state[_SETTLED] = True


def keep_link() -> None:
    """Bring the URL up to date; the last thing that a fragment does which changes the state."""
    st.session_state.pop(_ACTED, None)
    _write_url()


def problems() -> tuple[str, ...]:
    """What in the link could not be read; told once."""
    return st.session_state.pop(_PROBLEMS, ())


def current() -> State:
    """The state as it is now."""
    return st.session_state[_STATE]


def change(**fields: Any) -> None:
    """Change the state; for the callbacks of widgets.

    A token's number means nothing in another prompt, nor a revision or a stack in another model;
    and an untrained twin has no quantised form.
    """
    if "prompt" in fields:
        fields = {name: getattr(State, name) for name in _OF_PROMPT} | fields
    if "model" in fields:
        fields = {"revision": State.revision, "stack": State.stack} | fields
    if "token" in fields and fields["token"] == st.session_state.get(_LENGTH):
        fields |= {"token": State.token}  # one name for the last token, whoever chose it
    if fields.get("untrained") is not None:
        fields = {"quantize": None} | fields
    st.session_state[_STATE], told = _offered(replace(current(), **fields))
    if told:  # a widget sent what it does not offer
        st.session_state[_PROBLEMS] = told
    st.session_state[_ACTED] = True


def note_length(tokens: int) -> None:
    """Remember how many tokens the prompt on the screen has, by which its last one is known."""
    st.session_state[_LENGTH] = tokens


def device() -> str | None:
    """Where this session computes, by its own choice or the settings'; None is the best device.

    It is no part of the state: a link may be opened on another machine.
    """
    return st.session_state.get(_DEVICE) or settings().device


def choose_device(name: str) -> None:
    """Compute there from now on; for the callback of a widget."""
    st.session_state[_DEVICE] = name
    st.session_state[_ACTED] = True


def keeps_prompt() -> bool:
    """Whether the prompt stays out of the address: one's own, where strangers use the app.

    What was typed is then in no history and no log; a link that is asked for has it. A picture of
    more than a few hundred pixels is longer than what servers take for an address.
    """
    if is_image(current().prompt) and len(current().prompt) > LONGEST_ADDRESS:
        return True
    known = (*EXAMPLES, st.session_state.get(_GIVEN))
    return is_demo() and current().prompt not in known


def address() -> dict[str, str]:
    """The state as the browser's address has it."""
    query = to_query(current())
    if keeps_prompt():
        del query["prompt"]
    return query


def link(page_url: str) -> str:
    """The address that shows all that is on the screen."""
    query = urlencode(to_query(current()))
    return f"{page_url}?{query}" if query else page_url


def bound(
    widget: Callable[..., Any],
    label: str,
    field: str,
    *args: Any,
    place: str = "sidebar",
    read: Callable[[Any], Any] = lambda value: value,
    write: Callable[[Any], Any] = lambda value: value,
    **options: Any,
) -> None:
    """Draw a widget that shows one field of the state and changes it.

    Args:
        widget: the Streamlit command.
        label: its label.
        field: name of the field.
        *args: further arguments of the command.
        place: tells apart two widgets for one field.
        read: turns the widget's value into the field's.
        write: turns the field's value into the widget's.
        **options: further options of the command.
    """
    key = f"{field}@{place}"
    value = write(getattr(current(), field))
    show(key, value)
    options = _start(widget, value, *args) | options
    widget(label, *args, key=key, on_change=lambda: _take(key, field, read), **options)


def _start(widget: Callable[..., Any], value: Any, *args: Any) -> dict[str, Any]:
    """With what a widget begins in the browser, until the browser has taken in what it shows.

    A reader may click before that; the values of all widgets then come back, and must be the ones
    of the state.
    """
    match widget.__name__:
        case "selectbox":
            options = list(args[0])
            return {"index": options.index(value) if value in options else None}
        case "segmented_control" | "pills" | "multiselect":
            return {"default": value}
        case _:
            return {"value": value}


def show(key: str, value: Any) -> None:
    """Have the widget with this key, drawn next, show a value."""
    memory = st.session_state
    # Setting an unchanged value would undo what a reader is typing at this moment. But the widgets
    # of a page that is new to the browser have no value there until the page was drawn to its end,
    # and the value that the key still has may be the last page's.
    if not memory[_SETTLED] or key not in memory or memory[key] != value:
        memory[key] = value


def _take(key: str, field: str, read: Callable[[Any], Any]) -> None:
    change(**{field: read(st.session_state[key])})


def _offered(state: State) -> tuple[State, tuple[str, ...]]:
    """What of a state may be asked for here, and what became of the rest."""
    if not is_demo():
        return state, ()
    told = []
    models, suites = offered() or (), [suite.repo for suite in state.chosen_suites()]
    if state.model not in models:
        if state.model != State.model:
            told.append(f"model={state.model!r} is not offered here")
        state = replace(state, model=models[0], revision="")
    if not allowed(state.model, state.revision):
        if state.revision:
            told.append(f"rev={state.revision!r} is not offered here")
        state = replace(state, revision=revisions(state.model)[0])
    if not set(suites) <= set(models):
        if state.suites != State.suites:
            told.append(f"suites={state.suites!r} are not offered here")
        state = replace(state, suites=State.suites)
    plain = replace(state, dtype=State.dtype, quantize=State.quantize, stack=State.stack)
    if state != plain:
        told.append("dtype, quant and stack are not offered here")
    return plain, tuple(told)


def _read_url(url: Mapping[str, str]) -> tuple[State, tuple[str, ...]]:
    state, problems = from_query(url)
    if state.untrained is not None and state.quantize is not None:
        problems = (*problems, "quant is left out: an untrained twin has no quantised form")
        state = replace(state, quantize=None)
    state, told = _offered(state)
    return state, (*problems, *told)


def _write_url() -> None:
    query = address()
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    st.session_state[_URL] = query
