"""The scores of a sweep: one row for each set of weights, prompt, kind and K.

A row is made from a stored result and from what is published of its model; a number that is not
known is left empty. Rows are in the order of the sweep, so that two runs give the same table.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from coupling_core.analysis.exports import row
from coupling_core.analysis.exports.forms import as_read, inert, to_parquet
from coupling_core.analysis.scores import ways_of
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import DefinitionName
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.extras import needed
from coupling_core.base.folders import expanded
from coupling_core.base.kinds import kind_of, kinds
from coupling_core.base.numbers import numbers_of
from coupling_core.base.reading import opened
from coupling_core.base.records import HOW, OF_BLOCKS, OF_SHARES, PERFORMANCES, Role, View
from coupling_core.base.results import Result
from coupling_core.base.units import EXACT
from coupling_core.base.writing import write_whole, writing
from coupling_core.experiments.sweeps.plan import Plan, Weights, published
from coupling_core.sources.catalogue import CatalogueModel
from coupling_core.sources.file_hashes import hash_of
from coupling_core.sources.prompts import Prompt, own_cells, own_columns, read_back, set_own
from coupling_core.sources.suites import find_suite
from coupling_core.store.disk import Store, as_store


def _in_sweeps(*, has_k: bool) -> tuple[str, ...]:
    """The numbers of results with a K, or without, each once."""
    names = (
        number.column_name
        for name, kind in kinds().items()
        if kind.has_k == has_k
        for number in numbers_of(name)
        if number.column is not None and number.column.in_sweeps
    )
    return tuple(dict.fromkeys(names))


OF_ONE_KIND = _in_sweeps(has_k=False)
"""Columns of one kind of measurement each: a table where nothing of that kind was measured may lack
them."""

FLOOR_ERROR = "floor_error"
"""The column with the standard error of floors that are means over random bases."""
OF_PAIRS = ("paired", "overlap", "overlap_chance")
"""Columns that a mean over all pairs of blocks has none of, and that earlier tables lack."""
MEASURED = (*_in_sweeps(has_k=True), FLOOR_ERROR, *OF_ONE_KIND)
"""Numbers of a result; a kind has some of them."""

COLUMNS = (
    "model", "id", "revision", "family", "step", "trained", "parameters", "layers", "width",
    "training_tokens", "loss", "score", "prompt", "source", "category", "difficulty", "tokens",
    "kind", "k", OF_SHARES, *HOW, *MEASURED, "certified", "key",
)  # fmt: skip

_log = logging.getLogger(__name__)

TABLES = (".csv", ".parquet")
"""Endings of a table's file."""

_OURS = {*COLUMNS} - {"difficulty"}
"""Columns that no prompt brings."""
_DIGITS = "%.6g"

Row = dict[str, object]


