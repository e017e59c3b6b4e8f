"""What the stops draw, and the numbers that they tell: of stored results alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from jaxtyping import Float

from coupling_core import figures
from coupling_core.analysis.by_step import StepNumbers
from coupling_core.analysis.coupling_effect import CouplingEffect
from coupling_core.analysis.effects import effect_maps
from coupling_core.analysis.random_bases import random_scores
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.errors import InputError
from coupling_core.base.records import EffectView, Request, View
from coupling_core.base.results import DepthResult, Result, Scores, WhatIfResult
from coupling_core.experiments.effects import shipped, subject_of
from coupling_core.experiments.gallery import EXAMPLES, MODELS
from coupling_core.figures.depth_curves import random_bases, reaction, reactions
from coupling_core.figures.two_bases import in_basis, in_other_basis, two_bases
from coupling_core.sources.aliases import terms_of
from coupling_core.sources.suites import DEFAULT_K, DEFAULT_SUITE
from explorer.asking.several import untrained_twin
from explorer.pages.tour.state import MOST_DRAWN, NONE, TourState
from explorer.pages.training import step_figures
from explorer.pages.training.courses import Run, open_run
from explorer.panels.chart import Shown, draw, made, third, wide
from explorer.panels.drawer import matrix, within
from explorer.panels.kept import kept
from explorer.server import backend
from explorer.session.plain_text import plain
from explorer.session.session import bound, change, value

if TYPE_CHECKING:  # which brings scipy, half a second, and is asked for at the last stop alone
    from coupling_core.experiments import pushing

REQUEST = Request(EXAMPLES[0])
"""The tour is about one prompt of the default model, whatever is chosen on other pages."""
BLOCK, BASIS = 12, 11
"""The pair that the questions are about."""
EXCHANGED = (1, 2)
"""Another pair of neighbours, which does not bear being exchanged."""
FAR = 15
"""Blocks more apart than this are called far."""
_CURVES = {
    "corrected": "Mean score of all pairs of different blocks: 0 is chance.",
    "loss": "Nats a token on text that it does not learn: the lower, the better.",
}
FIGURE_WIDTH = 780
"""Pixels of a figure that stands alone."""
AT_A_TIME = 5
"""Random bases that one click draws."""


def stored(request: Request) -> Result:
    """A result that comes with the program."""
    found = backend.find(request)
    if found is None:
        raise InputError(
            "the tour shows results that come with the program, and one of them is missing: "
            "restore the folder cache/gallery"
        )
    return found


def trained() -> DepthResult:
    """The trained model."""
    return stored(REQUEST)  # type: ignore[return-value]


def twin() -> DepthResult:
    """The same network before it learned anything."""
    return stored(untrained_twin(REQUEST))  # type: ignore[return-value]


def second() -> DepthResult:
    """Another model at the same prompt."""
    return stored(replace(REQUEST, model=MODELS[1]))  # type: ignore[return-value]


def edited() -> WhatIfResult:
    """What edits of its depth do."""
    return stored(replace(REQUEST, kind="what-if"))  # type: ignore[return-value]


def view_of(result: DepthResult) -> View:
    """How the tour looks at it."""
    return View(k=result.default_k)


def found(result: DepthResult) -> Scores:
    """The scores of all pairs."""
    return kept(score_pairs, result, view_of(result))


def mean(result: DepthResult, least: int = 1, most: int = 10**6) -> float:
    """Mean chance-corrected score of the pairs so many blocks apart.

    Without the Jacobian of the last block, which has the final norm in it.
    """
    corrected = found(result).corrected[:-1]
    apart = np.abs(np.subtract.outer(*map(np.arange, corrected.shape)))
    return float(corrected[(apart >= least) & (apart <= most)].mean())


def overlap(result: DepthResult) -> tuple[float, float]:
    """Mean overlap of the blocks' spaces, and that of random bases; without the last block."""
    blocks = tuple(range(1, result.n_blocks))
    view = replace(view_of(result), blocks=blocks, definition="overlap")
    found = kept(score_pairs, result, view).mean()
    return found.coupling, found.chance


