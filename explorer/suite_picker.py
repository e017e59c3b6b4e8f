"""Which training runs are looked at."""

import streamlit as st

from coupling_core.suites import suites
from explorer.admission import allowed
from explorer.session import bound, current
from explorer.state import MOST_SUITES


def suite_picker() -> None:
    """Draw the control."""
    offered = [name for name, suite in suites().items() if allowed(suite.repo)]
    chosen = current().suites.split(",")
    bound(
        st.multiselect,
        "Training runs",
        "suites",
        [*offered, *(name for name in chosen if name not in offered)],
        max_selections=MOST_SUITES,
        read=lambda names: ",".join(names) or current().suites,
        write=lambda text: text.split(","),
        help="Several are drawn side by side, and in one figure by step.",
    )
