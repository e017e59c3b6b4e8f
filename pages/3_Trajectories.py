"""Trajectories: the path of every token through the blocks, and what it is like."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages import trajectories

with page("Trajectories") as state:
    st.title("Paths through depth", anchor=False)
    result = answer(
        state.path_request(), lambda partial: trajectories.partial_paths(partial, state)
    )
    if result is not None:
        trajectories.show(result, state)
