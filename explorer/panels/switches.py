"""The controls above the figures: switches between a few choices, and a threshold of edges."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from coupling_core.experiments.gallery import UNTRAINED_SEED
from explorer.session.session import bound

Choice = tuple[str, str, Mapping[Any, str]]
"""Label, field of the state, and the words for its values."""

SCORE: Choice = ("Score", "raw", {False: "Chance-corrected", True: "Raw"})
MATRIX: Choice = ("Matrix", "role", {"A": "A = UᵀJV", "B": "B = VᵀJU"})
COLOURS: Choice = ("Colour range", "auto_range", {False: "Fixed", True: "Auto"})
ENTRIES: Choice = ("Entries", "signed", {False: "Magnitude", True: "Signed"})

_IS_TWIN: Mapping[str, Any] = {
    "read": lambda on: UNTRAINED_SEED if on else None,
    "write": lambda seed: seed is not None,
}
"""Between whether it is a twin, which is chosen, and the twin's seed, which the state has."""


def switches(choices: Iterable[Choice], place: str, advanced: Iterable[Choice] = ()) -> None:
    """Draw a switch for each choice; `place` tells apart two for one field."""
    for label, field, words in choices:
        switch(label, field, words, place=place)
    if advanced:
        with st.popover("Advanced", type="tertiary", icon=":material/tune:"):
            switches(advanced, place)


def above_figures(place: str) -> DeltaGenerator:
    """What holds switches above figures; on a phone it stands below them (`shell`)."""
    return st.container(key=f"after-{place}")


def twin_switch(label: str, place: str) -> None:
    """Draw a switch between a model and its untrained twin."""
    switch(label, "untrained", {False: "Trained", True: "Untrained twin"}, place=place, **_IS_TWIN)


def twin_toggle() -> None:
    """Draw the same as a toggle of the sidebar."""
    bound(
        st.toggle,
        "Show the untrained twin",
        "untrained",
        help="The same architecture with fresh random weights, in place of the trained model: what "
        "the trained one has beyond it, was learned.",
        **_IS_TWIN,
    )


def threshold(place: str) -> None:
    """Draw the slider below which no edge is drawn."""
    bound(
        st.slider,
        "Threshold: smallest score of an edge",
        "threshold",
        0.0,
        1.0,
        step=0.01,
        place=place,
        width=320,
    )


def switch(label: str, field: str, words: Mapping[Any, str], **options: Any) -> None:
    """Draw one switch; its options are those of `bound`."""
    bound(
        st.segmented_control,
        label,
        field,
        tuple(words),
        format_func=words.__getitem__,
        required=True,
        **options,
    )
