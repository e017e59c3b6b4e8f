"""Coupling and accuracy over the rates of stochastic depth, of all runs; the page's state."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.exports import to_csv
from coupling_core.base.records import VisionKind
from coupling_core.base.units import counted
from coupling_core.experiments.gallery import VISION_K
from coupling_core.experiments.vision import SUITE
from explorer.panels import sweep_tables, sweep_words
from explorer.panels.chart import draw, made
from explorer.panels.recipes import Recipes
from explorer.panels.strip import Quiet, page_file, take_along
from explorer.panels.sweep_words import said
from explorer.panels.switches import switch
from explorer.session.link import Count, Natural, Parameter, expect
from explorer.session.plain_text import plain, rounded
from explorer.session.session import bound
from explorer.session.state import State

if TYPE_CHECKING:  # statistics import scipy, which the page does without until there is a table
    from coupling_core.experiments.vision.findings import VisionFindings

_PICTURE = re.compile(r"[\w-]{1,40}(/[\w-]{1,40})?")
_Picture = Annotated[str, expect(_PICTURE.fullmatch, "the name of a picture")]
_RATE = re.compile(r"0(\.\d{1,6})?")
_Rate = Annotated[str, expect(_RATE.fullmatch, "a number from 0 up to, but not, 1")]
GUIDE = """
**Each point is a run.** Every run is the same architecture with the same pictures; only the rate of
stochastic depth and the seed differ. Stochastic depth leaves out each block at random while the
model learns, the last one at the given rate and earlier ones less often.

**Coupling** is the mean score over all pairs of blocks and over many pictures: at the class token,
from which the classes are read, or between all tokens of a picture. Bars are 95\u00a0% intervals
over pictures; the band is that of the mean over seeds, by Student's *t*. Runs of one seed begin
with the same weights and see the images in the same order at every rate, so that the bands of two
rates move together: what is said of rates compares them within seeds.

**The picture.** Each patch is a token of its own. Click one, or the class token above, and the maps
beside it are of that token: one a rate, in one range. 0 is what a basis that has nothing to do with
the block would give, 1 is full coupling.

**Cause.** Rates were set by hand, so that a difference between rates beyond chance is the doing of
the rate. Whether coupling is what makes a model accurate does not follow from any of it.
"""
_KINDS = {"depth": "Class token, over blocks", "self": "All tokens, with each other"}
_NONE = """
These runs were not measured over pictures yet:

    coupling sweep run sweeps/vision.toml

Their numbers then appear here.
"""


@dataclass(frozen=True)
class VisionState(State):
    """What is chosen on this page.

    Args:
        picture: which one is shown; empty is the first.
        patch: the token of it that is measured, 1..n.
        vision_seed: of the runs whose maps are drawn.
        rate: of stochastic depth, the run that is looked at; empty is the first.
        vision_kind: what is compared over the runs.
        vision_k: number of leading triplets.
    """

    picture: _Picture = ""
    patch: Count = 1
    vision_seed: Annotated[Natural, Parameter("seed")] = 0
    rate: _Rate = ""
    vision_kind: Annotated[VisionKind, Parameter("vkind")] = "depth"
    vision_k: Annotated[Count, Parameter("vk")] = VISION_K


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
                made(
                    figures.vision_runs,
                    *(rows, x, y, names, by_rate),
                    of=answer,
                    chosen=rate,
                    source=source,
                ),
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
    measures = dict.fromkeys((*sweep_tables.vision_measures(), state.measure))
    switch("Measured", "vision_kind", _KINDS, place="vision")
    ks = dict.fromkeys((*sweep_tables.vision_ks(), state.vision_k))
    offered = {k: str(k) for k in ks}
    switch("K: leading directions of each block", "vision_k", offered, place="vision")
    bound(
        st.selectbox,
        "Measure of coupling",
        "measure",
        list(measures),
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
        f"{counted(len(rows), 'run')}, {counted(rows['rate'].nunique(), 'rate')}, "
        f"{counted(rows['seed'].nunique(), 'seed')}",
        f"{int(rows['pictures'].min())} pictures",
        f"before training {rounded(untrained.mean)} ({counted(untrained.n, 'seed')})"
        * bool(untrained.n),
        f"trained on {SUITE.learned_words}",
    ]
    with st.container(gap="xsmall"):
        quiet = Quiet(told[0], [" · ".join(filter(None, told))])
        table = ("Runs, one row each (.csv)", lambda: to_csv(rows), "vision-runs.csv")
        files = [page_file(f"vision-K-{answer.k}"), table]
        take_along(files, recipes(answer), GUIDE, quiet)


def _source(answer: "VisionFindings") -> str:
    """Where the numbers of the runs come from, for files."""
    return f"{SUITE.title}; {answer.kind}, K = {answer.k}; sweep {sweep_tables.vision_sweep()}"
