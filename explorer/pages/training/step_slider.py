"""The slider over training steps: a component of our own, since Streamlit's waits for the mouse.

What it does in the browser is in `step_slider.js`.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

import streamlit as st

from explorer.session.session import change, value

KEY = "step@training"
PACES = ("resting", "dragged", "playing")
_PACE = "_pace"
_HTML = """<div class="slider">
<button class="play" aria-label="Play" title="Play or pause">▶</button>
<button class="back" aria-label="Previous step" title="Previous step">&lsaquo;</button>
<button class="on" aria-label="Next step" title="Next step">&rsaquo;</button>
<output></output>
<div class="track">
<input type="range" min="0" max="0" value="0" aria-label="Training step"><div class="ticks"></div>
</div>
</div>"""
_JS, _CSS = (Path(__file__).with_suffix(ending).read_text() for ending in (".js", ".css"))


def step_slider(steps: Sequence[int], measured: Collection[int], step: int) -> None:
    """Draw the slider; to be called when all figures are drawn, for then it asks for the next."""
    # Registered at each run: a server that tests start knows nothing of an earlier one's.
    draw = st.components.v2.component("step_slider", html=_HTML, css=_CSS, js=_JS)
    draw(
        key=KEY,
        data={
            "steps": list(steps),
            "measured": [one in measured for one in steps],
            "step": step,
            "pace": pace(),
        },
        on_at_change=_take,
    )


def rest() -> None:
    """Take it that the slider rests, as it does when the page is drawn."""
    st.session_state[_PACE] = PACES[0]


def pace() -> str:
    """What the slider does: one of `PACES`."""
    return st.session_state.get(_PACE, PACES[0])


def _take() -> None:
    """Take what the browser says; it cannot be trusted to be a step."""
    match st.session_state.get(KEY, {}).get("at"):
        case {"step": int(step), "pace": str(pace)} if step >= 0 and pace in PACES:
            st.session_state[_PACE] = pace
            if step != value("step"):
                change(step=step)
