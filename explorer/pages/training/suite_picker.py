"""Which training runs are looked at."""

import streamlit as st

from coupling_core.sources.suites import suites
from explorer.pages.training.state import MOST_SUITES
from explorer.server.admission import offered
from explorer.session.session import bound, value


def suite_picker() -> None:
    """Draw the control."""
    models = offered()
    names = [name for name, suite in suites().items() if models is None or suite.repo in models]
    chosen = value("suites").split(",")
    bound(
        st.multiselect,
        "Training runs",
        "suites",
        [*names, *(name for name in chosen if name not in names)],
        max_selections=MOST_SUITES,
        read=lambda chosen: (
            ",".join(name for name in chosen if name in suites()) or value("suites")
        ),
        write=lambda text: text.split(","),
        help="Several are drawn side by side, and in one figure by step.",
    )
