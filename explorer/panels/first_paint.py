"""What is below the fold waits, in a visit's first page, until what is above it is painted.

A browser mounts all figures that it is given at one time, and shows none of them before the last.
"""

from pathlib import Path

import streamlit as st

_JS = Path(__file__).with_suffix(".js").read_text()
_PAINTED = "_painted"


def painted() -> bool:
    """Whether there is a figure on the screen, so that what comes after it may be drawn too.

    To be called once in a page, after its first figures: it has the page run again as soon as they
    are there. A client that is no browser gets everything at once.
    """
    if _PAINTED in st.session_state or not st.context.headers:
        return True
    # Registered at each run: a server that tests start knows nothing of an earlier one's.
    tell = st.components.v2.component("first-paint", js=_JS)
    tell(key="first-paint", on_painted_change=_take)
    return False


def _take() -> None:
    st.session_state[_PAINTED] = True
