"""A list of prompts through the queue, as one job: what is stored shows, the rest is offered."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import streamlit as st

from coupling_core.base.records import Request
from coupling_core.base.units import counted, duration
from coupling_core.serving.jobs import JobStatus
from coupling_core.serving.lists import Prompts
from coupling_core.sources.refusals import about
from coupling_core.sources.resolved import Resolved
from explorer.asking import lean, preview
from explorer.asking.queue import is_active, queue
from explorer.asking.watch import tell_queue, watch
from explorer.server import admission, backend
from explorer.server.estimate import Estimate
from explorer.server.prompt_lists import PromptList
from explorer.session.plain_text import plain, sentence
from explorer.session.session import change, device

MOST = 2000
"""Prompts' scores that stay in memory, whoever asked: each takes some twenty kilobytes."""
TOLD = 5
"""Prompts that could not be measured, of which it is said why."""

T = TypeVar("T")
Look = Callable[..., T]
"""What is kept of a result: called with it and with what `stored` is given."""


def asked(request: Request, listed: PromptList) -> list[Request]:
    """The request of each prompt of a list."""
    return [replace(request, prompt=prompt.text) for prompt in listed.prompts]


def stored(requests: Sequence[Request], look: Look[T], *args: Any) -> dict[int, T]:
    """What is kept of the results that are stored, by the prompts' numbers in their list, from 1.

    `look` is a function of a module, and its further arguments can be hashed.
    """
    found: dict[int, T] = {}
    with st.spinner("Reading what is stored of these prompts…"):
        for number, request in enumerate(requests, 1):
            if (key := backend.held(request)) and (kept := _kept(look, request, key, args)):
                found[number] = kept[0]
    return found


def offer(
    requests: Sequence[Request],
    lacking: Sequence[int],
    *,
    beside: bool = False,
    twin: Sequence[Request] = (),
) -> None:
    """Offer to measure what is lacking of a list, or tell how far that is.

    A session that comes to a running job of this list, by a refresh or by a link, joins it. The
    numbers of those that are `lacking` count from 1. The `twin` may be measured at once, and a
    model that stands `beside` the one that the page is about is named.
    """
    keys = [backend.key(request) for request in requests]
    is_twin = requests[0].untrained is not None
    who = "untrained twin" if is_twin else "trained model"
    status = _under_way(requests, keys)
    if status:
        if not queue().waits(status.key):
            queue().join_list(requests[: status.prompts.total if status.prompts else None])
        after = _under_way(twin, [backend.key(request) for request in twin]) if twin else None
        and_then = after.key if after else ""
        watch(status.key, lambda _: None, who=who.capitalize(), and_then=and_then)
        st.caption("Other pages can be read meanwhile; what is measured is kept.")
        return
    _last(backend.last_list(keys, queue().status), requests)
    rest = [backend.resolved(requests[number - 1]) for number in lacking]
    _require_each(rest, lacking)
    longest = max(rest, key=lambda one: one.n_tokens)
    preview.download(longest.files)
    with st.spinner("Estimating how long it takes…"):
        cost, taken = admission.require_list(rest, device(), backend.entries())
    which = "all" if len(lacking) == len(requests) else "the other"
    told = st.empty()
    both = bool(twin) and st.checkbox(
        "Measure the untrained twin too, which shows what is learned and what is not",
        value=True,
        key="twin@list",
    )
    of = f" in the {who}" if is_twin or beside else ""
    told.info(_cost(len(lacking), len(requests), cost, taken, of, both=both))
    tell_queue()
    preview.memory(longest)
    if st.button(
        _button(which, taken, len(lacking), f"the {who}" if beside else ""),
        type="primary",
        on_click=change,
        icon=":material/play_arrow:",
        key="compute@list",
    ):
        queue().join_list(requests[: lacking[taken - 1]])
        if both:
            queue().join_list(twin[: lacking[taken - 1]])
        st.rerun()


def _require_each(rest: Sequence[Resolved], lacking: Sequence[int]) -> None:
    """Refuse a prompt that is not taken on, by its number."""
    for number, one in zip(lacking, rest, strict=True):
        with about(f"prompt {number} of the list"):
            admission.require(one)


def _button(which: str, taken: int, lacking: int, beside: str) -> str:
    """What the button says."""
    if beside:
        return f"Measure {beside} too" if taken == lacking else f"Measure {beside} for {taken} more"
    if taken == 1:
        return "Compute one prompt"
    return f"Compute {f'the first {taken}' if taken < lacking else f'{which} {taken}'} prompts"


def _cost(lacking: int, of: int, cost: Estimate | None, taken: int, who: str, *, both: bool) -> str:
    """What a list lacks, and about how long it takes to measure it, or that and its twin."""
    are = "is" if lacking == 1 else "are"
    lead = (
        f"{lacking} of {counted(of, 'prompt')} {are} not measured yet{who}" if lacking < of else ""
    )
    lead = lead or f"None of these {of} prompts is measured yet{who}"
    if cost is None:
        return f"{lead}. How long it takes is not known."
    time = f"about {duration(cost.seconds * (1 + both))} of computing"
    time += " with the untrained twin" * both
    if taken < lacking:
        return f"{lead}. {taken} of them, {time}, are taken on at a time."
    return f"{lead}: {time}."


def _under_way(requests: Sequence[Request], keys: Sequence[str]) -> JobStatus | None:
    """The job that measures this list, or its beginning, unless this session has left it."""
    found = backend.last_list(keys, lambda key: _active(queue().status(key)))
    return found if found and not queue().has_left(found.key) else None


def _active(status: JobStatus | None) -> JobStatus | None:
    return status if is_active(status) else None


def _last(status: JobStatus | None, requests: Sequence[Request]) -> None:
    """Say how the last job of this list ended."""
    if status is None or status.prompts is None:
        return
    if status.state == "failed":
        st.error(sentence(status.error), icon=":material/error:")
    if status.state == "cancelled" or is_active(status):
        far = status.prompts
        st.info(
            sentence(status.error)
            if status.error
            else f"Stopped after {far.done} of {counted(far.total, 'prompt')}; what was measured "
            "is kept."
        )
    _left_out(status.prompts, requests)


def _left_out(prompts: Prompts, requests: Sequence[Request]) -> None:
    told = [
        f"- Prompt {number + 1} (“{plain(requests[number].prompt_words[:60])}”): {plain(error)}."
        for number, error in prompts.failed[:TOLD]
    ]
    if told:
        more = len(prompts.failed) - len(told)
        st.warning(
            "These prompts could not be measured, and are left out:\n\n"
            + "\n".join(told)
            + f"\n- and {more} more." * (more > 0)
        )


def _kept(look: Look[T], request: Request, key: str, args: tuple[Any, ...]) -> tuple[T, ...]:
    """What is kept of a stored result; nothing of one that cannot be read."""
    try:
        return (_read(look, request, key, args),)
    except LookupError:
        return ()


@lru_cache(maxsize=MOST)
def _read(look: Look[Any], request: Request, key: str, args: tuple[Any, ...]) -> Any:
    """The same, made once; raises `LookupError`, which is not remembered, where it is damaged."""
    found = lean.read(request, key)
    if found is None:
        raise LookupError
    return look(found, *args)
