"""A model that was not measured before: what it is, what has to be fetched, and whether it fits."""

from html import escape

import streamlit as st

from coupling_core.base.errors import CouplingError, refuse
from coupling_core.base.units import counted, duration, size
from coupling_core.measuring.forecast import Memory, Probe
from coupling_core.sources import hub
from coupling_core.sources.identity import Source
from coupling_core.sources.resolved import Resolved
from explorer.server import backend, needs
from explorer.server.estimate import Estimate
from explorer.server.turns import turns
from explorer.session.plain_text import plain, sentence
from explorer.session.session import change, current, device

REMEMBERED = 60
"""Seconds for which a download's plan stands."""

_PROBED = "_probed"
_WORDS = {"k": "Use K = {}", "quantize": "Leave out the quantisation"}
_STYLE = """<style>
.stHtml dl.facts { display: grid; grid-template-columns: auto 1fr; gap: .15rem .75rem;
  margin: 0; padding: 0; font-size: .82rem; line-height: 1.35 }
.facts dt { opacity: .7; font-weight: 400 }
.facts dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
</style>"""


def button() -> None:
    """Offer to say what the chosen model is, before anything is computed."""
    asked = (current().model, current().revision, current().stack)
    if st.button("Probe", help="Says what this model is, before any of its weights are loaded."):
        st.session_state[_PROBED] = asked
    if st.session_state.get(_PROBED) != asked:
        return
    try:
        found = _model(backend.resolved(current().request()))
    except CouplingError as error:
        st.error(sentence(error))
        return
    rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in found.facts())
    st.html(f'{_STYLE}<dl class="facts">{rows}</dl>')


def download(source: Source) -> None:
    """Say what has to be fetched before a hub model can be measured."""
    if source.kind != "hub":
        return
    todo = _plan(source.location, source.digest)
    todo.require_room()
    if todo.size:
        st.markdown(
            f"To be downloaded first: **{size(todo.size)}** in {counted(todo.missing, 'file')}; "
            f"{size(todo.free)} are free "
            "on the disk. It can be stopped, and goes on later from what has arrived."
        )


def cost(asked: Resolved, tokens: int | None, expected: Estimate | None) -> None:
    """Say what the model is, and what measuring it takes.

    Tokens that cannot be counted yet, and a time that is not known, are None.
    """
    found = _model(asked)
    refuse(
        (found.refusal, found.refusal),
        (
            tokens and found.longest and tokens > found.longest,
            f"the prompt has {tokens} tokens and this model takes at most {found.longest}: "
            "shorten it",
        ),
    )
    st.markdown(f"{_summary(found)} {_time(expected)}")
    memory(asked)


def memory(asked: Resolved) -> None:
    """Say what memory measuring it takes, and what would fit where it does not."""
    what = needs.memory(asked, device())
    needed = what.memory
    if needed.fits:
        st.markdown(_fits(needed))
        return
    st.warning(
        f"About {size(needed.needed)} of memory is needed, and {size(needed.free)} may be used: "
        "it does not fit."
    )
    for field, value in what.changes.items():
        st.button(_WORDS[field].format(value), on_click=change, kwargs=what.changes)
    if what.changes:
        return
    shorter = f"A prompt of at most {what.longest} tokens would fit. " if what.longest else ""
    st.caption(
        f"{shorter}Otherwise close other programs, or choose a smaller model or another device."
    )


def count_blocks(asked: Resolved) -> int | None:
    """L of a model that was not measured before; None where it is not known."""
    return _model(asked).blocks


def _summary(found: Probe) -> str:
    kind = {True: "causal ", False: "bidirectional ", None: ""}[found.causal]
    stack = f" of the {found.stack}" if found.stack else ""
    return (
        f"**{plain(found.architecture)}**: {found.blocks} {kind}blocks{stack}, width "
        f"{found.width}, {found.parameters:,} parameters."
    )


def _time(expected: Estimate | None) -> str:
    if expected is None:
        return "It was not measured before, so how long it takes is not known."
    return (
        f"About **{duration(expected.seconds)}** of computing once it is loaded: an estimate from "
        "its shape and this machine's speed, for it was not measured before."
    )


def _fits(needed: Memory) -> str:
    of = f"About **{size(needed.needed)}** of memory is needed, and {size(needed.free)} may be used"
    if not needed.streamed:
        return f"{of}: it fits."
    return (
        f"{of}. The weights as a whole would not fit: they are streamed from the disk, one block "
        "at a time, which is slower and gives the same numbers."
    )


def _model(asked: Resolved) -> Probe:
    with st.spinner("Reading what this model is…"):
        return needs.model_of(asked)


@st.cache_resource(ttl=REMEMBERED, max_entries=100, show_spinner="Asking the hub for sizes…")
def _plan(repo: str, commit: str) -> hub.Download:
    with turns.stepping_aside():
        return hub.plan(repo, commit)
