"""Tokens: how far the tokens of a prompt share a basis, in two blocks or on average over all."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages.tokens import page as tokens

with page("Tokens") as state:
    st.title("Coupling between tokens", anchor=False)
    request, row = tokens.controls(state)
    result = answer(request, lambda partial: tokens.partial_map(partial, state))
    if result is not None:
        tokens.show(result, state, row)
