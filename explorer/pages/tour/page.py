"""A stop of the tour: a guess first, then the figure and the answer."""

from functools import partial
from pathlib import Path

import streamlit as st

from coupling_core.base.units import with_minus
from explorer.pages.tour.handout import handout, once, pdf
from explorer.pages.tour.state import NONE, SKIPPED, STOPS, TourState, guess_at, with_guess
from explorer.pages.tour.stops import ALL, AT_THE_END, Stop
from explorer.panels.chart import wide
from explorer.panels.off_screen import OffScreen
from explorer.panels.page import Page
from explorer.panels.way import way
from explorer.panels.whole import whole
from explorer.session.session import bound, change, value

PAGE = Page("Tour", "pages/16_Tour.py", "Learn", state=TourState, picker=None)
_TOP_JS = Path(__file__).with_name("top.js").read_text()
TEXT_WIDTH = 780
"""In pixels: a line that the eye can follow."""


def show(state: TourState) -> None:
    """Draw the stop at which somebody is."""
    stop = ALL[state.stop - 1]
    st.components.v2.component("tour-top", js=_TOP_JS)(key="tour-top", data={"stop": state.stop})
    st.progress(state.stop / STOPS, f"Stop {state.stop} of {STOPS}")
    st.header(stop.title, anchor=False)
    _say(stop.text(state))
    if not stop.is_hidden:
        stop.draw(state)
    _ask(stop, state)
    if state.guess != NONE:
        _answer(stop, state)
        if stop.is_hidden:
            stop.draw(state)
        _more(stop, state)
    _onwards(state.stop)


def _say(text: str) -> None:
    st.markdown(with_minus(text), width=wide(TEXT_WIDTH))
    whole().sentences.append(text)


def _ask(stop: Stop, state: TourState) -> None:
    """The question, whose answers are chosen from."""
    place, numbers = f"tour-{state.stop}", [str(at) for at in range(len(stop.answers))]

    def write(guesses: str) -> str | None:
        guess = guess_at(guesses, state.stop)
        return guess if guess in numbers else None

    with st.container(border=True, width=wide(TEXT_WIDTH), key="tour-question@frame"):
        bound(
            st.radio,
            f"**{stop.question}**",
            "guesses",
            numbers,
            place=place,
            format_func=lambda at: stop.answers[int(at)],
            read=lambda at: with_guess(value("guesses"), state.stop, at or NONE),
            write=write,
        )
        if state.guess == NONE:
            st.button(
                "Show me without a guess",
                type="tertiary",
                key=f"{place}-skip",
                on_click=lambda: change(guesses=with_guess(value("guesses"), state.stop, SKIPPED)),
            )


def _answer(stop: Stop, state: TourState) -> None:
    told = stop.told(state)
    if state.guess == str(stop.right):
        st.success(f"**Yes.** {told}", icon=":material/check:", width=wide(TEXT_WIDTH))
    elif state.guess == SKIPPED:
        st.info(told, icon=":material/lightbulb:", width=wide(TEXT_WIDTH))
    else:
        right = stop.answers[stop.right]
        said = f"**Not that, but: “{right}”.** {told}"
        st.info(said, icon=":material/lightbulb:", width=wide(TEXT_WIDTH))
    whole().sentences.append(told)


def _more(stop: Stop, state: TourState) -> None:
    """The way to a page that has more of it."""
    if stop.onwards:
        page, label = stop.onwards
        way(page, label, place=f"-tour-{state.stop}", **stop.chosen)


def _onwards(stop: int) -> None:
    """To the stops beside it; behind the last, what all of them came to."""
    if stop == STOPS and guess_at(value("guesses"), stop) != NONE:
        st.subheader("What you know now", anchor=False)
        _say(AT_THE_END())
    with st.container(horizontal=True, gap="small"):
        st.button("Back", disabled=stop == 1, on_click=_go, args=(stop - 1,), key="tour-back")
        if stop < STOPS:
            st.button("Next", type="primary", on_click=_go, args=(stop + 1,), key="tour-next")
        else:
            st.button("From the beginning", on_click=_anew, key="tour-anew")
    _take_home()


def _take_home() -> None:
    """The whole tour as files."""
    screen = OffScreen.here()
    with st.popover("Take the tour with you", type="tertiary", icon=":material/download:"):
        st.caption(f"All {STOPS} stops with their answers. Making a file takes up to a minute.")
        for label, make, name, kind in (
            ("To read (.html)", handout, "coupling-tour.html", "text/html"),
            ("Slides (.pdf)", pdf, "coupling-tour.pdf", "application/pdf"),
        ):
            st.download_button(
                label,
                partial(once, make, PAGE, screen),
                name,
                kind,
                on_click="ignore",
                width="stretch",
            )


def _go(stop: int) -> None:
    change(stop=stop)


def _anew() -> None:
    change(stop=1, guesses="", draws=TourState.draws, turn=TourState.turn, at=TourState.at)
