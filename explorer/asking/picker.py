"""Which model is measured: one of the list or any other, its revision, and how it is loaded."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from coupling_core.base.errors import CouplingError
from coupling_core.base.records import DTYPES
from coupling_core.sources import hub
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.identity import is_hub_id
from coupling_core.sources.suites import Suite, revision, step_of, suites
from explorer.asking import preview
from explorer.server import admission, backend, needs
from explorer.server.turns import turns
from explorer.session.choice import choice
from explorer.session.plain_text import sentence, weights_form
from explorer.session.session import bound, choose_device, current, device, draw

OTHER_MODEL = "Another model…"
REMEMBERED = 300
"""Seconds for which the hub's list of revisions stands."""

# A list shows None as if nothing were chosen, and so the field's None has a name here.
_QUANTISED = {"none": "Not quantised", "nf4": "NF4", "int8": "Int8"}
_STACKS = {"decoder": "Decoder", "encoder": "Encoder"}
_DEVICE = "device@sidebar"


def picker() -> None:
    """Draw the controls."""
    local = not admission.is_demo()
    listed = admission.offered()
    own = backend.own_suites()
    options = list(listed) if listed else [*ALIASES, *own, OTHER_MODEL]
    if choice("Model", "model", options, OTHER_MODEL, _short):
        _other()
    elif suite := own.get(current().model):
        _step(suite)
    elif names := admission.revisions(current().model):
        bound(st.selectbox, "Revision", "revision", names, place="listed")
    if local:
        _how_it_is_loaded()


def _short(model: str) -> str:
    return model.removeprefix(f"{hub.cache.OWNER}/")


def _step(suite: Suite) -> None:
    """Choose a checkpoint of a training run; the last is its default."""
    known = [revision(step) for step in suite.known()]
    names = [name for name in known if admission.allowed(suite.repo, name)] or known
    chosen = current().revision or names[-1]
    bound(
        st.selectbox,
        "Training step",
        "revision",
        names if chosen in names else [*names, chosen],
        place=f"step-{suite.name}",
        write=lambda name: name or names[-1],
        format_func=lambda name: f"{step:,}" if (step := step_of(name)) is not None else name,
        help=f"{suite.title}: which of its checkpoints is measured.",
    )


def _other() -> None:
    bound(
        st.text_input,
        "Hub id, folder or .gguf file",
        "model",
        place="own",
        placeholder="owner/name or a path",
    )
    model, revision = current().model.strip(), current().revision
    if is_hub_id(model) or revision:  # else there is nothing that could have revisions
        known = _revisions(model)
        bound(
            st.selectbox,
            "Revision",
            "revision",
            known if revision in ("", *known) else [*known, revision],
            read=lambda name: name or "",
            write=lambda name: name or None,
            accept_new_options=True,
            placeholder="main, or type one",
        )
    for suite in suites().values():
        if suite.repo == model and suite.caution:
            st.warning(sentence(suite.caution))
    if model not in ALIASES:
        preview.button()


@st.cache_data(ttl=REMEMBERED, max_entries=100, show_spinner="Asking the hub for revisions…")
def _revisions(repo: str) -> Sequence[str]:
    """Names of branches, tags and cached commits; none where none can be known."""
    try:
        with turns.stepping_aside():
            return [revision.name for revision in hub.revisions(repo)]
    except CouplingError:
        return []


def _how_it_is_loaded() -> None:
    fold = st.expander("How it is loaded", key="loading@sidebar", on_change="rerun")
    with fold:
        bound(
            st.selectbox,
            "Weights rounded to",
            "dtype",
            DTYPES,
            help="What the weights are rounded to. The arithmetic is float32 in any case.",
        )
        bound(
            st.selectbox,
            "Quantisation",
            "quantize",
            tuple(_QUANTISED),
            read=lambda form: None if form == "none" else form,
            write=lambda form: form or "none",
            format_func=_QUANTISED.__getitem__,
            disabled=current().untrained is not None,
            help="Measures what bitsandbytes makes of the weights. An untrained twin has none.",
        )
        if current().stack or _has_two_stacks():
            bound(
                st.segmented_control,
                "Stack",
                "stack",
                tuple(_STACKS),
                read=lambda stack: None if stack == "decoder" else stack,
                write=lambda stack: stack or "decoder",
                format_func=_STACKS.__getitem__,
                required=True,
            )
        if fold.open:  # to look for devices takes torch, and seconds
            _device()
    with suppress(CouplingError):  # the page tells
        form = weights_form(current().request())
        if form and not fold.open:
            st.caption(f"{form[0].upper()}{form[1:]}.")


def _has_two_stacks() -> bool:
    with suppress(CouplingError):  # the page tells
        return bool(backend.resolved(current().request()).config.get("is_encoder_decoder"))
    return False


def _take_device(names: Sequence[str]) -> None:
    if (name := st.session_state.get(_DEVICE)) in names:
        choose_device(name)


def _device() -> None:
    with st.spinner("Looking for devices…"):
        names = needs.devices()
    if len(names) == 1:
        return
    chosen = device()
    draw(
        st.selectbox,
        "Device",
        _DEVICE,
        chosen if chosen in names else names[0],
        lambda: _take_device(names),
        names,
        help="Where the next measurement computes; results of all devices are stored alike.",
    )
