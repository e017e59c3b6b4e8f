"""The state of one browser session: kept across pages, mirrored in the URL, bound to widgets.

The URL is read when a session opens and when it changes without a widget's doing (the browser's
back and forward). Otherwise the session is right and the URL is written: a link that was drawn
before the last change, or a click that came before the URL caught up, must not undo it.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from coupling_core.base.images import is_image
from coupling_core.base.settings import settings
from coupling_core.experiments.gallery import EXAMPLES, KINDS
from explorer.server.admission import allowed, is_demo, offered, revisions
from explorer.session.link import Links
from explorer.session.state import State

S = TypeVar("S", bound=State)

_CHOSEN, _LINKS = "_chosen", "_links"
"""Where the session keeps the fields of all pages' states, and what knows their form in a link."""
_PAGE, _URL, _ACTED, _PROBLEMS = "_page", "_url", "_acted", "_problems"
_DEVICE, _CARRIED, _LENGTH, _STATE = "_device", "_carried", "_length", "_state"
_GIVEN = "_given_prompt"
"""Where the session keeps the prompt that its link came with."""
LONGEST_ADDRESS = 4000
"""Characters of a picture in an address."""


def open_session(page: str, of: type[S], links: Links) -> S:
    """Bring session and URL together; the first thing every page does."""
    memory, url = st.session_state, st.query_params.to_dict()
    memory[_LINKS], memory[_STATE] = links, of
    first = _CHOSEN not in memory
    acted = memory.pop(_ACTED, False) or memory.get(_PAGE) != page
    if first or (not acted and url != memory[_URL]):
        chosen, memory[_PROBLEMS] = _read_url(url)
        if "prompt" in url:
            memory[_GIVEN] = chosen["prompt"]
        elif not first and keeps_prompt():
            chosen["prompt"] = current().prompt
        memory[_CHOSEN] = chosen
    if memory.get(_PAGE) != page:
        memory[_CARRIED] = frozenset(memory)
    memory[_PAGE] = page
    _write_url()
    return current(of)


def settle() -> None:
    """Note that a page was drawn to its end, and the browser has the values of its widgets."""
    st.session_state[_CARRIED] = frozenset()


def keep_link() -> None:
    """Bring the URL up to date; the last thing that a fragment does which changes the state."""
    st.session_state.pop(_ACTED, None)
    _write_url()


def problems() -> tuple[str, ...]:
    """What of a link or of a widget could not be taken; told once."""
    return st.session_state.pop(_PROBLEMS, ())


def tell(*problems: str) -> None:
    """Have the page tell, when it is drawn next, what could not be taken."""
    memory = st.session_state
    memory[_PROBLEMS] = tuple(dict.fromkeys((*memory.get(_PROBLEMS, ()), *problems)))


def current(of: type[S] = State) -> S:
    """What was chosen, as it is now, of a page's state."""
    return of(**{item.name: value(item.name) for item in fields_of(of)})


def value(field: str) -> Any:
    """What was chosen, as it is now, of one field."""
    return st.session_state[_CHOSEN][field]


def change(**fields: Any) -> None:
    """Change what is chosen; for the callbacks of widgets.

    A token's number means nothing in another prompt, nor a revision or a stack in another model;
    and an untrained twin has no quantised form. What no link could say is not taken: a client may
    send any value for a widget.
    """
    memory = st.session_state
    fields, wrong = memory[_LINKS].check(fields)
    if fields.get("prompt", value("prompt")) != value("prompt"):
        every = memory[_LINKS].fields.values()
        fields = {one.field: one.default for one in every if one.parameter.of_prompt} | fields
        fields = {"prompts": State.prompts} | fields  # who chooses one looks at no list
    if "prompts" in fields:
        fields = {"nth": State.nth} | fields
    if "model" in fields:
        fields = {"revision": State.revision, "stack": State.stack} | fields
    if "token" in fields and fields["token"] == memory.get(_LENGTH):
        fields |= {"token": State.token}  # one name for the last token, whoever chose it
    if fields.get("untrained") is not None:
        fields = {"quantize": None} | fields
    memory[_CHOSEN], told = _offered(memory[_CHOSEN] | fields)
    tell(*wrong, *told)
    memory[_ACTED] = True


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
    return _is_private(current().prompt)


def _is_private(prompt: str) -> bool:
    """Whether a prompt is a stranger's own."""
    known = (*EXAMPLES, *chain(*KINDS.values()), st.session_state.get(_GIVEN))
    return is_demo() and prompt not in known


