"""What is measured: a prompt of the gallery or one's own text, or whether a list of prompts is."""

import streamlit as st

from coupling_core.base.images import is_image, to_pixels
from coupling_core.base.settings import settings
from coupling_core.experiments.gallery import EXAMPLES, KINDS
from explorer.server.prompt_lists import SHIPPED
from explorer.session.choice import choice
from explorer.session.session import bound, change, current, draw, value

OWN_TEXT = "Your own text…"
EXAMPLE = "Examples"
"""What the prompts are called that come with their results."""
_KIND = "kind@prompt"


def prompt_picker(*, takes_lists: bool) -> None:
    """Draw the controls."""
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
    if not (takes_lists and value("prompts")):
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
    """Draw what chooses the kind of prompt, and with it its first prompt."""

    def take() -> None:
        if (kind := st.session_state.get(key)) in kinds():
            st.session_state[_KIND] = kind
            change(prompt=kinds()[kind][0])

    of = kind_of(value("prompt"))
    draw(st.selectbox, "Kind of prompt", key, of, take, list(kinds()))


def one_line(text: str) -> str:
    """A prompt in one line."""
    return " ".join(text.split())


def _one() -> None:
    pick_kind("kind@sidebar")
    of_kind = kinds()[kind_of(value("prompt"))]
    if choice("Prompt", "prompt", [*of_kind, OWN_TEXT], OWN_TEXT, one_line):
        bound(st.text_area, "Text", "prompt", place="own", height=110)
