"""Trajectories: the path of every token through the blocks, and what it is like."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages import paths_list, trajectories
from explorer.panels.list_picker import list_picker

with page("Trajectories") as state:
    st.title("Paths through depth", anchor=False)
    if listed := list_picker(state):
        paths_list.show(state, listed)
    else:
        result = answer(
            state.request("trajectory"), lambda partial: trajectories.partial_paths(partial, state)
        )
        if result is not None:
            trajectories.show(result, state)
