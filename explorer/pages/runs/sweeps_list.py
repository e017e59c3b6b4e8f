"""Sweeps on the Runs page: how far each is that runs or ran into this store."""

import pandas as pd
import streamlit as st

from coupling_core.base.units import counted, duration
from coupling_core.experiments.sweeps import Failure, Journal, State, journals
from explorer.server import admission, backend
from explorer.session.plain_text import plain

EVERY = 2.0
"""Seconds between two looks at a sweep that runs."""


def show() -> None:
    """Draw the sweeps, and keep them up to date while one runs; nothing where there is none."""
    noted = _noted()
    if not noted:
        return
    st.header("Sweeps", anchor=False)

    @st.fragment(run_every=EVERY if any(state.runs for _, state in noted) else None)
    def follow() -> None:
        for journal, state in _noted():
            _sweep(journal, state)

    follow()


def _noted() -> list[tuple[Journal, State]]:
    found = ((journal, journal.state()) for journal in journals(backend.store()))
    known = [(journal, state) for journal, state in found if state]
    return sorted(known, key=lambda pair: pair[1].started, reverse=True)


def _sweep(journal: Journal, state: State) -> None:
    ended = state.stored + state.done + state.failed
    title = plain(state.title)
    st.progress(min(1.0, ended / max(1, state.total)), f"**{title}**: {ended} of {state.total}")
    st.caption(_told(state))
    failures = journal.failures()
    if failures and not admission.is_demo():
        with st.expander(f"{state.failed} failed"):
            st.dataframe(_table(failures), hide_index=True, alt="Table of what failed, and why")


def _told(state: State) -> str:
    took = duration(state.updated - state.started)
    if state.runs:
        left = state.seconds_left
        parts = [
            f"Runs on {counted(state.workers, 'worker')} for {took}",
            f"about {duration(left)} left" if left == left else "",
            plain(", ".join(state.working)),
        ]
        return "; ".join(filter(None, parts)) + "."
    how = {"done": "Done", "stopped": "Stopped", "": "Ended without a word"}.get(state.ended)
    if not how:  # why names folders of this machine
        how = "Broken off" + f" ({plain(state.ended)})" * (not admission.is_demo())
    went_on = f"{how} after {took}: {state.done} measured"
    again = "; the same command goes on from there" * bool(state.left)
    return f"{went_on}, {state.stored} were stored before, {state.left} left{again}."


def _table(failures: list[Failure]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "Model": failure.model,
                "Prompt": failure.prompt,
                "Kind": failure.kind,
                "Why": failure.error,
                "Tries": failure.attempts,
            }
            for failure in failures
        ]
    )
