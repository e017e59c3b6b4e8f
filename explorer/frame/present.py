"""Present mode: a page for the last row of a lecture room, one figure a screen."""

from pathlib import Path

import streamlit as st

from explorer.panels.chart import TIMES
from explorer.session.session import change

_JS = Path(__file__).with_name("present.js").read_text()
_FIGURES = ":is(.stElementContainer, .stFullScreenFrame):has(.stPlotlyChart), .stPlotlyChart"
_SCREEN = "max(100dvh - 2rem, 22rem)"
_STYLE = f"""<style>
html {{ font-size: {16 * TIMES}px !important }}
:is([data-testid=stSidebar], [data-testid=stExpandSidebarButton], .st-key-pages, .stAppHeader) {{
  display: none !important;
}}
.stMainBlockContainer {{ padding: 1rem 2rem !important }}
.stHorizontalBlock:has(.stPlotlyChart):has(> .stColumn:nth-child(3)) {{ flex-direction: column }}
.stHorizontalBlock:has(.stPlotlyChart):has(> .stColumn:nth-child(3)) > .stColumn {{
  width: 100%; flex: 1 1 auto;
}}
{_FIGURES} {{ max-height: {_SCREEN} !important }}
html .st-key-start-maps :is({_FIGURES}) {{ height: {_SCREEN} !important }}
:is(.st-key-tools, [class*="-fold"]) {{ display: none }}
.st-key-present-leave {{ align-self: flex-end; width: auto }}
.present-spot {{
  position: fixed; left: -18px; top: -18px; width: 36px; height: 36px; border-radius: 50%;
  background: rgba(228, 87, 46, .35); border: 2px solid #e4572e; pointer-events: none;
  visibility: hidden; z-index: 99;
}}
</style>"""
"""Letters grow with the root's; figures are drawn larger by `chart`, and each fits the screen below
its heading. What one takes home is left out, and three figures in a row stand one below the
other."""


def present() -> None:
    """Show the page so; for its frame, where that is chosen."""
    st.html(_STYLE)
    st.components.v2.component("present", js=_JS)(key="present-keys")
    st.button(
        "Leave (Esc)",
        key="present-leave",
        type="tertiary",
        icon=":material/close_fullscreen:",
        on_click=lambda: change(present=False),
    )


def offer() -> None:
    """The way into it, at the foot of the sidebar."""
    st.button(
        "Present",
        key="present-enter",
        type="tertiary",
        icon=":material/present_to_all:",
        help="Without this sidebar, with large letters and one figure a screen. Arrow keys lead "
        "from figure to figure, Escape back.",
        on_click=lambda: change(present=True),
    )
