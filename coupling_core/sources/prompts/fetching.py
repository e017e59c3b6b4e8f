"""Rows of a data set, from the hub or from a copy in a folder.

Only files of rows are ever read: this version of `datasets` runs no code of a data set.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.extras import needed
from coupling_core.base.reading import opened
from coupling_core.base.units import size
from coupling_core.sources.prompts.source import PromptSource
from coupling_core.sources.refusals import reading

if TYPE_CHECKING:  # slow to import
    from datasets import Dataset
    from pyarrow.parquet import ParquetFile

_READERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}
LARGEST = 2**28
"""Bytes of the files of a split, and of the rows that come of them."""
BATCH = 64
"""Rows that are unpacked at a time."""
_PART = 2**20
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ELSEWHERE = (
    "or fetch it on another machine (`hf download {repo} --repo-type dataset --local-dir FOLDER`) "
    "and give that folder"
)

Rows = list[dict[str, Any]]


def from_hub(source: PromptSource, config: str, split: str) -> tuple[Rows, str]:
    """The rows of a split, and the commit that they are of."""
    repo = source.benchmark.repo
    with quiet():
        from datasets import load_dataset

        with plain_errors(repo, source.revision):
            rows = load_dataset(repo, config, split=split, revision=source.revision)
    commit = _commit(rows)
    wanted = source.revision or ""
    if _COMMIT.fullmatch(wanted) and commit != wanted:  # with no hub, it takes what it has
        raise ComputeError(
            f"the hub did not give data set {repo}@{wanted}, and the local cache has another "
            f"revision ({commit}): check the network, or leave revision out"
        )
    return _take(rows, source, config), commit


def from_folder(source: PromptSource, files: list[Path], config: str) -> Rows:
    """The rows of files of one kind."""
    _require_size(files)
    if files[0].suffix == ".parquet":
        return _from_parquet(source, files, config)
    kind = _READERS[files[0].suffix]
    # Else pandas takes "NA" or "None" for no text.
    options = {"keep_default_na": False} if kind == "csv" else {}
    with quiet(), tempfile.TemporaryDirectory() as place:
        from datasets import load_dataset

        try:
            rows = load_dataset(  # nosec B615  # files of this disk
                kind, data_files=[*map(str, files)], split="train", cache_dir=place, **options
            )
        except Exception as error:  # readers raise whatever their formats raise
            raise _unreadable(files[0], kind, error) from error
        return _take(rows, source, config)


def _from_parquet(source: PromptSource, files: list[Path], config: str) -> Rows:
    """The rows of Parquet, a few at a time: a small file may stand for a thousand times as much."""
    with needed("sweeps"):
        from pyarrow.parquet import ParquetFile, read_schema

    found: Rows = []
    held = 0
    for path in files:
        try:
            with opened(path) as file:
                columns = _columns(source, config, read_schema(file).names)
                # A text that a thousand rows have is held once.
                table = ParquetFile(file, read_dictionary=columns)
                _require_unpacked(table, columns)
                for batch in table.iter_batches(BATCH, columns=columns, use_threads=False):
                    for index in range(batch.num_rows):
                        row = {name: batch[name][index].as_py() for name in columns}
                        held += sum(len(str(cell)) for cell in row.values())
                        if held > LARGEST:
                            raise ValueError(f"its rows take more than {size(LARGEST)}")
                        found.append(row)
        except InputError:
            raise
        except Exception as error:  # a reader raises whatever its format raises
            raise _unreadable(path, "parquet", error) from error
    return found


def _require_unpacked(table: "ParquetFile", columns: list[str]) -> None:
    """Refuse a part that would fill the memory as it is unpacked, which happens as a whole."""
    for index in range(table.metadata.num_row_groups):
        group = table.metadata.row_group(index)
        parts = [group.column(column) for column in range(group.num_columns)]
        if sum(p.total_uncompressed_size for p in parts if p.path_in_schema in columns) > LARGEST:
            raise ValueError(f"its rows take more than {size(LARGEST)}")


def _require_size(files: list[Path]) -> None:
    whole = sum(path.stat().st_size for path in files)
    if whole > LARGEST:
        raise InputError(
            f"{files[0]} and the files beside it have {size(whole)}, and at most {size(LARGEST)} "
            "are read"
        )


def _unreadable(path: Path, kind: str, error: Exception) -> InputError:
    cause = error.__cause__ or error
    return InputError(
        f"{path} cannot be read as {kind}: {_first_line(cause)}; is it whole, and not a pointer of "
        "Git LFS?"
    )


def find_files(source: PromptSource, config: str, split: str) -> list[Path]:
    """The files of a split in a copy of a data set.

    They are `<config>/<split>-*` as on the hub, or `<config>/<split>.*`, or all of
    `<config>/<split>/`; where the data set has one configuration, its folder may also be `data`, or
    left out.
    """
    root = source.folder or Path()
    places = [root / config]
    if len(source.benchmark.forms) == 1:
        places += [root / "data", root]
    with reading(root):
        for place in places:
            found = _files_of(place, split)
            for suffix in _READERS:
                if files := sorted(path for path in found if path.suffix == suffix):
                    return files
    raise InputError(
        f"prompts: folder {root} has no rows of the split {split!r} of {source.dataset} "
        f"({config}): expected files as on the hub, such as "
        f"{config}/{split}-00000-of-00001.parquet, or the same as .jsonl or .csv"
    )


def _files_of(place: Path, split: str) -> list[Path]:
    if not place.is_dir():
        return []
    named = re.compile(rf"{split}(-.*)?\.\w+")
    found = [path for path in place.iterdir() if named.fullmatch(path.name)]
    inside = place / split
    beside = inside.iterdir() if inside.is_dir() else ()
    return [*found, *(path for path in beside if not path.name.startswith("."))]


def fingerprint(files: list[Path]) -> str:
    """SHA-256 of what files hold, one after the other."""
    found = hashlib.sha256()
    for path in files:
        with reading(path), opened(path) as file:
            while part := file.read(_PART):
                found.update(part)
    return found.hexdigest()


def _take(rows: "Dataset", source: PromptSource, config: str) -> Rows:
    return list(rows.select_columns(_columns(source, config, rows.column_names)))


def _columns(source: PromptSource, config: str, there: list[str]) -> list[str]:
    """Those that are read."""
    columns = source.benchmark.forms[config].columns
    if missing := [name for name in columns if name not in there]:
        raise InputError(
            f"prompts: the rows of {source.dataset} ({config}) have no column {missing[0]!r}, but "
            f"{', '.join(there)}: does the folder, or the config, belong to another "
            "data set?"
        )
    return columns


def _commit(rows: "Dataset") -> str:
    """The commit that names the folder in which `datasets` keeps rows of the hub."""
    for file in rows.cache_files:
        name = Path(file["filename"]).parent.name
        if _COMMIT.fullmatch(name):
            return name
    return f"fingerprint {rows._fingerprint}"


@contextmanager
def plain_errors(repo: str, revision: str | None) -> Iterator[None]:
    """Say in plain words why a data set of the hub is not to be had."""
    try:
        yield
    except Exception as error:  # the clients' errors share no base class
        if "Unknown split" in str(error):
            raise InputError(f"prompts: data set {repo}: {_first_line(error)}") from error
        shown = f"{repo}@{revision}" if revision else repo
        raise ComputeError(
            f"data set {shown}: {_why(error, repo)}, {_ELSEWHERE.format(repo=repo)}"
        ) from error


def _why(error: Exception, repo: str) -> str:
    said = str(error)
    if "gated" in said:
        page = f"https://huggingface.co/datasets/{repo}"
        return f"it is gated: accept its terms on {page}, then run `hf auth login`"
    if "scripts are no longer supported" in said:
        return "it comes as a program, which is never run: give a revision that has its files"
    if "Revision" in said and "exist" in said:
        return "the hub has no such revision: leave revision out"
    if isinstance(error, ConnectionError) or type(error).__module__.startswith("httpx"):
        return "it is not in the local cache, and the hub is out of reach: check the network"
    return f"it cannot be fetched ({_first_line(error)}): try again later"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep notices and progress bars of `datasets` and the hub's client off the terminal."""
    with needed("sweeps"):
        import datasets
    import huggingface_hub

    tools = (datasets.utils, huggingface_hub.utils)
    levels = [tool.logging.get_verbosity() for tool in tools]
    shown = [tool for tool in tools if not tool.are_progress_bars_disabled()]
    for tool in tools:
        tool.logging.set_verbosity_error()
        tool.disable_progress_bars()
    try:
        yield
    finally:
        for tool, level in zip(tools, levels, strict=True):
            tool.logging.set_verbosity(level)
        for tool in shown:
            tool.enable_progress_bars()
