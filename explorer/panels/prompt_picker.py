"""What is measured: a prompt of the gallery, one's own text, or a list of prompts."""

from collections.abc import Callable

import streamlit as st

from coupling_core.base.errors import InputError
from coupling_core.base.images import is_image, to_pixels
from coupling_core.base.settings import settings
from coupling_core.base.units import size
from coupling_core.experiments.gallery import EXAMPLES, KINDS
from explorer.panels.uploader import taken, uploader
from explorer.server import prompt_lists
from explorer.server.prompt_lists import SHIPPED, PromptList
from explorer.session.choice import choice
from explorer.session.plain_text import plain, sentence
from explorer.session.session import bound, change, current, show, value

OWN_TEXT = "Your own text…"
EXAMPLE = "Examples"
"""What the prompts are called that come with their results."""
_KIND, _PASTED, _FILE, _SAID = "kind@prompt", "pasted@list", "file@list", "_said_of_list"


def prompt_picker(*, takes_lists: bool) -> None:
    """Draw the controls.

    Args:
        takes_lists: whether the page shows a list of prompts as a whole.
    """
    if is_image(current().prompt):
        st.image(to_pixels(current().prompt), current().request().prompt_words, width=120)
        st.button("Use a text", on_click=change, kwargs={"prompt": EXAMPLES[0]})
        return
    if takes_lists:
        bound(
            st.toggle,
            "A list of prompts",
            "prompts",
            read=lambda on: SHIPPED if on else "",
            write=bool,
            place="toggle",
            help="Measures many prompts as one job, and shows the mean over them and where each "
            "of them stands.",
        )
    if takes_lists and value("prompts"):
        _list()
    else:
        _one()


def kinds() -> dict[str, tuple[str, ...]]:
    """Prompts to begin with, by their kind, those that come with their results first.

    Where nothing is computed, they are all.
    """
    return {EXAMPLE: EXAMPLES} | ({} if settings().read_only else KINDS)


def kind_of(prompt: str) -> str:
    """The kind that a prompt is of: that which was chosen last, if it may be of that one."""
    last = st.session_state.get(_KIND, EXAMPLE)
    of = [kind for kind, prompts in kinds().items() if prompt in prompts]
    return last if last in of or (not of and last in kinds()) else (of or [EXAMPLE])[0]


def pick_kind(key: str) -> None:
    """Draw what chooses the kind of prompt, and with it its first prompt.

    Args:
        key: of the control.
    """
    show(key, kind_of(value("prompt")))

    def take() -> None:
        if (kind := st.session_state.get(key)) in kinds():
            st.session_state[_KIND] = kind
            change(prompt=kinds()[kind][0])

    st.selectbox("Kind of prompt", list(kinds()), key=key, on_change=take)


def one_line(text: str) -> str:
    """A prompt in one line."""
    return " ".join(text.split())


def _one() -> None:
    pick_kind("kind@sidebar")
    of_kind = kinds()[kind_of(value("prompt"))]
    if choice("Prompt", "prompt", [*of_kind, OWN_TEXT], OWN_TEXT, one_line):
        bound(st.text_area, "Text", "prompt", place="own", height=110)


def _list() -> None:
    names = prompt_lists.known()
    chosen = value("prompts")
    bound(
        st.selectbox,
        "List",
        "prompts",
        names if chosen in names else [*names, chosen],
        place="list",
        format_func=_called,
    )
    with st.expander("Paste or upload another list", key="paste@list", type="compact"):
        st.text_area("A prompt a line", key=_PASTED, height=140, max_chars=prompt_lists.LETTERS)
        st.button("Use these prompts", on_click=_take_pasted)
        uploader(
            "Or a file",
            _FILE,
            prompt_lists.ENDINGS,
            on_change=_take_file,
            help="A text with a prompt a line, or a table with a column called prompt.",
        )
    if told := st.session_state.pop(_SAID, ""):
        st.error(told, icon=":material/error:")


def _called(name: str) -> str:
    found = prompt_lists.get(name)
    n = len(found.prompts) if found else 0
    return f"The {n} that come with it" if name == SHIPPED else f"Your {n} ({name[:6]})"


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
    try:
        change(prompts=read().name)
    except InputError as error:
        st.session_state[_SAID] = sentence(error)
