"""A second run in the curves: another training run, or the same one with another prompt."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.sources.suites import Suite, suites
from explorer.pages.training.courses import Run, open_run
from explorer.pages.training.state import TrainingState
from explorer.server import backend
from explorer.server.admission import offered
from explorer.session.session import change, draw

NOTHING = "Nothing"
MOST = 12
"""Prompts to choose from, the last used first."""
SHORT = 30
"""Letters of a prompt in the curves' legend."""
_KEY = "over@training"


class Overlay(NamedTuple):
    """A run that is drawn over the first of those that are looked at.

    Args:
        run: as it is stored.
        is_prompt: whether it is the same training run with another prompt.
    """

    run: Run
    is_prompt: bool


def overlay(state: TrainingState) -> Overlay | None:
    """The run that is drawn over the first; None where none is chosen."""
    found = state.beside()
    if found is None:
        return None
    suite, request = found
    run = open_run(suite.name, request, spectra=state.asks_spectra)
    return Overlay(run, request.prompt != state.prompt)


def named(runs: Sequence[Run], over: Overlay | None) -> dict[str, Run]:
    """The runs of the curves by what the legend calls them."""
    if over and over.is_prompt and len(runs) == 1:
        return {_quoted(run.request.prompt): run for run in (*runs, over.run)}
    found = {run.course.suite.title: run for run in runs}
    if over:
        title = over.run.course.suite.title
        found[f"{title}, {_quoted(over.run.request.prompt)}" if over.is_prompt else title] = (
            over.run
        )
    return found


def picker(state: TrainingState) -> None:
    """Draw the control that chooses what is drawn over the first run."""
    first = state.chosen_suites()[0]
    choices = {NOTHING: {"over": "", "over_prompt": ""}}
    for suite in _others(state.chosen_suites()):
        choices[suite.title] = {"over": suite.name, "over_prompt": ""}
    for prompt in _prompts(first, state):
        choices[_quoted(prompt)] = {"over": "", "over_prompt": prompt}

    def take() -> None:
        if (chosen := st.session_state.get(_KEY)) in choices:
            change(**choices[chosen])

    draw(
        st.selectbox,
        "Drawn over it",
        _KEY,
        _shown(choices, state),
        take,
        list(choices),
        width=300,
        help="Another run, or another prompt of the same run, in the same curves.",
    )


def _shown(choices: Mapping[str, Mapping[str, str]], state: TrainingState) -> str:
    wanted = {"over": state.over, "over_prompt": state.over_prompt}
    return next((label for label, fields in choices.items() if fields == wanted), NOTHING)


def _others(chosen: Iterable[Suite]) -> list[Suite]:
    """Runs of which something is stored or on this disk, but for those that are looked at."""
    shown, models = {suite.name for suite in chosen}, offered()
    stored = {entry.identity.get("id") for entry in backend.listed(backend.entries())}
    return [
        suite
        for suite in suites().values()
        if suite.name not in shown
        and (suite.repo in stored or suite.is_own)
        and (models is None or suite.repo in models)
    ]


def _prompts(suite: Suite, state: TrainingState) -> list[str]:
    """Prompts with which something of a run is stored, and the one that is drawn."""
    entries = backend.listed(backend.entries())
    asked = [e.request.prompt for e in entries if e.request and e.identity.get("id") == suite.repo]
    texts = [text for text in asked if isinstance(text, str)]
    found = dict.fromkeys((*EXAMPLES, *filter(None, [state.over_prompt]), *texts))
    return [text for text in found if text != state.prompt][:MOST]


def _quoted(prompt: object) -> str:
    text = prompt if isinstance(prompt, str) else "token ids"
    return f"“{textwrap.shorten(text, SHORT, placeholder='…')}”"
