"""Compare: two stored results side by side, and what lies between them."""

import streamlit as st

from explorer.frame.shell import page
from explorer.pages import compare

with page("Compare") as state:
    st.title("Two results side by side", anchor=False)
    compare.show(state)
