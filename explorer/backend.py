"""The one store of this process, and what may be asked of it."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from coupling_core.errors import CouplingError
from coupling_core.identity import identify
from coupling_core.measure import find_stored
from coupling_core.records import Request
from coupling_core.results import Result
from coupling_core.settings import settings
from coupling_core.store import Entry, Store
from coupling_core.suites import Suite, suites
from explorer import admission

OWN = "_own_results"
"""Where a session keeps the keys of what it asked for."""


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """The store that all sessions share."""
    return Store(max_bytes=settings().store_bytes)


def own_suites() -> Mapping[str, Suite]:
    """This project's training runs of which something is on this disk, by the models' names."""
    return {suite.repo: suite for suite in suites().values() if suite.is_own and suite.known()}


def key(request: Request) -> str:
    """The key under which the answer to a request is stored; raises as `find` does."""
    return store().key(request, identity(request))


def find(request: Request) -> Result | None:
    """The stored answer to a request, and of a model that went away what was measured before.

    Raises:
        InputError: where its model never was there or is not offered, or K exceeds its width.
    """
    return find_stored(request, store(), identity(request))


def identity(request: Request) -> Mapping[str, Any]:
    """Who a model is; of one that went away, who it was when its results were last looked at.

    Raises:
        InputError: where it never was there, or is not offered.
        ComputeError: where a hub model that was never measured is missing, gated or out of reach.
    """
    admission.require_offered(request)
    try:
        return identify(request)
    except CouplingError:
        for entry in entries():
            asked = entry.request
            if asked and (asked.model, asked.revision) == (request.model, request.revision):
                return entry.identity
        raise


def gone(request: Request) -> str:
    """Why a model cannot be measured now whose results are stored; "" where it can."""
    try:
        identify(request)
    except CouplingError as error:
        return str(error)
    return ""


def get(key: str) -> Result:
    """A stored result by its key; raises where there is none, or it cannot be read."""
    return store().get(key)


def entries() -> list[Entry]:
    """What is stored, read again whenever a result came or went."""
    return _entries(stamp())


def listed(entries: Iterable[Entry]) -> list[Entry]:
    """Those of the entries that this session may see: in a demo, none that others have measured."""
    if not admission.is_demo():
        return list(entries)
    own = st.session_state.get(OWN, ())
    return [entry for entry in entries if entry.read_only or entry.key in own]


@st.cache_resource(max_entries=1, show_spinner=False)
def _entries(stamp: tuple[int, ...]) -> list[Entry]:
    return store().entries()


def stamp() -> tuple[int, ...]:
    """Changes whenever a file enters or leaves the store."""
    folders = (store().root, *store().layers)
    return tuple(folder.stat().st_mtime_ns if folder.is_dir() else 0 for folder in folders)
