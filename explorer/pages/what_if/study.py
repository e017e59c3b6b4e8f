"""Coupling against effect over many prompts, with all its controls, and as training goes on."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.coupling_effect import CouplingEffect, PairEdit
from coupling_core.analysis.effect_study import EffectStudy, study_of
from coupling_core.base.errors import InputError
from coupling_core.base.results import DepthResult, WhatIfResult
from coupling_core.base.units import with_minus
from coupling_core.experiments.effects import MINI, shipped, steps_of, subject_of, twin_of
from explorer.panels.chart import draw, made
from explorer.panels.kept import kept
from explorer.session.plain_text import plain, sentence

OVER = ("All blocks", "Inner blocks, 3..L-2")
"""What each of a study's correlations is over."""


def show(result: WhatIfResult, depth: DepthResult | None, k: int, edit: PairEdit) -> None:
    """Draw what ships for this model, or what this one prompt gives.

    The coupling is None where it is not measured yet.
    """
    subject = subject_of(result.request)
    found = shipped(subject) if subject else None
    if found is None and depth is not None:
        found = kept(study_of, ((depth, result),), min(k, depth.k_max))
    if found is not None:
        n, of = len(found.prompts), subject if subject and shipped(subject) else result
        over = f"over {n} prompts" if n > 1 else "on this prompt"
        st.header(f"Coupling against effect, {over}", anchor=False)
        _study(found, result.model_name, edit, of)
        twin = twin_of(subject) if subject else None
        other = shipped(twin) if twin else None
        if other is not None:
            name = "The untrained twin" if result.request.untrained is None else "The trained model"
            with st.expander(f"{name}, {over}", type="compact"):
                _told(kept(EffectStudy.correlations, other, edit, of=twin))
    _training(edit)


def _study(found: EffectStudy, title: str, edit: PairEdit, of: object) -> None:
    try:
        correlated = kept(EffectStudy.correlations, found, edit, of=(of, found.k))
    except InputError as error:  # too few blocks
        st.info(sentence(error))
        return
    left, right = st.columns(2, gap="large")
    with left:
        whole = correlated[0]
        figure = made(figures.coupling_against_effect, whole, of=(of, found.k, edit), title=title)
        draw(figure, f"coupling-against-effect-{title}", None, whole.to_pandas)
    with right:
        _told(correlated)


def _told(correlated: Sequence[CouplingEffect]) -> None:
    """All numbers, and what they show and do not."""
    named = dict(zip(OVER, correlated, strict=False))
    st.table(pd.DataFrame({name: _row(one) for name, one in named.items()}))
    for name, one in named.items():
        st.markdown(f"**{name}.** {plain(with_minus(one.verdict))}")


def _row(one: CouplingEffect) -> dict[str, str]:
    whole, given_distance = (p.removeprefix("p = ") for p in one.p_told)
    return {
        "pairs": f"{one.pairs}",
        "rho": with_minus(one.raw.words()),
        "rho of distance alone": with_minus(one.distance.words()),
        "rho given distance": with_minus(one.partial.words()),
        "Mantel p": whole,
        "Mantel p given distance": given_distance,
    }


def _training(edit: PairEdit) -> None:
    """The same of the mini suites by training step."""
    runs = {name: of for name in MINI if (of := steps_of(name))}
    if not runs:
        return
    st.header("As training goes on", anchor=False)
    columns = st.columns(len(runs), gap="large")
    for column, (name, studies) in zip(columns, runs.items(), strict=True):
        with column:
            figure = made(figures.effect_by_step, studies, edit, name, of=name)
            table = partial(figures.effect_by_step_table, studies, edit)
            draw(figure, f"effect-{name}", None, table)
