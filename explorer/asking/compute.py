"""From a request to its result: what is stored shows at once, the rest waits for Compute."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from coupling_core.base.images import is_image, to_pixels
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_K, Request, resolve_token
from coupling_core.base.results import Result
from coupling_core.base.units import counted, duration
from coupling_core.serving.jobs import JobStatus
from coupling_core.sources.tokens import counted as in_words
from explorer.asking import preview
from explorer.asking.queue import is_active, queue
from explorer.asking.watch import loads, tell_queue, watch
from explorer.server import admission, backend
from explorer.server.estimate import Estimate
from explorer.session import chips
from explorer.session.plain_text import sentence
from explorer.session.session import change, device

DrawPartial = Callable[[Result], None]


def answer(request: Request, draw_partial: DrawPartial) -> Result | None:
    """The stored result; where there is none, what it would cost, or how far its job is.

    A session that comes to a running job of this request, by a refresh or by a link, joins it.
    """
    _trailing_space(request)
    result = backend.find(request)
    if result is not None:
        tell_gone(request)
        return result
    key = backend.key(request)
    status = queue().status(key)
    if is_active(status) and not queue().has_left(key):
        if not queue().waits(key):
            queue().join(request)
        watch(key, draw_partial)
        return None
    admission.require(backend.resolved(request))
    _offer(request, status)
    if st.button("Compute", type="primary", on_click=change, icon=":material/play_arrow:"):
        queue().join(request)
        st.rerun()
    if status and status.progress and status.progress.partial:
        draw_partial(status.progress.partial)
    return None


def _trailing_space(request: Request) -> None:
    """Say of a space at the end that it is a token of its own, and offer to cut it."""
    prompt = request.prompt
    if is_image(prompt) or not isinstance(prompt, str) or prompt == prompt.rstrip():
        return
    found = backend.tokens(request)
    own = [n for n, special in enumerate(found.special, 1) if not special] if found else []
    if found is None or not own or found.texts[own[-1] - 1].strip():
        return
    last, n = own[-1], len(found.texts)
    is_measured = request.token in (last, last - n - 1) and kind_of(request.kind).token
    st.warning(
        f"The prompt ends in a space, which is a token of its own: token {last} of {n}"
        + (", the one that is measured." if is_measured else ".")
    )
    st.button("Cut the space", on_click=change, kwargs={"prompt": prompt.rstrip()})


def tell_gone(request: Request) -> None:
    """Say of what is shown that its model is no longer here."""
    if why := backend.gone(request):
        st.warning(f"{sentence(why)} What was measured of it before is shown.")


def _offer(request: Request, status: JobStatus | None) -> None:
    """Say what would be computed, what it would cost, and how the last attempt ended."""
    st.subheader("Not measured yet", anchor=False)
    tokens = show_prompt(request)
    _cost(request, tokens)
    _larger_k(request)
    if status and status.state == "failed":
        st.error(sentence(status.error), icon=":material/error:")
    if status and (status.state == "cancelled" or is_active(status)):
        st.info(_stopped(status))
    tell_queue()


def show_prompt(request: Request) -> int | None:
    """Show the prompt's tokens, of which another may be chosen; gives how many, if known."""
    if is_image(request.prompt):
        st.image(to_pixels(str(request.prompt)), request.prompt_words, width=200)
        return backend.resolved(request).n_tokens
    tokens = backend.resolved(request).tokens
    if tokens is None:
        st.text(request.prompt_words)
        st.caption(
            "Its tokens can be counted once this model has been used here: its tokenizer is not "
            "on this disk yet."
        )
        return None
    n = len(tokens.texts)
    measured = resolve_token(request.token, n)
    if becomes := kind_of(request.kind).token:
        what = f"token {measured} is {becomes}"
    else:
        measured, what = 0, "all of them are measured"
    if becomes == "measured":
        chips.pick(tokens.texts, measured, tokens.special)
    else:
        chips.tokens(tokens.texts, measured, tokens.special)
    st.caption(f"{in_words(tokens.special)}; {what}.")
    return n


def _larger_k(request: Request) -> None:
    """Where only K stands in the way, say so, and offer the K that is stored."""
    if request.k is None or request.k <= DEFAULT_K:
        return
    stored = backend.find(replace(request, k=DEFAULT_K))
    if stored is None:
        return
    st.info(f"K = {request.k} has to be measured anew: what is stored goes up to {stored.k_max}.")
    st.button(f"Use K = {stored.k_max} instead", on_click=change, kwargs={"k": stored.k_max})


def _cost(request: Request, tokens: int | None) -> None:
    asked = backend.resolved(request)
    preview.download(asked.files)
    cost = admission.require_time(asked, device(), backend.entries())
    if cost and cost.runs:
        st.markdown(_costs(cost))
        preview.memory(asked)
    else:
        preview.cost(asked, tokens, cost)


def _costs(cost: Estimate) -> str:
    runs = counted(cost.runs, "earlier run")
    where = (
        "on this machine" if cost.here else "where the gallery was made; this machine may differ"
    )
    return (
        f"About **{duration(cost.seconds)}** of computing after {duration(cost.load_seconds)} of "
        f"loading (from the model's shape, and {runs} of it {where})."
    )


def _stopped(status: JobStatus) -> str:
    if status.error:
        return sentence(status.error)
    if is_active(status) and status.owners:
        return "You stopped waiting; someone else still waits for this measurement."
    if is_active(status) and loads(status):
        return "Stopping: it ends within seconds."
    if status.progress and status.progress.stage == "downloading":
        return "Stopped while the model was being downloaded; what has arrived is kept."
    progress = status.progress
    if progress is None or not progress.total:
        return "Stopped before it began."
    return f"Stopped after {progress.done} of {progress.total} {progress.stage}."
