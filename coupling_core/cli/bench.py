"""`coupling bench`: run the benchmarks of this checkout."""

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from coupling_core.base.errors import InputError

ROOT = Path(__file__).parents[2]


def bench(
    name: Annotated[str | None, typer.Argument(help="One of them; all by default.")] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smoke test on a tiny model: its figures mean nothing."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the results; benchmarks/results by default."),
    ] = None,
) -> None:
    """Measure how fast and how exact the engine is on this machine."""
    folder = ROOT / "benchmarks"
    if not (folder / "__init__.py").is_file():
        raise InputError(
            f"there are no benchmarks in {ROOT}: they come with a checkout of the repository, "
            "not with the installed package"
        )
    names = runpy.run_path(str(folder / "__init__.py"))["SCRIPTS"]
    if name is not None and name not in names:
        raise InputError(f"expected one of {', '.join(names)}, got {name!r}")
    arguments = ([] if name is None else [name]) + ["--quick"] * quick
    if out is not None:
        arguments += ["--out", str(out.absolute())]
    done = subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT)
    raise typer.Exit(done.returncode)
