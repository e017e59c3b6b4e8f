"""The Generalization page: coupling against performance, sizes, prompts and K, over many models."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from coupling_core import figures
from coupling_core.base.records import METHODS, MODEL_SIZES, PROMPT_NUMBERS
from coupling_core.base.units import with_minus
from coupling_core.experiments.sweeps import Journal
from explorer.pages.generalization import catalogue_editor
from explorer.pages.generalization.state import SweepState
from explorer.pages.generalization.strip import GUIDE, sweep_strip, title
from explorer.panels import sweep_tables, sweep_words
from explorer.panels.chart import draw, made
from explorer.panels.kept import kept
from explorer.panels.page import Page
from explorer.panels.sweep_words import said
from explorer.panels.switches import switch
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain, rounded, sentence
from explorer.session.session import bound

if TYPE_CHECKING:  # statistics import scipy, which the page does without until there is a table
    from coupling_core.analysis.findings import Findings
    from coupling_core.analysis.statistics import PromptTrends

LEAST = 3
"""Models below which nothing is said about how two numbers go together."""
_METHODS = {"pearson": "Pearson (lines)", "spearman": "Spearman (ranks)"}
_AGAINST = {"loss": "Held-out loss", "score": "Leaderboard score"}
_SIZES = {
    "parameters": "Parameters",
    "layers": "Depth",
    "width": "Width",
    "training_tokens": "Training tokens",
}
_NUMBERS = {"tokens": "Length", "difficulty": "Difficulty"}
PAGE = Page(
    "Generalization",
    "pages/6_Generalization.py",
    "Many models",
    state=SweepState,
    guide=GUIDE,
    picker=None,
)
_NONE = """
Nothing was swept yet. A sweep measures many models with many prompts:

    coupling sweep run sweeps/mini.toml

