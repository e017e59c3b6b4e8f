"""Directions: what the leading singular vectors of the blocks read, write and do."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages.directions import page as directions

with page("Directions") as state:
    st.title("What do a block's directions say?", anchor=False)
    result = answer(
        state.request("directions"), lambda partial: directions.partial_directions(partial, state)
    )
    if result is not None:
        directions.show(result, state)
