"""What begins and ends with the server, whoever visits it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from streamlit import config
from streamlit.runtime import get_instance

from coupling_core.base import logs
from coupling_core.base.allocator import give_back
from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.settings import settings
from explorer.server.admission import is_demo
from explorer.server.engine import worker
from explorer.server.uploads import EVERY, megabytes, uploads

MINUTE = 60.0
"""Seconds between two times at which free memory is given back."""


@asynccontextmanager
async def begin(_: Any) -> AsyncIterator[None]:
    """Have the worker ready for the first visitor, with the model that the pages open on."""
    with suppress(InputError):  # every page tells of settings that cannot be used
        logs.set_up(whole_process=True)
        prepare()
        bound_uploads()
    tasks = [asyncio.create_task(of) for of in (_sweep(), _tidy())]
    yield
    for task in tasks:
        task.cancel()
    worker.close()


def bound_uploads() -> None:
    """Have Streamlit take files as large as ours may be: its own bound is on all that come."""
    config.set_option("server.maxUploadSize", megabytes())


async def _sweep() -> None:
    while True:
        await asyncio.sleep(EVERY)
        uploads.sweep(get_instance().uploaded_file_mgr)  # type: ignore[arg-type]


async def _tidy() -> None:
    """Sessions come and go, and what they leave free lies scattered."""
    while True:
        await asyncio.sleep(MINUTE)
        await asyncio.to_thread(give_back)


def prepare() -> None:
    """Begin to bring that model into memory."""
    found = settings()
    if found.read_only:
        return
    first = found.models[0] if is_demo() else Request.model
    model, _, revision = first.partition("@")
    worker.prepare(Request("-", model=model, revision=revision or None), found.device)
