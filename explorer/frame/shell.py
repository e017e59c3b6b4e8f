"""The frame round every page: its first call, and what catches whatever goes wrong in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from coupling_core.base import logs
from coupling_core.base.errors import InputError
from coupling_core.figures.style import BLACK, FAINT, INKED
from explorer.asking.picker import picker
from explorer.frame.contents import LINKS, PAGES
from explorer.frame.present import offer, present
from explorer.frame.sidebar import sidebar
from explorer.pages.classroom.at_hand import at_hand, shown_of
from explorer.panels.chart import RULES
from explorer.panels.page import GROUPS
from explorer.panels.whole import begin
from explorer.server import backend, visitors
from explorer.server.turns import turns
from explorer.server.uploads import uploads
from explorer.session import sign_in
from explorer.session.fitting import fitted
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain, sentence
from explorer.session.session import address, open_session, problems, settle
from explorer.session.state import State
from explorer.session.widget_values import guard

NAME = "Coupling Explorer"
ICON = Path(__file__).with_name("icon.png")
"""A file of our own: the icons that Streamlit offers are fetched from the internet."""
SIDEBAR_WIDTH = 264
_PAGES_JS, _PAPER_JS = (
    Path(__file__).with_name(name).read_text() for name in ("pages.js", "paper.js")
)
_PAPER = {"ink": BLACK, "faint": FAINT, "inked": INKED}
_STYLE = """<style>
@media (min-width: 768px) { .stMainBlockContainer { padding-inline: 2.5rem } }
@media (min-width: 769px) {
  .st-key-pages { display: none }
  .stMainBlockContainer { padding-top: 1rem }
  .stAppHeader, .stAppHeader div { background: none; pointer-events: none }
  .stAppHeader button { pointer-events: auto }
}
.stMainBlockContainer h1 { padding-block: .25rem }
@media (max-width: 768px) { .st-key-pages-aside { display: none } }
:is(.st-key-pages-aside, .st-key-pages-listed) [data-testid=stCaptionContainer] {
  margin: .5rem 0 0; padding-inline: .5rem; font-size: .75rem; line-height: 1.3;
}
:is(.st-key-pages-aside, .st-key-pages-listed) [data-testid=stCaptionContainer] p { margin: 0 }
:is([data-testid=stCaptionContainer], .stExpander summary) { opacity: .8 !important }
[data-testid=stBaseButton-primary], [data-tag], [data-tag] * {
  color: light-dark(#fff, #14171a) !important;
}
.katex-display { overflow-x: auto; overflow-y: hidden; padding: 4px 4px 4px 0 }
:is(section, a, [tabindex]):focus-visible { outline: 2px solid currentColor; outline-offset: -2px }
.stHorizontalBlock:has(> .stColumn .stPlotlyChart) { flex-wrap: wrap }
.stColumn:has(.stPlotlyChart) { min-width: min(100%, 18.5rem) }
.js-plotly-plot { touch-action: manipulation }
.js-plotly-plot :is([class$="tick"], .cbaxis, .cbtitle, [class^="legend"]) text,
.js-plotly-plot .annotation-text,
.js-plotly-plot text[class$="title"] {
  fill: color-mix(in srgb, currentColor 85%, transparent) !important;
}
@media (max-width: 768px) {
  [data-testid=stExpandSidebarButton]::after { content: "Model, prompt, K" }
  [data-testid=stSidebarCollapseButton] button::after { content: "Close" }
  :is([data-testid=stExpandSidebarButton], [data-testid=stSidebarCollapseButton] button) {
    width: auto; padding-inline: .5rem; gap: .25rem; white-space: nowrap;
  }
}
@media (hover: none) {
  :is([data-testid=stElementToolbar], .stTextArea [data-testid=InputInstructions]) { display: none }
}
@media (max-width: 640px) {
  .stMarkdown table { display: block; overflow-x: auto }
  .stMainBlockContainer h1 { font-size: 1.5rem; padding-block: 0 }
  .stMainBlockContainer .stHorizontalBlock { row-gap: .5rem !important }
  div:has(> [class*=st-key-after-]) { order: 1 }
  .st-key-tools { gap: 0 1rem !important }
  .st-key-tools > :first-child { flex: 1 0 100% }
  .st-key-tools > :not(:first-child) button p { font-size: .85rem }
  .st-key-tools > :not(:first-child) button :is(span, div):has(> [data-testid=stIconMaterial]),
  .st-key-tools > :not(:first-child) button div[aria-hidden=true] { display: none }
  .stButtonGroup [role=radiogroup] { flex-wrap: wrap; row-gap: .25rem }
}
</style>"""
"""On a phone the tools are their names, and what changes figures stands below them, so that the
figure comes sooner. Figures get what the margins would take; their labels, and captions, are in
ink instead of Streamlit's pale grey; a formula that is too long for a small screen scrolls.
Where the sidebar is a drawer over the page, the links to the pages open on top of it from a button
that names the page, and the arrows that open and close it have words. Who goes by the keyboard sees
where, in the list of pages too. A figure's buttons stand below it, where its picture says what it
is of, and cover nothing. Figures stand below each other where colour bars and titles would not fit
side by side. A finger sweeps the page over figures too, and two quick taps on one do
not enlarge it; a table's tools, which need no finger, would cover what is above it, and so would
words on keys that a phone has not."""


@contextmanager
def page(title: str) -> Iterator[State]:
    """Frame a page: configuration, who may see it, session, sidebar; errors become plain words."""
    with turns.drawing():
        st.set_page_config(
            page_title=f"{title} · {NAME}",
            page_icon=ICON,
            layout="wide",
            initial_sidebar_state=SIDEBAR_WIDTH,
        )
        st.html(f"<style>{RULES}</style>{_STYLE}")
        guard()
        _require_use()
        backend.look_again()
        uploads.turn_to(visitors.session(), title)
        state = open_session(title, PAGES[title].state, LINKS)
        begin(title)
        _navigation(title)
        if state.present:
            present()
        else:
            sidebar(PAGES[title])
        if PAGES[title].picker is picker:
            state = fitted(state)
        if found := problems():
            st.warning(f"Part of the request was left out: {plain('; '.join(found))}.")
        at_hand(title, PAGES)
        with plain_errors():
            yield state
        settle()  # not where a click interrupts the page


def _require_use() -> None:
    """End a page here whose visitor may not use the app, or whose app cannot be used as it is."""
    try:
        logs.set_up(whole_process=True)
        sign_in.require()
        backend.store()
    except InputError as error:
        st.error(sentence(error), icon=":material/error:")
        st.stop()


def _navigation(here: str) -> None:
    """The links to the pages, twice: of each screen one is shown."""
    with st.container(key="pages"):
        with st.popover(here, icon=":material/menu:", key="pages-menu"):
            with st.container(key="pages-listed", gap="xxsmall"):
                _links()
        # Registered at each run: a server that tests start knows nothing of an earlier one's.
        st.components.v2.component("pages", js=_PAGES_JS)(key="pages-here", data={"here": here})
        st.components.v2.component("paper", js=_PAPER_JS)(key="paper", data=_PAPER)
    with st.sidebar:
        st.markdown(f"**{NAME}**")
        with st.container(key="pages-aside", gap="xxsmall"):
            _links()
        offer()
        sign_in.offer_sign_out()


def _links() -> None:
    query, shown = address(), shown_of(PAGES)
    for group in GROUPS:
        of_group = [page for page in shown if page.group == group]
        if of_group:
            st.caption(group)
        for page in of_group:
            st.page_link(page.file, label=page.title, query_params=query)
