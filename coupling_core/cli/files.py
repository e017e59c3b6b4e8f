"""What `--out` writes: refused before anything is computed where it could not be written."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coupling_core.analysis import exports
from coupling_core.base.errors import InputError
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.base.writing import target, write_whole, writing
from coupling_core.cli import terminal
from coupling_core.store.archive import SUFFIX
from coupling_core.store.result_file import save

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go
    from pandas import DataFrame

FIGURES = (".html", ".pdf", ".svg", ".png")
OF_MANY = (*exports.ENDINGS, *FIGURES)
"""Of many prompts no result is written."""
FORMATS = (*exports.ENDINGS, SUFFIX, *FIGURES)
STDOUT = Path("-")
"""What --out calls standard output; CSV is written to it."""


def require_writable(
    path: Path | None,
    formats: tuple[str, ...],
    *,
    as_json: bool = False,
    many: Path | None = None,
) -> None:
    """Try out whether --out can be written: its ending is one of the formats, its folder is there.

    It is not the file of `many` prompts. On standard output nothing else is printed from then on.
    """
    if path is None:
        return
    if path == STDOUT and ".csv" in formats:
        if as_json:
            raise InputError("--out - and --json both print on standard output: give one of them")
        terminal.leave_stdout()
        return
    if path.suffix not in formats:
        hint = {".json": "; --json prints JSON", SUFFIX: "; only one result is written so"}
        told = hint.get(path.suffix, "")
        endings = ", ".join(formats)
        raise InputError(f"expected a file that ends in {endings}, got {path.name!r}{told}")
    if many is not None and many.resolve() == path.resolve():
        raise InputError(f"{path} is the file of the prompts, which would be lost: name another")
    with writing(path):
        if path.is_dir():
            raise InputError(f"{path} is a folder: give a file")
        tempfile.TemporaryFile(dir=target(path).parent).close()


def write(path: Path, content: bytes) -> None:
    """Write a whole file or nothing; - is standard output."""
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with writing(path):
        write_whole(path, content)


def write_numbers(
    path: Path,
    table: "Callable[[], DataFrame]",
    arrays: Callable[[], exports.Variables],
    attributes: Mapping[str, str | int | float] | None,
    draw: Callable[[str], bytes],
) -> None:
    """Write numbers in the form that the path's ending names, or the figure of them."""
    content = exports.written(ending(path), table, arrays, attributes)
    write(path, draw(path.suffix) if content is None else content)


def write_result(
    path: Path,
    result: Result,
    view: AnyView,
    draw: "Callable[[Any, Any], go.Figure]",
    *,
    k_view: int | None = None,
) -> None:
    """Write a result in the form that the path's ending names, one of `FORMATS`."""

    def drawn(ending: str) -> bytes:
        from coupling_core import figures

        return figures.render(draw(result, view), ending, result, view)

    if path.suffix == SUFFIX:
        save(result, path)
        return
    write_numbers(
        path,
        lambda: exports.signed(exports.frame(result, view), result, view),
        lambda: exports.variables(result, view, k_view),
        exports.attributes(result, view),
        drawn,
    )


def ending(path: Path) -> str:
    """The form that a file's name asks for; on standard output, CSV."""
    return ".csv" if path == STDOUT else path.suffix
