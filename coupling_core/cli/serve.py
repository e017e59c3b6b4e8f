"""`coupling app`: the app, from a checkout or from a wheel."""

import os
from importlib import import_module
from typing import Annotated

import typer

from coupling_core.base.extras import needed
from coupling_core.base.folders import ROOT


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
    options = {"--server.port": port, "--server.address": address}
    told = [f"{name}={value}" for name, value in options.items() if value is not None]
    streamlit.main(["run", str(ROOT / "serve.py"), *told])
