"""What the pages about sweeps say alike."""

from collections.abc import Mapping

import streamlit as st

from coupling_core.base import wording
from coupling_core.base.records import Measure
from coupling_core.base.units import with_minus
from coupling_core.base.wording import once
from explorer.session.plain_text import plain

MEASURES: Mapping[Measure, str] = {
    measure: name.capitalize() for measure, name in wording.MEASURES.items()
}
"""Names of the measures of coupling, as choices have them."""


def said(title: str, told: tuple[str, ...]) -> None:
    """Sentences under a title; nothing where there is none."""
    if told:
        st.markdown(f"**{title}**")
        st.markdown("\n".join(f"- {plain(with_minus(line))}" for line in once(told) if line))
