"""Depth: every coupling matrix of a model at one token, their scores, and one pair close up."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages import depth, depth_list
from explorer.panels.list_picker import list_picker

with page("Depth") as state:
    st.title("Coupling across depth", anchor=False)
    if listed := list_picker(state):
        depth_list.show(state, listed)
    else:
        result = answer(state.request(), lambda partial: depth.partial_map(partial, state))
        if result is not None:
            depth.show(result, state)
