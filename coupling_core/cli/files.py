"""What `--out` writes: refused before anything is computed where it could not be written."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from coupling_core.analysis.exports import arrays, table, to_npz
from coupling_core.base.errors import InputError
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.base.writing import write_whole, writing
from coupling_core.store.archive import save

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

FORMATS = (".npz", ".safetensors", ".csv", ".html", ".pdf", ".svg", ".png")
AGGREGATE_FORMATS = (".npz", ".csv")


def require_writable(path: Path | None, formats: tuple[str, ...]) -> None:
    """Try out whether a file of this kind can be written here, where one is to be written.

    Raises:
        InputError: on another ending, a missing folder, or one that is closed to us.
    """
    if path is None:
        return
    if path.suffix not in formats:
        raise InputError(f"--out ends in {', '.join(formats)}, and {path.name!r} came")
    with writing(path):
        if path.is_dir():
            raise InputError(f"--out {path} is a folder: give a file")
        if not path.parent.is_dir():
            raise InputError(f"--out {path}: there is no folder {path.parent}; make it first")
        tempfile.TemporaryFile(dir=path.parent).close()


def write(path: Path, content: bytes) -> None:
    """Write a whole file or nothing.

    Raises:
        InputError: where it cannot be written.
        ComputeError: where the disk is full.
    """
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
        k_view: largest side of the matrices of an .npz file.

    Raises:
        InputError: where K or a block is not in the result, or the file cannot be written.
        ComputeError: where the disk is full, or no Chromium is there to draw.
    """
    match path.suffix:
        case ".safetensors":
            save(result, path)
        case ".npz":
            write(path, to_npz(arrays(result, view, k_view)))
        case ".csv":
            write(path, table(result, view))
        case ending:
            from coupling_core import figures

            write(path, figures.render(draw(), ending, result, view))
