"""The one store of this process, and what may be asked of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, TypeVar

import streamlit as st

from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.base.settings import settings
from coupling_core.experiments.gallery import ships
from coupling_core.measuring.measure import find_stored
from coupling_core.measuring.worker import small
from coupling_core.serving import lists
from coupling_core.sources.identity import Source, locate
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.sources.suites import Suite, suites
from coupling_core.sources.tokens import Tokens, run_apart
from coupling_core.store.disk import Entry, Store
from coupling_core.store.request_key import make_key
from explorer.server import admission
from explorer.server.single import Single
from explorer.server.turns import turns

T = TypeVar("T")

_OWN, _ADDED, _MODELS = "_own_results", "_added_results", "_models"
"""Where a session keeps the keys of what it asked for, the folder of what it added, and where the
models of the page are, or why they are nowhere."""


def _apart(work: Callable[[], Any]) -> Any:
    with turns.stepping_aside():
        return small.run(work)


run_apart(_apart)  # a tokenizer that somebody gave may end the process that reads it

_looking = Lock()

store = Single(Store)
"""The store that all sessions share."""


def own_suites() -> Mapping[str, Suite]:
    """This project's training runs of which something is on this disk, by the models' names."""
    return {suite.repo: suite for suite in suites().values() if suite.is_own and suite.known()}


def key(request: Request) -> str:
    """The key under which the answer to a request is stored."""
    return store().key(request, resolved(request).identity)


def list_key(requests: Iterable[Request]) -> str:
    """The key of the job that measures a list of prompts."""
    return lists.list_key(map(key, requests))


def last_list(keys: Sequence[str], status: Callable[[str], T | None]) -> T | None:
    """What is known of the job of a list of prompts, or of as much of its beginning as is known."""
    beginnings = (status(lists.list_key(keys[:n])) for n in range(len(keys), 0, -1))
    return next((found for found in beginnings if found is not None), None)


def held(request: Request) -> str:
    """The key of a result that answers a request, found without opening it; "" where none does.

    It may yet be damaged, which `find` finds out.
    """
    asked = resolved(request)
    found = store().holds(request, asked.identity)
    if not found and (_ADDED in st.session_state or request.final_norm == "exclude"):
        result = find(request)
        return result.key if result else ""
    if found:
        note_own(found)
    return found


def find(request: Request) -> Result | None:
    """The stored answer to a request, and of a model that went away what was measured before.

    What this session has added counts where there is no other.

    Raises:
        InputError: as `resolved` does, or where K exceeds the model's width.
        ComputeError: as `resolved` does.
    """
    asked = resolved(request)
    found = find_stored(asked, store())
    if found is not None:  # whoever can name it may see it in lists too
        note_own(found.key)
    elif _ADDED in st.session_state:
        found = find_stored(asked, added())
    return found


def look_again() -> None:
    """Have models looked for anew: a page looks for each of them once."""
    st.session_state.pop(_MODELS, None)


def resolved(request: Request) -> Resolved:
    """A request with its model; of one that went away, with who it was when last looked at."""
    try:
        admission.require_offered(request)
    except InputError:
        if not ships(request):  # what came with the program anybody may look at
            raise
    found: dict[tuple[str, str | None], Source | CouplingError]
    found = st.session_state.setdefault(_MODELS, {})
    name = request.model, request.revision
    if name not in found:
        try:
            with turns.stepping_aside():  # the hub may be asked
                found[name] = locate(request)
        except CouplingError as error:
            found[name] = error
    source = found[name]
    if isinstance(source, Source):
        return resolve(request, source)
    return Resolved(request, _who_it_was(request, source), None)


def tokens(request: Request) -> Tokens | None:
    """A prompt's tokens where they can be known now; whoever needs the model tells why not."""
    try:
        return resolved(request).tokens
    except CouplingError:
        return None


def gone(request: Request) -> str:
    """Why a model cannot be measured now whose results are stored; "" where it can."""
    resolved(request)
    found = st.session_state[_MODELS][request.model, request.revision]
    return str(found) if isinstance(found, CouplingError) else ""


def _who_it_was(request: Request, why: CouplingError) -> Mapping[str, Any]:
    """Who a model that went away was; where it never was there, it is told why."""
    known = [
        (entry.key, entry.identity)
        for entry in entries()
        if (asked := entry.request) and not entry.outdated
        if (asked.model, asked.revision) == (request.model, request.revision)
    ]
    # Modules of people's own share the name of their class: the one that was asked this.
    answers = [who for key, who in known if make_key(request, who).digest in key]
    for who in (*answers, *(who for _, who in known)):
        return who
    raise why


def get(key: str) -> Result:
    """A stored result by its key."""
    for entry in listed(entries()):
        if entry.key == key:
            return home(entry).get(key)
    raise InputError(
        f"there is no stored result {key!r} here"
        + ", or it is somebody else's: open what you measured, or add its file on the page Runs"
        * admission.is_demo()
    )


def note_own(key: str) -> None:
    """Remember that this session asked for a result."""
    st.session_state.setdefault(_OWN, set()).add(key)


def added() -> Store:
    """The results that this session has added for itself; the folder goes when the session does.

    Anybody can seal a file of invented numbers. Where strangers use the app, none may come into the
    store that all of them read.
    """
    if _ADDED not in st.session_state:
        st.session_state[_ADDED] = TemporaryDirectory(prefix="coupling-")
    folder = Path(st.session_state[_ADDED].name)
    root, nothing = folder / "added here", folder / "none"
    return Store(root, layers=(), gallery=nothing, max_bytes=settings().upload_bytes)


def shelf() -> Store:
    """Where a file's results are put that this session adds."""
    return store() if admission.may_change_store() else added()


def home(entry: Entry) -> Store:
    """The store of an entry."""
    own = added() if _ADDED in st.session_state else None
    return own if own and entry.path.parent == own.root else store()


def entries() -> list[Entry]:
    """What is stored, read again whenever a result came or went."""
    with _looking:  # one session looks, and the others that ask meanwhile have it from there
        return _entries(store(), stamp())


def listed(entries: Iterable[Entry]) -> list[Entry]:
    """What this session may see: in a demo nothing that only others have asked for."""
    if admission.is_demo():
        own = st.session_state.get(_OWN, ())
        entries = [entry for entry in entries if entry.read_only or entry.key in own]
    shown = {entry.key: entry for entry in entries}
    if _ADDED in st.session_state:
        shown = {entry.key: entry for entry in added().entries()} | shown
    return list(shown.values())


@lru_cache(maxsize=1)
def _entries(shelf: Store, stamp: tuple[int, ...]) -> list[Entry]:
    return shelf.entries()


def stamp() -> tuple[int, ...]:
    """Changes whenever a file enters or leaves the store."""
    folders = (store().root, *store().layers)
    return tuple(folder.stat().st_mtime_ns if folder.is_dir() else 0 for folder in folders)