def address(page: str = "") -> dict[str, str]:
    """The state as the browser's address has it.

    It is that of another page, where one is named.
    """
    query = _query(page)
    if keeps_prompt():
        del query["prompt"]
    if _is_private(query.get("over-prompt", EXAMPLES[0])):
        del query["over-prompt"]
    return query


def link(page_url: str) -> str:
    """The address that shows all that is on the screen."""
    query = urlencode(_query())
    return f"{page_url}?{query}" if query else page_url


def task() -> str:
    """What a link says of this page to others: nothing of other pages, and no answer given."""
    memory = st.session_state
    shown = {item.name for item in fields_of(memory[_STATE])}
    known = memory[_LINKS].fields
    said = {
        name: text
        for name, text in _query().items()
        if known[name].field in shown and not known[name].parameter.answered
    }
    return urlencode(said)


def said_by(query: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the part of a link behind its question mark chooses.

    Beside every field's value by its name there is what could not be read.
    """
    return st.session_state[_LINKS].read(dict(parse_qsl(query)))  # type: ignore[no-any-return]


def query_of(**fields: Any) -> dict[str, str]:
    """What a link says that chooses these fields, and nothing of what is chosen now."""
    return st.session_state[_LINKS].write(fields)  # type: ignore[no-any-return]


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

    `read` turns the widget's value into the field's, `write` the field's into the widget's, and
    `place` tells apart two widgets for one field.
    """
    key = f"{field}@{place}"
    draw(widget, label, key, write(value(field)), lambda: _take(key, field, read), *args, **options)


def draw(
    widget: Callable[..., Any],
    label: str,
    key: str,
    value: Any,
    take: Callable[[], object],
    *args: Any,
    **options: Any,
) -> None:
    """Draw a widget that shows a value, whatever it showed before.

    `take` is called once the reader has chosen another, which the session then has by this key.
    """
    memory = st.session_state
    # Setting an unchanged value would undo what a reader is typing at this moment. But of a widget
    # that the last page had too, the browser may have another value until this page was drawn to
    # its end.
    if key in memory[_CARRIED] or key not in memory or memory[key] != value:
        memory[key] = value
    widget(label, *args, key=key, on_change=take, **(_start(widget, value, *args) | options))


def _start(widget: Callable[..., Any], value: Any, *args: Any) -> dict[str, Any]:
    """With what a widget begins in the browser, until the browser has taken in what it shows.

    A reader may click before that; the values of all widgets then come back, and must be the ones
    of the state.
    """
    match widget.__name__:
        case "selectbox" | "radio":
            options = list(args[0])
            return {"index": options.index(value) if value in options else None}
        case "segmented_control" | "pills" | "multiselect":
            return {"default": value}
        case _:
            return {"value": value}


def _take(key: str, field: str, read: Callable[[Any], Any]) -> None:
    if key in st.session_state:  # a client may speak of what is no longer drawn
        change(**{field: read(st.session_state[key])})


def _query(page: str = "") -> dict[str, str]:
    memory = st.session_state
    return memory[_LINKS].write(memory[_CHOSEN], page or memory[_PAGE])


def _offered(chosen: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What of the fields may be asked for here, and what became of the rest."""
    if not is_demo():
        return chosen, ()
    told, models = [], offered() or ()
    if chosen["model"] not in models:
        if chosen["model"] != State.model:
            told.append(f"model={chosen['model']!r} is not offered here")
        chosen |= {"model": models[0], "revision": ""}
    if not allowed(chosen["model"], chosen["revision"]):
        if chosen["revision"]:
            told.append(f"rev={chosen['revision']!r} is not offered here")
        chosen |= {"revision": revisions(chosen["model"])[0]}
    for name, (field, default, _, parameter) in st.session_state[_LINKS].fields.items():
        if parameter.offered and not parameter.offered(chosen[field]):
            if chosen[field] != default:
                told.append(f"{name}={chosen[field]!r} is not offered here")
            chosen |= {field: default}
    plain = {"dtype": State.dtype, "quantize": State.quantize, "stack": State.stack}
    if chosen != chosen | plain:
        told.append("dtype, quant and stack are not offered here")
    return chosen | plain, tuple(told)


def _read_url(url: Mapping[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    chosen, problems = st.session_state[_LINKS].read(url)
    if chosen["untrained"] is not None and chosen["quantize"] is not None:
        problems = (*problems, "quant is left out: an untrained twin has no quantised form")
        chosen["quantize"] = None
    chosen, told = _offered(chosen)
    return chosen, (*problems, *told)


def _write_url() -> None:
    query = address()
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    st.session_state[_URL] = query
