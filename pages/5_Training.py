"""Training: how coupling comes about, over the checkpoints of training runs."""

import streamlit as st

from explorer.frame.shell import page
from explorer.pages.training import page as training

with page("Training") as state:
    st.title("Coupling through training", anchor=False)
    training.show(state)
