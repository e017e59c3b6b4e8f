"""What a link asks for that this prompt or this model does not have: left out, and told of."""

from dataclasses import replace
from typing import Any, TypeVar

from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.records import DEFAULT_K, parse_blocks
from coupling_core.store.disk import Entry
from explorer.server import backend, prompt_lists
from explorer.session.session import tell
from explorer.session.state import State

S = TypeVar("S", bound=State)


def fitted(state: S) -> S:
    """The state without what does not exist, so that one bad value does not cost a whole page.

    What was chosen stays chosen, for it may exist on the next page. What is wrong with the model
    itself, the page tells.
    """
    for fit in (_list, _token, _blocks, _k):  # each by what the others have left
        state = replace(state, **fit(state))
    return state


def _list(state: State) -> dict[str, Any]:
    """One prompt in place of a list that is not here."""
    if not state.prompts or prompt_lists.get(state.prompts):
        return {}
    tell("the list of prompts that this link names is not here: paste it again, or open its file")
    return {"prompts": State.prompts}


def _token(state: State) -> dict[str, Any]:
    """The last token by the name that it is stored by, and in place of one that is not there."""
    if state.prompts:  # whose prompts have as many tokens as they have
        return {}
    n = _length(state)
    if not n or 1 <= state.token < n or -n <= state.token <= -1:
        return {}
    if state.token != n:
        tell(
            f"token {state.token} does not exist: this prompt has tokens 1..{n}; the last is shown"
        )
    return {"token": State.token}


def _length(state: State) -> int:
    """How many tokens the prompt has; 0 where nothing tells."""
    try:
        if tokens := backend.resolved(state.request()).tokens:
            return len(tokens.texts)
        stored = backend.find(replace(state.request(), token=State.token))
    except CouplingError:
        return 0
    return len(stored.tokens) if stored else 0


def _blocks(state: State) -> dict[str, Any]:
    """All blocks in place of a range that the model does not have."""
    if not state.blocks:
        return {}
    try:
        for entry in _known(state)[:1]:
            parse_blocks(state.blocks, entry.n_blocks)
    except InputError as error:
        tell(f"{error}; all blocks are shown")
        return {"blocks": State.blocks}
    return {}


def narrow(state: State) -> int | None:
    """Width of a model of which something is stored, where the default K is more; else None."""
    widths = [entry.k_max for entry in _known(state) if entry.k_max]
    return max(widths) if widths and max(widths) < DEFAULT_K else None


def _known(state: State) -> list[Entry]:
    """What is stored of this model."""
    try:
        digest = backend.resolved(state.request()).identity.get("digest")
        return [entry for entry in backend.entries() if entry.identity.get("digest") == digest]
    except CouplingError:
        return []


def _k(state: State) -> dict[str, Any]:
    """The default in place of a K beyond the model's width."""
    if state.k <= (narrow(state) or DEFAULT_K) or state.k == State.k:
        return {}
    try:
        stored = backend.find(replace(state.request(), k=None))
    except CouplingError:
        return {}
    if stored is None or state.k <= stored.width:
        return {}
    tell(
        f"K = {state.k} is more than the model's width, {stored.width}; "
        f"K = {stored.default_k} is shown"
    )
    return {"k": stored.default_k}
