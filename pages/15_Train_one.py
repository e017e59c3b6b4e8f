"""Train one: a small model that learns in front of one's eyes, with its coupling."""

import streamlit as st

from explorer.frame.shell import page
from explorer.pages.train_one import page as train_one

with page("Train one") as state:
    st.title("Train one yourself", anchor=False)
    train_one.show(state)
