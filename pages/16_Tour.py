"""Tour: the finding in ten minutes, in eight stops with a guess at each."""

import streamlit as st

from explorer.frame.shell import page
from explorer.pages.tour import page as tour

with page("Tour") as state:
    st.title("Transformer block coupling in ten minutes", anchor=False)
    tour.show(state)
