"""`coupling health`: whether a running app answers and its worker lives; for containers."""

import urllib.request
from http.client import HTTPException
from typing import Annotated

import typer

from coupling_core.base.errors import ComputeError
from coupling_core.cli import options
from coupling_core.cli.terminal import print_lines
from coupling_core.serving import heartbeat
from coupling_core.store.disk import Store

PATH = "/_stcore/health"
SECONDS = 5


def health(
    url: Annotated[str, typer.Option(help="Address of the app.")] = "http://127.0.0.1:8501",
    store: options.StoreFolder = None,
) -> None:
    """Say whether an app answers and its worker lives; exit status 1 where not."""
    if not url.startswith(("http://", "https://")):
        url = f"http://{url}"
    try:
        address = url.rstrip("/") + PATH
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # nosec B310  # http
            said = answer.read(100).decode(errors="replace").strip()
    except (OSError, ValueError, HTTPException) as error:
        raise ComputeError(f"{url} does not answer: {error}") from error
    if said != "ok":
        raise ComputeError(f"{url} is not well: it says {said!r}")
    if wrong := heartbeat.problem(Store(store)):
        raise ComputeError(wrong)
    print_lines("ok")
