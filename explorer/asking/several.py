"""Several measurements that one figure needs, through the one queue."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.base.units import duration
from coupling_core.experiments.gallery import UNTRAINED_SEED
from explorer.asking.queue import is_active, queue
from explorer.asking.watch import EVERY, left, show_progress, stop, tell_queue
from explorer.server import admission, backend
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import sentence
from explorer.session.session import change, device


def untrained_twin(request: Request) -> Request:
    """The same of the untrained twin, which has no quantised form."""
    seed = UNTRAINED_SEED if request.untrained is None else request.untrained
    return replace(request, untrained=seed, quantize=None)


def counterpart(request: Request) -> Request:
    """The same of the untrained twin; of the trained model where the twin itself was asked for."""
    if request.untrained is None:
        return untrained_twin(request)
    return replace(request, untrained=None)


def stored_twin(request: Request) -> Result | None:
    """The same of the untrained twin, where it is stored; None of a twin itself."""
    return None if request.untrained is not None else backend.find(untrained_twin(request))


def offer_twin(request: Request) -> None:
    """Offer to measure the untrained twin of what is shown, where it is not stored."""
    asked = untrained_twin(request)
    is_there = request.untrained is not None or backend.find(asked) is not None
    if is_there or backend.gone(request):
        return
    status = queue().status(backend.key(asked))
    # Whoever has asked for it sees at once how far it is, or why it failed.
    is_told = is_active(status) or (status is not None and status.state == "failed")
    with st.container() if is_told else st.expander("Measure the untrained twin", type="compact"):
        offer("untrained twin", asked)


def offer(what: str, request: Request) -> None:
    """Offer to measure what stands beside a figure, if the model is still here."""
    if backend.gone(request):
        st.caption(f"The {what} was not measured while this model was here.")
        return
    with plain_errors():
        together({what: request}, f"Measure the {what} too", what.capitalize())


def together(
    requests: Mapping[str, Request], one: str = "Compute", who: str = ""
) -> dict[str, Result]:
    """The stored results; where some are lacking, offer to measure them, or tell how far they are.

    A session that comes to running jobs, by a refresh or by a link, joins them. Those that are
    stored come in the same order. `one` is what the button says where one of them is lacking, and
    `who` is measured, where it is another model than the page's.
    """
    found = {name: backend.find(request) for name, request in requests.items()}
    lacking = [requests[name] for name, result in found.items() if result is None]
    if lacking:
        _measure(lacking, len(requests), one, who)
    return {name: result for name, result in found.items() if result is not None}


def _measure(lacking: Sequence[Request], of: int, one: str, who: str) -> None:
    keys = [backend.key(request) for request in lacking]
    statuses = [queue().status(key) for key in keys]
    running = [
        (key, request)
        for key, request, status in zip(keys, lacking, statuses, strict=True)
        if is_active(status) and not queue().has_left(key)
    ]
    if running:
        for key, request in running:
            if not queue().waits(key):
                queue().join(request)
        _follow([key for key, _ in running], of, who)
        return
    for error in dict.fromkeys(s.error for s in statuses if s and s.state == "failed"):
        st.error(sentence(error), icon=":material/error:")
    for request in lacking:
        admission.require(backend.resolved(request))
    n = len(lacking)
    lack = f"{n} of {of} are not measured yet" if n < of else "Not measured yet"
    st.info(f"{lack}{_cost(lacking)}.")
    tell_queue()
    if st.button(
        one if n == 1 else f"Compute all {n}",
        type="primary",
        on_click=change,
        icon=":material/play_arrow:",
        key="compute@together",
    ):
        for request in lacking:
            queue().join(request)
        st.rerun()


def _cost(lacking: Sequence[Request]) -> str:
    """About how long it takes to measure them one after the other; "" where that is not known."""
    entries = backend.entries()
    asked = [backend.resolved(request) for request in lacking]
    with st.spinner("Estimating how long it takes…"):
        found = [admission.require_time(one, device(), entries) for one in asked]
    if None in found:
        return ""
    seconds = sum(one.seconds for one in found if one)
    return f": about {duration(seconds)} of computing"


def _follow(keys: Sequence[str], of: int, who: str) -> None:
    """Look at the jobs until they have ended, then draw the whole page anew."""

    @st.fragment(run_every=EVERY)
    def follow() -> None:
        waiting = left(keys)
        if not waiting:
            st.rerun()
        show_progress(waiting, of, who)
        st.button("Cancel", on_click=stop, args=waiting, icon=":material/stop:")

    follow()
