"""What if: the model's depth edited, and what that does to what it says."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages.what_if import page as what_if
from explorer.panels.pruning import pruning_plan

with page("What if") as state:
    st.title("What if blocks ran elsewhere?", anchor=False)
    result = answer(
        state.request("what-if"), lambda partial: what_if.partial_effects(partial, state)
    )
    if result is not None:
        what_if.show(result, state)
    else:
        pruning_plan(state.model)
