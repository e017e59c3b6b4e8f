"""Coupling and accuracy over the rates of stochastic depth, of all runs."""

from typing import TYPE_CHECKING

import streamlit as st

from coupling_core import figures
from coupling_core.base.records import MEASURES, VISION_KINDS
from coupling_core.experiments.vision import SUITE
from explorer.pages.vision.state import GUIDE, VisionState
from explorer.panels import sweep_tables, sweep_words
from explorer.panels.chart import draw
from explorer.panels.recipes import Recipes
from explorer.panels.strip import take_along
from explorer.panels.sweep_words import said
from explorer.session.plain_text import plain, rounded
from explorer.session.session import bound

if TYPE_CHECKING:  # statistics import scipy, which the page does without until there is a table
    from coupling_core.experiments.vision.findings import VisionFindings

_BYTES = "application/octet-stream"
_KINDS = {"depth": "Class token, over blocks", "self": "All tokens, with each other"}
_NONE = """
These runs were not measured over pictures yet:

    coupling sweep run sweeps/vision.toml

Their numbers then stand here.
"""


def recipes(asked: "VisionFindings") -> Recipes:
    """How to come by what the runs say outside the app."""
    program = [
        "from pathlib import Path",
        "from coupling_core.sweeps import read_table",
        "from coupling_core.experiments.vision.findings import VisionFindings",
        "",
        "# the table that the command below leaves in the store",
        "table = read_table(next(Path('cache').glob('sweeps/vision-*/table.csv')))",
        f"found = VisionFindings(table, {asked.k}, {asked.measure!r}, {asked.kind!r})",
        "print(*found.shows, *found.does_not_show, sep='\\n')",
        "print(found.runs)",
    ]
    return Recipes("\n".join(program), "coupling sweep run sweeps/vision.toml --store cache")


def show(state: VisionState) -> None:
    """Draw the coupling and accuracy of all runs."""
    answer = sweep_tables.vision(state.vision_k, state.measure, state.vision_kind)
    if answer is None:
        st.info(_NONE)
        return
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        _questions(state, answer)
    _strip(answer)
    rows, rate, source = answer.runs, state.rate, _source(answer)
    names = _names(answer)
    columns = st.columns(3, gap="medium")
    for column, (x, y) in zip(
        columns,
        (("rate", "coupling"), ("rate", "accuracy"), ("coupling", "accuracy")),
        strict=True,
    ):
        by_rate = answer.by_rate(y) if x == "rate" else None
        with column:
            draw(
                figures.vision_runs(rows, x, y, names, by_rate, chosen=rate, source=source),
                f"{y}-by-{x}",
                None,
                lambda: rows,
                picks=("rate",),
            )
    left, right = st.columns(2, gap="large")
    with left:
        said("What this shows", answer.shows)
    with right:
        said("What it does not show", answer.does_not_show)


def _questions(state: VisionState, answer: "VisionFindings") -> None:
    bound(
        st.segmented_control,
        "Measured",
        "vision_kind",
        VISION_KINDS,
        place="vision",
        format_func=_KINDS.__getitem__,
        required=True,
    )
    ks = sweep_tables.vision_ks()
    bound(
        st.segmented_control,
        "K, leading singular triplets",
        "vision_k",
        [*ks, *([state.vision_k] if state.vision_k not in ks else [])],
        place="vision",
        required=True,
    )
    bound(
        st.selectbox,
        "Measure of coupling",
        "measure",
        MEASURES,
        place="vision",
        format_func=sweep_words.MEASURES.__getitem__,
        width=240,
    )


def _names(answer: "VisionFindings") -> dict[str, str]:
    return {
        "rate": "Rate of stochastic depth",
        "accuracy": "Accuracy on held-out pictures",
        "coupling": f"Mean {sweep_words.MEASURES[answer.measure].lower()}, K = {answer.k}",
    }


def _strip(answer: "VisionFindings") -> None:
    """Say what is drawn, and offer link, files, recipes and a guide."""
    rows = answer.runs
    untrained = answer.untrained
    told = [
        f"**{plain(SUITE.title)}**",
        f"{len(rows)} runs, {rows['rate'].nunique()} rates, {rows['seed'].nunique()} seeds",
        f"{int(rows['pictures'].min())} pictures",
        f"before training {rounded(untrained.mean)} ({untrained.n} seeds)" * bool(untrained.n),
        f"trained on {SUITE.learned_words}",
    ]
    with st.container(gap="xsmall"):
        st.caption(" · ".join(filter(None, told)))
        take_along(lambda: _files(answer), recipes(answer), GUIDE)


def _source(answer: "VisionFindings") -> str:
    """Where the numbers of the runs come from, for files."""
    return f"{SUITE.title}; {answer.kind}, K = {answer.k}; sweep {sweep_tables.vision_sweep()}"


def _files(answer: "VisionFindings") -> None:
    rows = answer.runs
    st.download_button(
        "Runs, a row each (.csv)",
        lambda: rows.to_csv(index=False).encode(),
        "runs.csv",
        _BYTES,
        on_click="ignore",
        width="stretch",
    )
