"""`coupling app`, `jobs` and `health`: the app, what it measures, and whether it lives."""

import os
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from importlib import import_module
from typing import Annotated, Any

import typer

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.extras import needed
from coupling_core.base.folders import ROOT
from coupling_core.cli import options
from coupling_core.cli.terminal import print_lines, print_records
from coupling_core.serving import desk, heartbeat
from coupling_core.store.disk import Store

HEALTH = "/_stcore/health"
SECONDS = 5


def serve(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on; 8501 by default.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(help="Address to listen on; localhost by default, 0.0.0.0 for all."),
    ] = None,
) -> None:
    """Serve the app until Ctrl-C."""
    with needed("app"):  # by its name: the core does not know what pages are made with
        streamlit = import_module("streamlit.web.cli")
    # The web server would believe what any program of this machine says of who it speaks for.
    os.environ.setdefault("FORWARDED_ALLOW_IPS", "")
    given = {"--server.port": port, "--server.address": address}
    told = [f"{name}={value}" for name, value in given.items() if value is not None]
    streamlit.main(["run", str(ROOT / "serve.py"), *told])


def health(
    url: Annotated[str, typer.Option(help="Address of the app.")] = "http://127.0.0.1:8501",
    store: options.StoreFolder = None,
) -> None:
    """Say whether an app answers and its worker lives; exit status 1 where not."""
    if not url.startswith(("http://", "https://")):
        url = f"http://{url}"
    try:
        address = url.rstrip("/") + HEALTH
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # nosec B310  # http
            said = answer.read(100).decode(errors="replace").strip()
    except (OSError, ValueError, HTTPException) as error:
        raise ComputeError(f"{url} does not answer: {error}") from error
    if said != "ok":
        raise ComputeError(f"{url} is not well: it says {said!r}")
    if wrong := heartbeat.problem(Store(store)):
        raise ComputeError(wrong)
    print_lines("ok")


def jobs(
    *,
    end: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A job to end, named by the first letters of its key."),
    ] = None,
    report: options.Report,
) -> None:
    """List the jobs of the apps that run with this store, or end some of them."""
    root = report.shelf.root
    found = desk.jobs(root)
    if end:
        for key in [_resolve(found, text) for text in end]:
            desk.end(root, key)
            print_lines(f"{key}  ended")
        return
    nothing = "nothing is being measured"
    report.tell(lambda: found, lambda: print_records(found) if found else print_lines(nothing))


def _resolve(found: list[Mapping[str, Any]], text: str) -> str:
    """The one key that begins so."""
    keys = sorted({row["key"] for row in found if row["key"].startswith(text)})
    if len(keys) != 1:
        what = f"begins {len(keys)} keys: give more letters" if keys else "is not a job under way"
        raise InputError(f"{text!r} {what}; `coupling jobs` lists all jobs")
    return str(keys[0])
