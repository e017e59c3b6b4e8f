"""The Compare page over directions: how far those of B are turned, and which are new."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.alignment import differences
from coupling_core.analysis.crossing import Crossing, CrossScores, cross
from coupling_core.base.records import DirectionsView, Request
from coupling_core.base.results import DirectionsResult
from coupling_core.base.settings import settings
from coupling_core.base.units import rounded, with_minus
from coupling_core.measuring.trying import cross_scores
from explorer.asking.several import together
from explorer.panels.chart import Shown, draw, made
from explorer.panels.kept import kept
from explorer.panels.recipes import Recipes
from explorer.panels.strip import Quiet, facts, page_file, take_along
from explorer.server import admission, backend
from explorer.server.engine import ask
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain
from explorer.session.session import bound, change

CHANCE = "no more than chance"
NEW = 50
"""Rows of the list of new directions."""
VIEW = DirectionsView()
GUIDE = """
**Angles.** The leading directions of a block span a subspace in A and one in B. Their principal
angles are 0 where the two are the same, and near 90 degrees where they have nothing to do with one
another; the dotted line is what independent subspaces of this size give. Where the weights of one
block differ, the blocks behind it see other states and turn with them: blocks before the first
difference are not turned at all, and a turn behind it is no sign of other weights by itself.

**New directions.** A direction of B is new where less than half of it lies among twice as many
leading directions of A's block. Its readout is told only where it says more than chance.

