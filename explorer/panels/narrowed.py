"""Which blocks a figure shows, where some were chosen, and the way back to all of them."""

import streamlit as st

from explorer.session.session import change
from explorer.session.state import State


def narrowed(state: State, n_blocks: int) -> None:
    """Say it near the figure, for the range may have been chosen on another page."""
    chosen = state.range_of(n_blocks)
    if chosen is None or len(chosen) == n_blocks:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(f"Coupling is shown for blocks {state.blocks} of {n_blocks}.", width="content")
        st.button(
            f"Show all {n_blocks}",
            type="tertiary",
            icon=":material/unfold_more:",
            on_click=change,
            kwargs={"blocks": State.blocks},
            key="all-blocks",
        )
