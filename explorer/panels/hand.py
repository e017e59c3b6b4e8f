"""What takes clicks on a figure: a component of our own, which hears plotly's own clicks.

Streamlit tells of selected points, which heatmaps do not have, takes two taps of a finger for one,
and lets a drag move the figure off its axes. What this does in the browser is in `hand.js`.
"""

from pathlib import Path

import streamlit as st

from explorer.session.session import change

_JS = Path(__file__).with_suffix(".js").read_text()


def hand(name: str, fields: tuple[str, ...]) -> None:
    """Let clicks on a figure choose; to be called after it, in the same container."""
    # Registered at each run: a server that tests start knows nothing of an earlier one's.
    draw = st.components.v2.component("hand", js=_JS)
    key = f"{name}@hand"

    def take() -> None:
        match st.session_state.get(key, {}).get("picked"):
            case [*values]:
                change(**dict(zip(fields, values, strict=False)))

    draw(key=key, on_picked_change=take)