**In each other's bases.** The Jacobians of A, seen in the singular vectors of B's blocks, and the
other way round. In the same block the score is 1 where nothing was turned.
"""
FORMS = {"bfloat16": "bfloat16", "int8": "8 bits (int8)", "nf4": "4 bits (NF4)"}
"""Lower precisions, as people know them."""
_FORM = "_form"
"""Where the session keeps in which of them A is asked for as B."""
_ASKED = "_crossed"
"""Where the session keeps of which two results the maps were asked for."""


def show(a: DirectionsResult, b: DirectionsResult, leading: int) -> None:
    """Draw how the directions of B lie to those of A.

    A `leading` of 0 is half of the directions that are kept.
    """
    most = max(1, min(a.count, b.count) // 2)
    k = min(leading, most) or most
    found = cross(a, b, k)
    with st.container(gap="xsmall"):
        st.caption(f"They differ in {plain('; '.join(differences(a, b)))}.")
        sides = (("A", a), ("B", b))
        told = [f"**{side}** · {facts(result, VIEW)}" for side, result in sides]
        files = (page_file(f"directions-{a.model_name}-with-{b.model_name}"),)
        take_along(files, recipes(a, b, k), GUIDE, Quiet("What A and B are", told))
    st.header(question(a.request, b.request), anchor=False)
    st.markdown(found.verdict)
    _lower_precision(a.request, b.key)
    bound(
        st.slider,
        "Leading directions K",
        "leading",
        1,
        most,
        place="compare",
        write=lambda _: k,
        width=320,
    )
    figure = made(figures.crossing_angles, found, of=(a, b, k))
    draw(figure, "angles", Shown(b, VIEW), found.to_pandas)
    _new(found)
    _maps(a, b)


def question(a: Request, b: Request) -> str:
    """What a comparison answers, by what of the two requests differs."""
    alike: Mapping[str, Any] = {"dtype": Request.dtype, "quantize": Request.quantize}
    if replace(a, **alike) == replace(b, **alike):
        form = b.quantize or b.dtype
        return f"What {form} did to each block" if a != b else "A model against itself"
    if replace(a, untrained=None) == replace(b, untrained=None):
        return "What training did to each block"
    if replace(a, revision=None) == replace(b, revision=None):
        return "What training did between the two steps"
    return "Where the weights of B differ"


def _lower_precision(asked: Request, b: str) -> None:
    """Offer A itself in a lower precision as B, measured where it is not stored."""
    of_twin = asked.untrained is not None
    if settings().read_only or admission.is_demo() or backend.gone(asked):
        return
    with st.expander("Hold A against itself in a lower precision", type="compact"):
        with st.container(horizontal=True):
            for form in ("bfloat16",) if of_twin else FORMS:
                if st.button(FORMS[form], key=f"form-{form}@compare"):
                    st.session_state[_FORM] = form
        if form := st.session_state.get(_FORM):
            lower = {"dtype": form} if form == "bfloat16" else {"quantize": form}
            other = replace(asked, **lower)
            with plain_errors():
                found = together({form: other}, f"Measure A in {FORMS[form]}")
                if form in found:
                    del st.session_state[_FORM]
                    if found[form].key != b:
                        change(b=found[form].key)
                        st.rerun()


def recipes(a: DirectionsResult, b: DirectionsResult, k: int) -> Recipes:
    """How to come by the numbers outside the app."""
    program = [
        "from coupling_core import Store, cross, cross_scores",
        "",
        f'a, b = (Store().get(key) for key in ("{a.key}", "{b.key}"))',
        f"found = cross(a, b, {k})",
        "print(found.verdict)  # see also found.to_pandas(), found.new_directions()",
        "print(cross_scores(a, b).mean())  # the Jacobians of A in the bases of B",
    ]
    return Recipes("\n".join(program), f"coupling cross {a.key} {b.key} --k {k} --scores")


def _new(found: Crossing) -> None:
    st.header("New directions of B", anchor=False)
    table = found.new_directions()
    if table.empty:
        st.markdown("There are none.")
        return
    by_chance = round(len(table) / 100)
    st.markdown(
        f"{len(table)} of {found.new.size} are new. {int(table.beyond_chance.sum())} of these, "
        "which come first, have a readout that one random direction in a hundred has, so that "
        f"chance alone gives about {by_chance}."
    )
    table = table.sort_values(["beyond_chance", "inside"], ascending=[False, True]).head(NEW)
    told = {
        "direction": [
            f"{row['side']}_{row['component']} of block {row['block']}"
            for row in table.to_dict("records")
        ],
        "part in A": table.inside,
        "towards": np.where(table.beyond_chance, table.towards, CHANCE),
        "away": np.where(table.beyond_chance, table.away, CHANCE),
    }
    st.dataframe(
        pd.DataFrame(told),
        hide_index=True,
        height=320,
        column_config={"part in A": st.column_config.NumberColumn(format="%.2f")},
        alt="New directions of B with their readouts",
    )


def _maps(a: DirectionsResult, b: DirectionsResult) -> None:
    st.header("In each other's bases", anchor=False)
    asked = (a.key, b.key)
    if st.session_state.get(_ASKED) == asked:
        with plain_errors(), st.spinner("One model after the other is loaded"):
            _tell(a, b, kept(_crossed, a, b), kept(_crossed, b, a))
    elif settings().read_only or any(backend.gone(one.request) for one in (a, b)):
        st.caption("Jacobians are not taken here: that needs both models.")
    elif st.button("Take the Jacobians of both", icon=":material/play_arrow:"):
        st.session_state[_ASKED] = asked
        st.rerun()


def _crossed(a: DirectionsResult, b: DirectionsResult) -> CrossScores:
    admission.require(backend.resolved(a.request))
    return ask(partial(cross_scores, a, b, progress=False), about=a.request)  # type: ignore[no-any-return]


def _tell(a: DirectionsResult, b: DirectionsResult, there: CrossScores, back: CrossScores) -> None:
    with st.container(horizontal=True, gap="large"):
        for one, other, scores in (("A", "B", there), ("B", "A", back)):
            same = with_minus(rounded(float(np.nanmean(scores.same_block))))
            st.metric(f"{one} in the bases of {other}, same block", same, width="content")
            others = with_minus(rounded(scores.mean().corrected))
            st.metric(f"{one} in {other}, other blocks", others, width="content")
    figure = made(figures.crossed_scores, there, back, of=(a, b, "crossed"))
    draw(figure, "crossed", Shown(b, VIEW), there.to_pandas)