Its numbers then appear here.
"""


def show(state: SweepState) -> None:
    """Draw the page."""
    st.title("Coupling and performance", anchor=False)
    found = sweep_tables.tables()
    if not found:
        st.info(_NONE)
        catalogue_editor.show()
        return
    if state.sweep and state.sweep not in found:
        st.warning(f"There is no sweep {plain(state.sweep)} here: another one is shown.")
        state = replace(state, sweep="")
    _sidebar(state, found)
    journal = sweep_tables.chosen(state.sweep, found)
    asked = state.question(journal)
    answer = sweep_tables.answer(journal, asked)
    sweep_strip(journal, answer)
    _doubts(journal, answer, state)
    with plain_errors():
        _performance(answer)
    st.header("By size", anchor=False)
    with plain_errors():
        _sizes(answer, state)
    st.header("By prompt", anchor=False)
    with plain_errors():
        _prompts(answer, state)
    if len(answer.by_k) > 1:
        st.header("By K", anchor=False)
        with plain_errors():
            _by_k(answer)
    st.header("Published facts about models", anchor=False)
    catalogue_editor.show()


def _sidebar(state: SweepState, found: dict[str, Journal]) -> None:
    from coupling_core.analysis.statistics import SUBSETS

    with st.sidebar:
        _select(
            "Sweep",
            "sweep",
            list(found),
            write=lambda _: state.sweep or next(iter(found)),
            format_func=lambda name: title(found[name]),
        )
        journal = sweep_tables.chosen(state.sweep, found)
        shared, known = sweep_tables.offered(journal)
        asked = state.question(journal)
        _select(
            "K: leading directions of each block",
            "sweep_k",
            shared,
            write=lambda _: asked.k,
            format_func=lambda k: f"{k:g}",
            help="Those at which every model of the sweep was measured.",
        )
        bound(
            st.selectbox,
            "Measure of coupling",
            "measure",
            list(dict.fromkeys((*sweep_tables.measures(journal), state.measure))),
            format_func=sweep_words.MEASURES.__getitem__,
        )
        if known:
            options = [*known, *([asked.against] if asked.against not in known else [])]
            _select(
                "Performance",
                "against",
                options,
                write=lambda _: asked.against,
                format_func=_AGAINST.__getitem__,
                help="Held-out loss as the runs recorded it; leaderboard scores as published.",
            )
        _select(
            "Models",
            "subset",
            sweep_tables.subsets(journal),
            write=lambda _: asked.subset,
            format_func=lambda name: SUBSETS[name].title.capitalize(),
        )
        bound(st.selectbox, "Correlation", "method", METHODS, format_func=_METHODS.__getitem__)


def _select(label: str, field: str, options: Sequence[Any], **more: Any) -> None:
    """A list to choose from; of one choice only the name is told."""
    if len(options) > 1:
        bound(st.selectbox, label, field, options, **more)
    else:
        only = "".join(more["format_func"](one) for one in options)
        st.caption(f"{label}: **{plain(only)}**")


def _doubts(journal: Journal, answer: "Findings", state: SweepState) -> None:
    """What is wrong with the numbers, where anything is."""
    from coupling_core.analysis.statistics import SUBSETS

    doubts = []
    if state.sweep_k not in (SweepState.sweep_k, answer.question.k):
        doubts.append(
            f"not all models were measured at K = {state.sweep_k:g}: K = {answer.question.k:g} is "
            "shown"
        )
    if state.subset != answer.question.subset:
        doubts.append(f"the sweep has none of {SUBSETS[state.subset].title}: all are shown")
    for doubt in (*doubts, *answer.doubts(journal.plan())):
        st.warning(sentence(doubt), icon=":material/warning:")


def _performance(answer: "Findings") -> None:
    against = answer.question.against
    if len(answer.points) < LEAST:
        st.info(
            f"{len(answer.points)} of these models have a known {answer.performance}: it takes "
            f"{LEAST} to say how it goes with coupling. Coupling by size, by prompt and by K is "
            "below."
        )
        return
    _numbers(answer)
    left, right = st.columns([3, 2], gap="large")
    with left:
        means, fits = answer.means, answer.fits
        draw(
            made(figures.over_models, means, "coupling", against, fits, of=answer),
            "performance",
            None,
            lambda: figures.over_models_table(means, "coupling", against),
            picks=("of_model",),
        )
        if answer.by == "family":
            st.subheader("Without each family", anchor=False)
            draw(
                made(figures.without_families, answer.families, of=answer),
                "families",
                None,
                lambda: figures.correlations_table(answer.families.rows),
            )
    with right:
        said("What this shows", answer.shows)
        said("What it does not show", answer.does_not_show)


def _numbers(answer: "Findings") -> None:
    """n, R^2 and the correlations in a line, and p below it, which nobody should see first."""
    linear = answer.fits[0]
    over = linear.over_clusters
    pearson, spearman = (
        with_minus(rounded(answer.correlations[name].estimate, 2))
        for name in ("pearson", "spearman")
    )
    st.markdown(
        f"**{len(answer.points)}** models · R² of the line **{rounded(linear.r_squared, 2)}** · "
        f"Pearson's *r* **{pearson}** · Spearman's *ρ* **{spearman}**"  # noqa: RUF001
    )
    st.caption(
        f"No p over whole {over.of}: {over.reason}."
        if over.reason
        else f"Over whole {over.of}: {over.p_told}."
    )


def _sizes(answer: "Findings", state: SweepState) -> None:
    rows = answer.means.rows
    varied = [size for size in MODEL_SIZES if rows[size].nunique() > 1]
    if not varied:
        st.info("These models have no known size in which they differ.")
        return
    size = state.model_size if state.model_size in varied else varied[0]
    words = {each: _SIZES[each] for each in varied}
    switch("Size", "model_size", words, place="sizes", write=lambda _: size)
    draw(
        made(figures.over_models, answer.means, size, "coupling", of=answer),
        "sizes",
        None,
        lambda: figures.over_models_table(answer.means, size, "coupling"),
        picks=("of_model",),
    )


def _prompts(answer: "Findings", state: SweepState) -> None:
    varied = [n for n in PROMPT_NUMBERS if answer.table[n].nunique() > 1]
    if not varied or answer.table["prompt"].nunique() < LEAST:
        st.info("The prompts of this sweep are too few, or have no length or difficulty to vary.")
        return
    number = state.prompt_number if state.prompt_number in varied else varied[0]
    trends = kept(answer.trends, number)
    of_last = kept(answer.trends, number, last=True)
    models = [one.model for one in trends.models]
    model = state.of_model if state.of_model in models else _first(answer, of_last)
    with st.container(horizontal=True, gap="medium"):
        words = {each: _NUMBERS[each] for each in varied}
        switch(
            "Property of the prompt",
            "prompt_number",
            words,
            place="prompts",
            write=lambda _: number,
        )
        bound(
            st.selectbox,
            "Model, also by a click on its point above",
            "of_model",
            models,
            place="prompts",
            write=lambda _: model,
            width=420,
        )
    left, right = st.columns(2, gap="large")
    of_model = next(one for one in trends.models if one.model == model)
    with left:
        draw(
            made(figures.coupling_by_prompt, trends, model, of=(answer, number)),
            "prompt",
            None,
            lambda: figures.by_prompt_table(of_model, number),
        )
    with right:
        draw(
            made(figures.prompt_correlations, of_last, of=(answer, number)),
            "trends",
            None,
            lambda: figures.correlations_table(of_last.rows),
            picks=("of_model",),
        )


def _first(answer: "Findings", trends: "PromptTrends") -> str:
    """The model whose prompts are drawn where nobody chose: the last trained one."""
    rows = answer.means.rows
    trained = set(rows["model"][rows["trained"]])
    models = [one.model for one in trends.models]
    return next((model for model in reversed(models) if model in trained), models[-1])


def _by_k(answer: "Findings") -> None:
    left, right = st.columns(2, gap="large")
    with left:
        draw(
            made(figures.coupling_by_k, answer.by_k, of=answer),
            "by-k",
            None,
            lambda: figures.coupling_by_k_table(answer.by_k),
        )
    if len(answer.points) >= LEAST:
        with right:
            draw(
                made(
                    figures.correlation_by_k,
                    answer.correlations_by_k,
                    answer.question.against,
                    of=answer,
                ),
                "correlation-by-k",
                None,
                lambda: figures.correlations_table(answer.correlations_by_k, "k"),
            )
