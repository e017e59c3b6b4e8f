"""The one store of this process, and what may be asked of it."""

import os

import streamlit as st

from coupling_core.identity import ALIASES, identify
from coupling_core.measure import find_stored
from coupling_core.records import Request
from coupling_core.results import Result
from coupling_core.store import Entry, Store

HOSTED = "COUPLING_HOSTED"
"""Environment variable: 1 where strangers use the app, so that only the listed models and no paths
of this machine can be asked for."""


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """The store that all sessions share."""
    return Store()


def is_hosted() -> bool:
    """Whether strangers use the app."""
    return os.environ.get(HOSTED, "") == "1"


def allowed(model: str) -> bool:
    """Whether this model may be asked for here."""
    return not is_hosted() or model in ALIASES


def key(request: Request) -> str:
    """The key under which the answer to a request is stored; raises where it names no model."""
    return store().key(request, identify(request))


def find(request: Request) -> Result | None:
    """The stored answer to a request; raises where it names no model, or K exceeds its width."""
    return find_stored(request, store(), identify(request))


def get(key: str) -> Result:
    """A stored result by its key; raises where there is none, or it cannot be read."""
    return store().get(key)


def entries() -> list[Entry]:
    """What is stored, read again whenever a result came or went."""
    return _entries(_stamp())


@st.cache_resource(max_entries=1, show_spinner=False)
def _entries(stamp: tuple[int, ...]) -> list[Entry]:
    return store().entries()


def _stamp() -> tuple[int, ...]:
    """Changes whenever a file enters or leaves the store."""
    folders = (store().root, store().gallery)
    return tuple(folder.stat().st_mtime_ns if folder.is_dir() else 0 for folder in folders)
