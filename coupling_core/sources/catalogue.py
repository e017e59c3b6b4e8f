"""The catalogue of models, as data: those of the papers' Table 1, and a user's own.

sweeps/models.csv           comes with a checkout
<user's cache>/models.csv   extends it, and replaces models of the same id
"""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError
from pydantic.dataclasses import dataclass

from coupling_core.base.folders import SWEEPS, user_cache
from coupling_core.base.textfiles import csv_rows, read_text
from coupling_core.base.writing import write_whole, writing
from coupling_core.sources.refusals import about

FILE = "models.csv"

Count = Annotated[int, Field(ge=1, lt=10**18)]
_PERHAPS = BeforeValidator(lambda cell: None if cell == "" else cell)
_YES = BeforeValidator(lambda cell: {"yes": True, "": False}.get(cell, cell))


@dataclass(frozen=True)
class CatalogueModel:
    """A model, and what is known of it.

    Args:
        id: what `--model` takes: a hub id, a folder, an alias.
        family: such as "Llama-2"; "" where it has none.
        parameters: how many.
        layers: blocks.
        width: d, of the residual stream.
        training_tokens: how many it was trained on; None where that is not known.
        score: on benchmarks, in percent; None where it is not known.
        positions: how it encodes them, such as "RoPE".
        tuned: whether it was tuned to instructions.
        source: where these numbers are from.
        note: doubts about them.
    """

    id: Annotated[str, Field(min_length=1)]
    family: str
    parameters: Count
    layers: Count
    width: Count
    training_tokens: Annotated[Count | None, _PERHAPS] = None
    score: Annotated[float | None, Field(ge=0, le=100), _PERHAPS] = None
    positions: str = ""
    tuned: Annotated[bool, Field(strict=True), _YES] = False
    source: str = ""
    note: str = ""


_NAMES = tuple(field.name for field in fields(CatalogueModel))
COLUMNS = ("model", *_NAMES[1:])
"""Of the file: the id stands in the column `model`."""

_EXPECTED = {
    "model": "what --model takes",
    "score": "a number from 0 to 100, or nothing",
    "tuned": "yes, or nothing",
}
"""By column; of all others that can be wrong a count is expected."""


def catalogue() -> list[CatalogueModel]:
    """The shipped models with the user's own, which replace those of the same id."""
    found: dict[str, CatalogueModel] = {}
    for path in (SWEEPS / FILE, user_cache() / FILE):
        if path.is_file():
            found |= {model.id: model for model in read_catalogue(path)}
    return list(found.values())


def read_catalogue(path: Path) -> list[CatalogueModel]:
    """The models of a CSV file, in their order."""
    return parse_models(csv_rows(read_text(path), path, COLUMNS), str(path))


def parse_models(rows: Iterable[tuple[int, Mapping[str, str]]], where: str) -> list[CatalogueModel]:
    """The models of rows of text."""
    found: dict[str, CatalogueModel] = {}
    for line, row in rows:
        with about(f"{where}, line {line}"):
            model = _model(row)
            if model.id in found:
                raise ValueError(f"model {model.id} stands there twice")
        found[model.id] = model
    return list(found.values())


def cells(models: Iterable[CatalogueModel]) -> list[dict[str, str]]:
    """Models as rows of text, by `COLUMNS`."""
    return [dict(zip(COLUMNS, map(_cell, astuple(model)), strict=True)) for model in models]


def keep_own(models: Iterable[CatalogueModel]) -> Path:
    """Keep, in the user's own file, the models that are not as they were shipped."""
    shipped = read_catalogue(SWEEPS / FILE) if (SWEEPS / FILE).is_file() else []
    own = [model for model in models if model not in shipped]
    write_catalogue(user_cache() / FILE, own)
    return user_cache() / FILE


def write_catalogue(path: Path, models: Iterable[CatalogueModel]) -> None:
    """Write models as a CSV file: the whole of it, or nothing."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells(models))
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.getvalue().encode())


def _model(row: Mapping[str, str]) -> CatalogueModel:
    values: dict[str, Any] = {
        name: row[column].strip() for name, column in zip(_NAMES, COLUMNS, strict=True)
    }
    try:
        return CatalogueModel(**values)
    except ValidationError as error:
        wrong = str(error.errors()[0]["loc"][0])
        column = COLUMNS[_NAMES.index(wrong)]
        expected = _EXPECTED.get(column, "a whole number from 1, in digits")
        came = repr(values[wrong])[:60] if values[wrong] else "nothing"
        raise ValueError(f"column {column}: expected {expected}, and {came} came") from error


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)
