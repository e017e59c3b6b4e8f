"""The chosen pair of blocks: its coupling, the effect of its edit, and what the model then says."""

from dataclasses import replace

import streamlit as st

from coupling_core.analysis.coupling_effect import PairEdit
from coupling_core.analysis.effects import mean_effects
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import EffectView, Request, View
from coupling_core.base.results import DepthResult, WhatIfResult
from coupling_core.base.settings import settings
from coupling_core.base.units import percent, rounded, with_minus
from coupling_core.experiments.effects import stored_continuations
from coupling_core.figures.effects import edit_name
from coupling_core.measuring.one_edit import TOKENS, Said, continuations
from explorer.panels.kept import kept
from explorer.server import admission, backend
from explorer.server.engine import ask
from explorer.session.chips import quoted
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain, sentence

_ASKED = "_continued"
"""Where the session keeps for which prompt continuations were asked for."""


def show(
    result: WhatIfResult,
    depth: DepthResult | None,
    edit: PairEdit,
    chosen: tuple[int, int],
    view: View,
) -> None:
    """Tell of the pair.

    The coupling is None where it is not measured yet.
    """
    name = edit_name(edit, chosen)
    first, second = chosen
    done = "interchanged" if edit == "interchange" else f"in the slot of block {first}"
    title = f"Blocks {min(chosen)} and {max(chosen)} {done}"
    if edit == "replace":
        title = f"Block {second} {done}"
    st.header(title, anchor=False)
    if first == second:
        st.info("Nothing is edited where a block is in its own place: choose two blocks.")
        return
    if why := result.refused.get(name):
        st.info(f"This cannot be run: {sentence(why)}")
        return
    whole = replace(view, blocks=None)
    _numbers(result, depth, name, chosen, whole)
    _continuations(result.request, name)


def _numbers(
    result: WhatIfResult,
    depth: DepthResult | None,
    name: str,
    chosen: tuple[int, int],
    view: View,
) -> None:
    at = result.edits.index(name)
    effect, stays = (
        float(mean_effects(result, EffectView(), number)[at]) for number in ("divergence", "stays")
    )
    told = {"Effect": f"{effect:.3g} {result.unit}"}
    if stays == stays:  # not NaN, which a model without a head has
        told["Same next token"] = f"{percent(stays)} of tokens"
    if depth is not None:
        found = score_pairs(depth, view).corrected
        for block, basis in (chosen, chosen[::-1]):
            told[f"Coupling, {block} in the basis of {basis}"] = with_minus(
                rounded(found[block - 1, basis - 1])
            )
    with st.container(horizontal=True, gap="large"):
        for label, value in told.items():
            st.metric(label, value, width="content")


def _continuations(request: Request, name: str) -> None:
    """What comes next, before and after; stored, or computed when that is asked for."""
    found = stored_continuations(request, ("none", name))
    if found is None and st.session_state.get(_ASKED) == request:
        with plain_errors(), st.spinner(f"The model goes on for {TOKENS} tokens, twice"):
            found = kept(_asked, request, name)
    if found is not None:
        _tell(found)
    elif settings().read_only or backend.gone(request):
        st.caption("What the model says then is not stored for this pair, nor computed here.")
    elif st.button("What does the model say then?", icon=":material/play_arrow:"):
        st.session_state[_ASKED] = request
        st.rerun()


def _asked(request: Request, name: str) -> tuple[Said, ...]:
    admission.require(backend.resolved(request))
    return ask(continuations, request, ("none", name), about=request)  # type: ignore[no-any-return]


def _tell(found: tuple[Said, ...]) -> None:
    before, after = found
    for label, said in (("As it is", before), ("Edited", after)):
        text, probability = said.likeliest[0]
        others = ", ".join(
            f"{plain(quoted(other))} {percent(share)}" for other, share in said.likeliest[1:4]
        )
        st.markdown(
            f"**{label}:** next **{plain(quoted(text))}** ({percent(probability)}), then {others}"
        )
        st.code(said.continuation, language=None, wrap_lines=True)
    if before.likeliest[0][0] == after.likeliest[0][0]:
        st.caption(f"Edited, it still says {plain(quoted(after.likeliest[0][0]))} next.")
