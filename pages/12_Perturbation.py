"""Perturbation: noise on a token's embedding, and how far the linearised blocks predict it."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages import perturbation

with page("Perturbation") as state:
    st.title("How far does noise get?", anchor=False)
    result = answer(state.request("perturbation"), perturbation.partial_perturbation)
    if result is not None:
        perturbation.show(result, state)
