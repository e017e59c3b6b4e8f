"""What `--out` writes: refused before anything is computed where it could not be written."""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coupling_core.analysis.exports import (
    ENDINGS,
    arrays,
    attributes,
    axes,
    frame,
    signed,
    written,
)
from coupling_core.base.errors import InputError
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.base.writing import target, write_whole, writing
from coupling_core.cli import terminal
from coupling_core.store.result_file import save

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

FORMATS = (*ENDINGS, ".safetensors", ".html", ".pdf", ".svg", ".png")
STDOUT = Path("-")
"""What --out calls standard output; CSV is written to it."""
OF_MANY = (*ENDINGS, ".html", ".pdf", ".svg", ".png")
"""Of many prompts no result is written."""


def require_writable(path: Path | None, formats: tuple[str, ...], *, as_json: bool = False) -> None:
    """Try out whether a file of this kind can be written here, where one is to be written.

    On standard output nothing else is printed from then on.

    Args:
        path: what --out names.
        formats: endings that it may have.
        as_json: whether --json came too.

    Raises:
        InputError: on another ending, a missing folder, or one that is closed to us.
    """
    if path is None:
        return
    if path == STDOUT and ".csv" in formats:
        if as_json:
            raise InputError("--out - and --json both print on standard output: give one of them")
        terminal.leave_stdout()
        return
    if path.suffix not in formats:
        json = "; --json prints JSON, for > to write" if path.suffix == ".json" else ""
        of_one = formats == OF_MANY and path.suffix in FORMATS
        held = f": a {path.suffix} file holds the result of one prompt, with --prompt" * of_one
        raise InputError(f"--out ends in {', '.join(formats)}, and {path.name!r} came{json}{held}")
    with writing(path):
        if path.is_dir():
            raise InputError(f"--out {path} is a folder: give a file")
        folder = target(path).parent
        if not folder.is_dir():
            raise InputError(f"--out {path}: there is no folder {folder}; make it first")
        tempfile.TemporaryFile(dir=folder).close()


def write(path: Path, content: bytes) -> None:
    """Write a whole file or nothing; - is standard output.

    Raises:
        InputError: where it cannot be written.
        ComputeError: where the disk is full.
    """
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with writing(path):
        write_whole(path, content)


def write_result(
    path: Path,
    result: Result,
    view: AnyView,
    draw: Callable[[], "go.Figure"],
    *,
    k_view: int | None = None,
) -> None:
    """Write a result in the form that the path's ending names.

    Args:
        path: where to; its ending is one of `FORMATS`.
        result: what to write.
        view: how it is looked at.
        draw: makes the figure, where one is written.
        k_view: largest side of the matrices of an .npz or .nc file.

    Raises:
        InputError: where K or a block is not in the result, or the file cannot be written.
        ComputeError: where the disk is full, or nothing is there to draw.
    """
    if path.suffix == ".safetensors":
        save(result, path)
        return
    content = written(
        ending(path),
        lambda: signed(frame(result, view), result, view),
        partial(arrays, result, view, k_view),
        axes(result, view),
        attributes(result, view),
    )
    if content is None:
        from coupling_core import figures

        content = figures.render(draw(), path.suffix, result, view)
    write(path, content)


def ending(path: Path) -> str:
    """The form that a file's name asks for; on standard output, CSV."""
    return ".csv" if path == STDOUT else path.suffix
