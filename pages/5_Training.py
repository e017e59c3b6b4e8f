"""Training: how coupling comes about, over the checkpoints of training runs."""

import streamlit as st

from explorer import training
from explorer.shell import page

with page("Training") as state:
    st.title("Coupling through training", anchor=False)
    training.show(state)
