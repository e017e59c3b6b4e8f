"""What the pages about sweeps say alike."""

from collections.abc import Mapping

import streamlit as st

from coupling_core.base.records import Measure
from coupling_core.base.units import with_minus
from coupling_core.figures.generalization_words import once
from explorer.session.plain_text import plain

MEASURES: Mapping[Measure, str] = {
    "corrected": "Chance-corrected score",
    "coupling": "Score c",
    "alignment": "Alignment",
}
"""What coupling is measured by, in words."""


def said(title: str, told: tuple[str, ...]) -> None:
    """Sentences under a title; nothing where there is none."""
    if told:
        st.markdown(f"**{title}**")
        st.markdown("\n".join(f"- {plain(with_minus(line))}" for line in once(told) if line))
