"""The process that computes, one for this app: whatever needs torch is asked for here."""

from collections.abc import Callable
from functools import partial
from typing import Any

from coupling_core.base.records import Request
from coupling_core.measuring.worker import Worker
from explorer.server.turns import turns

worker = Worker()
"""Whatever a client does to Streamlit's caches, there is one; it starts when it is first asked."""

PATIENCE = 300.0
"""Seconds that a page waits for an answer: what is asked takes some, and half a minute while the
process starts. One that hangs as a whole is known by its silence, long before."""


def ask(function: Callable[..., Any], *args: Any, about: Request | None = None) -> Any:
    """What a function of a module gives there.

    The model of the request that it is `about` is remembered where it ends the process.
    """
    with turns.stepping_aside():
        return worker.call(partial(function, *args), about=about, longest=PATIENCE)