def highest(result: DepthResult) -> tuple[int, int, float]:
    """The most coupled pair l != l', and its score; without the last block."""
    corrected = found(result).corrected[:-1, :-1].copy()
    np.fill_diagonal(corrected, -np.inf)
    row, column = np.unravel_index(int(corrected.argmax()), corrected.shape)
    return int(row) + 1, int(column) + 1, float(corrected[row, column])


def strongest(block: int) -> float:
    """A block's reaction to its strongest direction, in units of that to a random one."""
    return float(reactions(trained(), block)[0])


def draw_reaction(state: TourState) -> None:
    """The reactions of the chosen block, and what chooses it."""
    result = trained()
    block = min(state.reacts, result.n_blocks)
    bound(
        st.slider, "Block", "reacts", 1, result.n_blocks, place="tour", width=320,
        write=lambda _: block,
    )  # fmt: skip
    with st.container(width=wide(FIGURE_WIDTH)):
        draw(
            made(reaction, result, block),
            "reaction",
            Shown(result, view_of(result)),
            lambda: pd.DataFrame({"times a random direction": reactions(result, block)}),
        )


def draw_bases(state: TourState) -> None:
    """The two bases, and what turns the second."""
    label = "Turn the basis of block 2 (degrees)"
    bound(st.slider, label, "turn", -90, 90, place="tour", width=420, step=5)
    table = partial(pd.DataFrame, in_basis(state.turn))
    with st.container(width=wide(FIGURE_WIDTH)):
        left, right = st.columns(2, gap="medium")
        with left:
            draw(in_other_basis(state.turn), "in-the-other-basis", None, table)
        with right:
            draw(two_bases(state.turn), "two-bases", None, table)


def pair(state: TourState) -> tuple[int, int]:
    """The pair that is chosen: block of the Jacobian, and block of the basis."""
    return within(state, trained().n_blocks)


def draw_map(result: DepthResult, name: str, chosen: tuple[int, int] | None = None) -> None:
    """The scores of all pairs; where a pair is chosen, a click chooses another."""
    shown = Shown(result, view_of(result))
    figure = made(figures.scores, *shown, finish=_map, selected=chosen)
    picks = ("block", "basis") if chosen else ()
    draw(figure, name, shown, lambda: figures.scores_table(*shown), picks=picks)


def _map(figure: go.Figure) -> go.Figure:
    """A map with the tour's own caption."""
    limit = figure.data[0].zmax
    return _said(
        third(figure),
        "Row: the block whose Jacobian it is. Column: the block whose basis. Dark is chance, pink "
        f"is below it; yellow is {limit:g} or more, which is still far from 1.",
    )


def _cost(figure: go.Figure) -> go.Figure:
    caption = "Cost of letting the two blocks change places. Bright is cheap, dark is dear."
    return _said(third(figure), caption)


def _matrix(figure: go.Figure) -> go.Figure:
    return _said(third(figure), "The brighter, the stronger; the strongest directions come first.")


def _said(figure: go.Figure, caption: str) -> go.Figure:
    figure.layout.meta = figure.layout.meta | {"caption": caption}
    return figure


def draw_untrained(state: TourState) -> None:
    """The map of the twin."""
    with _half():
        draw_map(twin(), "untrained")


def draw_both(state: TourState) -> None:
    """The maps of the trained model and of the twin."""
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Trained**")
        draw_map(trained(), "trained")
    with right:
        st.markdown("**Untrained**")
        draw_map(twin(), "untrained")


def draw_two(state: TourState) -> None:
    """The maps of both models."""
    for column, result in zip(st.columns(2, gap="medium"), (trained(), second()), strict=True):
        with column:
            st.markdown(f"**{plain(result.model_name)}**")
            draw_map(result, f"map-{result.width}")
            st.caption(terms_of(result.identity))


