"""The list of stored results, and what can be done with one of them."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from coupling_core.analysis.exports import file_name
from coupling_core.base.errors import CouplingError
from coupling_core.base.units import counted, size
from coupling_core.store.archive import SUFFIX
from coupling_core.store.disk import Entry
from explorer.pages import compare
from explorer.pages.runs import rechecks
from explorer.panels.page import Page
from explorer.server import admission, backend
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain, sentence, weights_form
from explorer.session.session import change, current
from explorer.session.widget_values import picked_rows

PAGE = Page(
    "Runs",
    "pages/13_Runs.py",
    "Yours",
)
PLACES = {"All": (False, True), "Measured here": (False,), "Came with the program": (True,)}
"""Whether results lie below the store, as those of the gallery do, or were measured here."""

PROMPT_WIDTH = 180
"""Of the column of prompts in pixels: on a phone there is room for the model beside it."""

_TOLD = "_told"
"""Where the session keeps what the last action did, until it is told."""


def show(page_of: Mapping[str, Page]) -> None:
    """Draw the list and, for the chosen result, its actions."""
    if told := st.session_state.pop(_TOLD, ""):
        st.success(told)
    stored = backend.listed(backend.store().entries())
    entries = sorted(stored, key=lambda one: one.provenance.get("date", ""), reverse=True)
    if not entries:
        st.info("Nothing is stored yet: compute something on Depth.")
        return
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        words = st.text_input("Search", placeholder="model, prompt or key", key="search@runs")
        place = st.segmented_control(
            "From", list(PLACES), default="All", key="from@runs", width="content"
        )
    below = PLACES[place or "All"]  # a click on what is chosen chooses nothing
    found = [entry for entry in entries if entry.matches(words) and entry.read_only in below]
    total = size(sum(entry.size for entry in entries))
    st.caption(f"{len(found)} of {counted(len(entries), 'result')}; {total} in all")
    chosen = st.dataframe(
        table(found),
        hide_index=True,
        # A row number must not outlive the list that it counts in.
        key=f"list@{'-'.join(entry.key[:4] for entry in found)}",
        on_select="rerun",
        selection_mode="multi-row",
        placeholder="",
        column_config={"Prompt": st.column_config.TextColumn(width=PROMPT_WIDTH)},
        alt="Table of the stored results",
    )
    match [found[row] for row in picked_rows(chosen, len(found))]:
        case [entry]:
            _actions(entry, page_of[entry.request.kind] if entry.request else None)
        case [a, b]:
            _compare(a, b)
        case []:
            st.caption(
                "Choose a row to open, download, verify, recheck or delete a result, or two rows "
                "to compare them."
            )
        case _:
            st.caption("Choose one row, or two to compare them.")


def _compare(a: Entry, b: Entry) -> None:
    """The way to both side by side."""
    can = all(one.request and one.request.kind == "depth" for one in (a, b))
    pressed = st.button("Compare these two", type="primary", disabled=not can)
    if not can:
        st.caption("Only results of the blocks at one token (kind: depth) can be compared.")
    elif pressed:
        change(a=a.key, b=b.key)
        st.switch_page(compare.PAGE.file)


def table(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row a result."""
    return pd.DataFrame(list(map(_row, entries)))


def _row(entry: Entry) -> dict[str, object]:
    """What lists show of it, with the form in which the weights were measured."""
    row = entry.row
    if entry.request and (form := weights_form(entry.request)):
        row["Weights"] = f"{row['Weights']}, {form}"
    return row


def _actions(entry: Entry, page: Page | None) -> None:
    obstacle = _obstacle(entry, page)
    there = f"Open on {page.title}" if page else "Open"
    with st.container(horizontal=True, gap="small"):
        if st.button(there, disabled=bool(obstacle), type="primary"):
            _open(entry, page)
        st.download_button(
            "Download",
            entry.path.read_bytes,
            _file_name(entry),
            "application/octet-stream",
            on_click="ignore",
        )
        verify = st.button("Verify", help="Read the file to its last byte.")
        recheck = admission.may_change_store() and st.button(
            "Recheck",
            help="Run only the forward pass again: whether the model still gives what it gave.",
        )
        kept = _kept(entry)
        if st.button("Delete", disabled=bool(kept)) and not kept:
            _confirm_delete(entry)
    if obstacle:
        st.caption(obstacle)
    if kept:
        st.caption(kept)
    if verify:
        _verify(entry)
    rechecks.show(entry, recheck)


def _file_name(entry: Entry) -> str:
    """A name that people can read; its key, where the file cannot be read."""
    try:
        result = backend.home(entry).get(entry.key)
    except CouplingError:
        return f"{entry.key}{SUFFIX}"
    return file_name(result, result.default_view(), "", SUFFIX)


def _obstacle(entry: Entry, page: Page | None) -> str:
    """Why a result cannot be opened by what was asked for; "" where it can."""
    if entry.problem or entry.request is None or page is None:
        return sentence(entry.problem)
    if entry.outdated:
        return f"{sentence(entry.outdated)} This one can only be downloaded."
    if not admission.allowed(entry.request.model, entry.request.revision):
        return "Its model is not offered here: download it."
    try:
        current(page.state).of_request(entry.request, entry.k_max)
        same_model = backend.key(entry.request).split("-")[0] == entry.key.split("-")[0]
    except CouplingError as error:
        return f"It can only be downloaded: {plain(str(error))}."
    return "" if same_model else "Its model is not the one that has this name now: download it."


def _kept(entry: Entry) -> str:
    """Why a result cannot be deleted; "" where it can."""
    if entry.read_only:
        return "It came with the program or lies in a shared folder, and cannot be deleted here."
    if backend.home(entry) is backend.store() and not admission.may_change_store():
        return "It stays for all who ask the same."
    return ""


def _open(entry: Entry, page: Page | None) -> None:
    if entry.request is not None and page is not None:
        change(**vars(current(page.state).of_request(entry.request, entry.k_max)))
        st.switch_page(page.file)


def _verify(entry: Entry) -> None:
    if problem := backend.home(entry).verify(entry.key):
        st.error(sentence(problem))
    else:
        st.success("Sound: every byte is as it was written.")


@st.dialog("Delete this result?")
def _confirm_delete(entry: Entry) -> None:
    st.markdown(f"`{entry.key}`, {size(entry.size)}. To get it back it must be computed again.")
    if st.button("Delete it", type="primary"):
        with plain_errors():
            backend.home(entry).remove(entry.key)
            st.session_state[_TOLD] = f"Deleted {entry.key}."
            st.rerun()
