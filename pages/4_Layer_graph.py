"""Layer graph: the blocks as nodes, their coupling as edges, and coupling by distance."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages import graph_list, layer_graph
from explorer.panels.list_picker import list_picker

with page("Layer graph") as state:
    st.title("The blocks as a graph", anchor=False)
    if listed := list_picker(state):
        graph_list.show(state, listed)
    else:
        result = answer(state.request(), lambda partial: layer_graph.partial_graph(partial, state))
        if result is not None:
            layer_graph.show(result, state)
