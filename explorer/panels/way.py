"""A way from one page to another that takes along more than what is chosen."""

from typing import Any

import streamlit as st

from explorer.panels.page import Page
from explorer.session.session import address, change


def way(to: Page, label: str, *, place: str = "", **fields: Any) -> None:
    """Draw it: a link could not say what to change, for pages open with what the session has.

    `place` tells apart two ways to one page, and `fields` are chosen there.
    """
    icon = ":material/arrow_forward:"
    if st.button(label, type="tertiary", icon=icon, key=f"way-{to.title}{place}"):
        change(**fields)
        # With its address at once: without, the browser's Back would lead to the bare page first.
        st.switch_page(to.file, query_params=address(to.title))