def make_table(
    plan: Plan, store: Store | str | os.PathLike[str] | None = None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Read what is stored of a sweep.

    Args:
        plan: the sweep.
        store: where its results are, a `Store` or its folder; None is that of the command line.

    Returns:
        the table, whose last columns are the prompts' own, and why a stored result has no row, by
        its key.
    """
    store = as_store(store)
    rows: list[Row] = []
    left_out: dict[str, str] = {}
    models = published(each.request.model for each in plan.weights)
    known = [of_weights(each, models.get(each.request.model)) for each in plan.weights]
    own = own_columns([prompt.fields for prompt in plan.prompts], COLUMNS)
    for item, key in zip(plan.items(), plan.stored(store), strict=True):
        if not key:
            continue
        try:
            result = store.get(key)
            if result.is_doubtful:
                raise ComputeError("float32 was too coarse for some of its numbers")
            of, scored = known[item.weights], (plan.sweep.definition, plan.sweep.role)
            rows += rows_of(of, plan.prompts[item.prompt], own, result, plan.sweep.k, *scored)
        except (InputError, ComputeError) as error:  # evicted since, damaged, or without this floor
            left_out[key] = str(error)
    for name in dict.fromkeys(str(one["model"]) for one in rows if _is_alone(one)):
        _log.warning("%s has one block, and coupling is of pairs of blocks: it has no score", name)
    still = set(plan.stored(store)) if left_out else set()
    ours = [name for name in COLUMNS if name != OF_BLOCKS]  # all of them are looked at
    return framed(rows, ours, own.values()), {
        key: why for key, why in left_out.items() if key in still
    }


def _is_alone(row: Row) -> bool:
    return row["kind"] == "depth" and row["layers"] == 1


def write_table(path: str | os.PathLike[str], table: pd.DataFrame) -> None:
    """Write a table as CSV, see `table_csv`; or with all digits as Parquet, where its name says so.

    Args:
        path: where to; a file of that name is replaced.
        table: of a sweep or of `measure_many`.

    Raises:
        InputError: where it cannot be written, no table came, or its name ends otherwise.
        ComputeError: where the disk is full.
    """
    path = expanded(path)
    if path.suffix not in TABLES:
        raise InputError(f"a table is written as {' or '.join(TABLES)}, and {path.name!r} came")
    content = to_parquet(table) if path.suffix == ".parquet" else table_csv(table)
    with writing(path):
        write_whole(path, content)


def table_csv(table: pd.DataFrame) -> bytes:
    """A table as CSV, with six digits of each measured number that is no whole one."""
    text = StringIO()
    # A lone \r in a prompt is put in quotes only where lines end in one.
    inert(_as_came(_whole(table))).to_csv(
        text, index=False, float_format=_DIGITS, lineterminator="\r\n"
    )
    return text.getvalue().encode()


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    """The table with columns of whole numbers as such, which keep all their digits."""
    floats = table.select_dtypes("float")
    is_whole = floats.isna() | ((floats % 1 == 0) & (floats.abs() < EXACT))
    whole = [name for name in floats if is_whole[name].all()]
    return table.astype(dict.fromkeys(whole, "Int64"))


def _as_came(table: pd.DataFrame) -> pd.DataFrame:
    """The table with all digits of what its prompts brought."""
    brought = [name for name in table.select_dtypes("float") if name not in _OURS]
    return table.astype(dict.fromkeys(brought, object))


def write_sealed(path: Path, table: pd.DataFrame) -> None:
    """The same, with a hash beside it, so that no damaged number is drawn.

    Raises:
        InputError, ComputeError: as `write_table` does.
    """
    with writing(path):
        _seal(path).unlink(missing_ok=True)
        write_table(path, table)
        write_whole(_seal(path), hash_of(path).encode())


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table back.

    Args:
        path: of a file that `write_table` wrote, or a sweep: CSV, or Parquet by its name.

    Raises:
        InputError: where there is none, it is not as it was written, lacks a column, or a number is
            none that can be.
    """
    path = expanded(path)
    try:
        _require_sealed(path)
        with opened(path) as file:
            table = _from_parquet(file) if path.suffix == ".parquet" else _from_csv(file)
        numeric = [name for name in _NUMERIC if name in table]
        table[numeric] = table[numeric].replace("", np.nan).astype(float)
    except (OSError, ValueError) as error:
        raise InputError(f"the table {path} cannot be read: {error}") from error
    may_lack = {*OF_PAIRS, *OF_ONE_KIND, *PERFORMANCES, *HOW, OF_SHARES, FLOOR_ERROR}
    if lacking := [name for name in COLUMNS if name not in table and name not in may_lack]:
        raise InputError(
            f"the table {path} has no column {lacking[0]!r}: expected one as write_table and "
            "`coupling sweep run` write it, of measurements; pandas.read_csv reads any table"
        )
    for name in {*HOW} & {*_TEXTS} & {*table}:
        table[name] = table[name].replace("", np.nan)
    table[numeric] = table[numeric].replace([np.inf, -np.inf], np.nan)
    without_k = [name for name, kind in kinds().items() if not kind.has_k]
    scored, counted = ~table["kind"].isin(without_k), table[["k", "width"]]
    flags = table["trained"].astype(str)
    are_counts = ((counted >= 1) & (counted % 1 == 0))[scored].all(axis=None)
    if not (are_counts and flags.isin(("True", "False")).all()):
        raise InputError(
            f"the table {path}: expected whole numbers from 1 as k and width, and True or False as "
            "trained"
        )
    certified = table["certified"].map(str).map({"True": True, "False": False})
    return _counted_whole(table.assign(trained=flags == "True", certified=certified))


def _from_csv(file: BinaryIO) -> pd.DataFrame:
    table = pd.read_csv(file, dtype=str, keep_default_na=False).rename(columns=as_read)
    for name in [name for name in _TEXTS if name in table]:
        table[name] = table[name].map(as_read)
    for name in [str(name) for name in table if name not in COLUMNS]:  # the prompts' own
        table[name] = read_back(list(map(as_read, table[name])))
    return table


def _from_parquet(file: BinaryIO) -> pd.DataFrame:
    with needed("files"):
        import pyarrow  # noqa: F401
    return pd.read_parquet(file, engine="pyarrow")


def _counted_whole(table: pd.DataFrame) -> pd.DataFrame:
    """Counts as whole numbers, where every row has one."""
    known = [name for name in _COUNTS if name in table and table[name].notna().all()]
    return table.astype({name: int for name in known if (table[name] % 1 == 0).all()})


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _require_sealed(path: Path) -> None:
    """Refuse a table that is damaged; one that comes from elsewhere has no hash."""
    seal = _seal(path)
    if seal.is_file() and path.is_file() and seal.read_text() != hash_of(path):
        raise InputError(
            f"the table {path} is not as it was written: it is damaged, or was changed by hand; "
            "`coupling sweep run` writes it anew from what is stored"
        )


_TEXTS = ("model", "id", "revision", "family", "prompt", "source", "category", "kind", "key",
          "definition", "role", "final_norm", OF_BLOCKS)  # fmt: skip
_COUNTS = ("layers", "width", "tokens", "k", "token")
_NUMERIC = tuple(name for name in COLUMNS if name not in (*_TEXTS, "trained", "certified"))


def of_weights(weights: Weights, known: CatalogueModel | None) -> Row:
    """What is known of a model without measuring it."""
    asked = weights.request
    trained = asked.untrained is None
    row: Row = {
        "model": weights.title,
        "id": asked.model,
        "revision": asked.revision or "",
        "family": weights.family,
        "step": np.nan,
        "trained": trained,
        "parameters": np.nan,
        "training_tokens": np.nan if trained else 0.0,
        "loss": np.nan,
        "score": np.nan,
    }
    if known:
        row["parameters"] = known.parameters
        # The published score is of the weights at the end of training, as they were released.
        if trained and asked.revision in (None, "main"):
            row["training_tokens"] = known.training_tokens or np.nan
            row["score"] = np.nan if known.score is None else known.score
    if trained and weights.score is not None:
        row["score"] = weights.score
    if weights.suite and weights.step is not None:
        suite = find_suite(weights.suite)
        row["step"] = float(weights.step)
        row["training_tokens"] = float(weights.step * suite.tokens_a_step)
        row["loss"] = suite.losses().get(weights.step, np.nan)
    return row


def rows_of(
    known: Row,
    prompt: Prompt,
    own: Mapping[str, str],
    result: Result,
    every_k: Iterable[int | float],
    definition: DefinitionName,
    role: Role,
    blocks: Blocks = None,
) -> list[Row]:
    """What is known of a model, of a prompt with its own columns, and of its result at each K."""
    shared = known | _of_prompt(prompt, result) | own_cells(prompt.fields, own)
    shared |= _how(result, definition, role)
    return [{**shared, **one} for one in _numbers(result, every_k, definition, role, blocks)]


def framed(rows: Sequence[Row], columns: Iterable[str], own: Iterable[str]) -> pd.DataFrame:
    """Rows as a table, the prompts' own columns as they came."""
    own = list(own)
    table = pd.DataFrame(rows, columns=[*columns, *own])
    set_own(table, own, rows)
    return table


def _of_prompt(prompt: Prompt, result: Result) -> Row:
    """What a result tells of its prompt and of itself, whatever K it is looked at."""
    svds = list(result.svds)
    return {
        "layers": result.n_blocks,
        "width": result.width,
        "prompt": prompt.words,
        "source": prompt.source,
        "category": prompt.category,
        "difficulty": np.nan if prompt.difficulty is None else prompt.difficulty,
        "tokens": len(result.tokens),
        "kind": result.request.kind,
        "certified": all(svd.certified for svd in svds) if svds else None,
        "key": result.key,
    } | _counted(result)


def _counted(result: Result) -> Row:
    """What was counted as the model was measured goes before what is published."""
    counted = result.provenance.get("parameters")
    return {"parameters": float(counted)} if counted else {}


def _how(result: Result, definition: DefinitionName, role: Role) -> Row:
    """What was looked at, and how: of rows in which these differ no mean makes sense."""
    kind, asked = kind_of(result.request.kind), result.request
    told: Row = {"definition": definition, "role": role} if kind.has_k else {}
    return told | ({"token": asked.token} if kind.token else {}) | {"final_norm": asked.final_norm}


def _numbers(
    result: Result,
    asked: Iterable[int | float],
    definition: DefinitionName,
    role: Role,
    blocks: Blocks = None,
) -> Iterator[Mapping[str, object]]:
    """The numbers of a result, at each K, or share of the width, where it has one."""
    kind = kind_of(result.request.kind)
    if not kind.has_k:
        yield row(result, kind.view(), lambda column: column.in_sweeps)
        return
    for k, share in ways_of(asked, result.width):
        if k <= result.k_max:
            view = View(k, definition, role=role, blocks=blocks_of(blocks, result.n_blocks))
            found = row(result, view)
            found |= {"k": k, OF_SHARES: share}
            if view.is_sampled:
                found[FLOOR_ERROR] = kind.part("numbers").derive(result, view).floor_error
            yield found
