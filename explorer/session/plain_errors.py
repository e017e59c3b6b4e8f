"""What goes wrong on a page, in plain words in its place."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from coupling_core.base.errors import CouplingError
from explorer.session.plain_text import sentence


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show what goes wrong as plain words in its place."""
    try:
        yield
    except CouplingError as error:
        st.error(sentence(error), icon=":material/error:")