def draw_pair(state: TourState) -> None:
    """The map, the matrix of the pair that is chosen on it, and after the guess the twin's."""
    chosen = pair(state)
    of_map, *places = st.columns(3, gap="medium")
    with of_map:
        st.markdown("**All pairs: click on one**")
        draw_map(trained(), "trained-map", chosen)
    both = {"trained": trained()} | ({} if state.guess == NONE else {"untrained": twin()})
    for place, (name, result) in zip(places, both.items(), strict=False):
        with place:
            st.markdown(f"**Block {chosen[0]} in the basis of block {chosen[1]}, {name}**")
            shown = Shown(result, view_of(result))
            matrix(shown, chosen, f"matrix-{name}", finish=_matrix)


def draw_random(state: TourState) -> None:
    """The raw scores of random bases, and the button that draws more."""
    result = trained()
    shown = Shown(result, view_of(result))
    st.button(
        f"Draw {AT_A_TIME} random bases",
        key="tour-draw",
        icon=":material/casino:",
        disabled=state.draws >= MOST_DRAWN,
        on_click=lambda: change(draws=min(MOST_DRAWN, value("draws") + AT_A_TIME)),
    )
    figure = made(random_bases, result, (BLOCK, BASIS), shown.view, state.draws)
    drawn = kept(random_scores, result, BLOCK, shown.view, state.draws)
    with st.container(width=wide(FIGURE_WIDTH)):
        draw(figure, "random-bases", shown, lambda: pd.DataFrame({"raw score": drawn}))


def run() -> Run:
    """The training run that comes with the program."""
    return open_run(DEFAULT_SUITE, REQUEST, spectra=False)


def by_step() -> Sequence[StepNumbers]:
    """Its numbers, by step."""
    return run().numbers(View(k=DEFAULT_K))


def draw_training(state: TourState) -> None:
    """The map at a step, coupling and loss by step, and what chooses the step."""
    of, view = run(), View(k=DEFAULT_K)
    steps = of.course.steps
    step = max((one for one in steps if one <= state.at), default=steps[0])
    bound(
        st.select_slider, "Training step", "at", steps, place="tour", width=520,
        format_func="{:,}".format, write=lambda _: step,
    )  # fmt: skip
    result = of.course.depth[step]
    shown = Shown(result, view)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        st.markdown(f"**All pairs, step {step:,}**")
        figure = made(figures.scores, *shown, finish=_map, limit=figures.map_limit(view.k))
        draw(figure, "step", shown, lambda: figures.scores_table(*shown))
    numbers: Mapping[str, Sequence[StepNumbers]] = {of.course.suite.title: by_step()}
    source = figures.training_source([of.course], view)
    for column, name, title in (
        (middle, "corrected", "Mean coupling"), (right, "loss", "Held-out loss"),
    ):  # fmt: skip
        with column:
            st.markdown(f"**{title}**")
            figure = go.Figure(
                step_figures.curve(numbers, name, view, step=step, source=source)
            ).update_layout(showlegend=False)
            _said(figure, _CURVES[name])
            draw(figure, name, shown, lambda: figures.steps_table(numbers), picks=("at",))


def cost() -> Float[np.ndarray, "block block"]:
    """KL in nats of exchanging two blocks."""
    return kept(effect_maps, edited(), EffectView()).interchange


def draw_exchange(state: TourState) -> None:
    """Coupling of all pairs, and what exchanging each of them costs."""
    result, chosen = edited(), pair(state)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**How coupled**")
        draw_map(trained(), "trained", chosen)
    with right:
        st.markdown("**What exchanging them costs**")
        seen = EffectView()
        figure = made(figures.effects, result, seen, finish=_cost, selected=chosen)
        table = partial(pd.DataFrame, cost())
        draw(figure, "exchange", Shown(result, seen), table, picks=("block", "basis"))


def correlated() -> CouplingEffect | None:
    """How coupling goes with the cost of an exchange over many prompts."""
    subject = subject_of(edited().request)
    study = shipped(subject) if subject else None
    return kept(study.correlated, "interchange", of=subject) if study else None


@st.cache_resource(show_spinner=False)
def pushed() -> "pushing.Difference":
    """What raising coupling did to the loss of small models."""
    from coupling_core.experiments import pushing

    return pushing.difference(pushing.read_runs(), "raise", "loss")


def _half() -> st.delta_generator.DeltaGenerator:
    """The left half of the page."""
    left, _ = st.columns(2, gap="medium")
    return left
