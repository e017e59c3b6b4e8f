"""Write docs/outputs.md, what every kind of result gives out: `make docs`.

Names, dimensions and meanings are those of the kinds' records of numbers, and what is listed of a
form is what it really has of a result that ships.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from textwrap import fill

from coupling_core.analysis.by_step import step_columns, step_figures
from coupling_core.analysis.exports import frame, row, variables
from coupling_core.base import figure_names as names
from coupling_core.base.drawing import figures_of
from coupling_core.base.kinds import kinds
from coupling_core.base.numbers import numbers_of
from coupling_core.base.results import Result
from coupling_core.cli.reports import summary
from coupling_core.store.disk import Store

FILE = Path(__file__).with_name("outputs.md")
FIGURE_NAMES = Path(names.__file__)
HEAD = """# What results give out

Written by `make docs` from the records of numbers in `coupling_core/kinds/*/numbers.py`. Where a
name is: in arrays with these dimensions (`.npz`, `.nc`, `to_xarray()`), in the table (`.csv`,
`.parquet`, `to_pandas()`), in what `--json` prints; and whether one number of each result goes into
the rows of many prompts, the tables of sweeps and the curves over training steps.
[tables.md](tables.md) and [json.md](json.md) tell what commands over several results write.
"""
OF_ALL = {
    "key": "the result's name in the store",
    "stored": "whether it was there before",
    "seconds": "what measuring it took",
    "load_seconds": "what loading the model took",
    "model": "the model's name",
    "request": "all that was asked for",
    "identity": "what tells the model from others: where it is from and a hash of its content",
    "tokens": "texts of the prompt's tokens",
    "n_blocks": "L",
    "width": "d, of the residual stream",
    "provenance": "when, with which versions and on what it was measured",
}
"""What the JSON of every kind has."""
USUAL = {
    "token": "the one measured, 1 to n",
    "block": "l, 1 to L",
    **dict.fromkeys(("mean", "median", "share"), "the numbers of prompts and sweeps, by name"),
}
"""What names mean where a kind says nothing else."""


def text() -> str:
    """The whole document."""
    common = (f"| `{name}` | {meaning} |" for name, meaning in OF_ALL.items())
    found = [HEAD, "| key of `--json` of every kind | meaning |", "|---|---|", *common, ""]
    for folder, kind in _folders().items():
        key = max((entry.key for entry in Store().entries() if entry.request.kind == kind), key=str)
        figures = ", ".join(f"`{name}`" for name in figures_of(kind))
        found += [f"## {folder}\n", f"Figures: {figures}.\n", *_rows(Store().get(key)), ""]
    return "\n".join(found)


def _folders() -> dict[str, str]:
    """The first kind of each folder, in the order of messages."""
    found: dict[str, str] = {}
    for kind in kinds().values():
        found.setdefault(kind.command, kind.name)
    return found


def _rows(result: Result) -> Iterator[str]:
    kind, view = kinds()[result.request.kind], result.default_view()
    numbers = numbers_of(kind.name)
    named = {name: dims for name, (dims, _) in variables(result, view).items()}
    keys = summary(result, view, stored=True)
    whole = {number.column_name: number.name for number in numbers if number.column is not None}
    places = {
        "table": [*frame(result, view)],
        "JSON": [key for key in keys if key not in OF_ALL],
        "prompts": row(result, view),
        "sweeps": row(result, view, lambda column: column.in_sweeps),
        "steps": [name for name, of in step_columns().items() if of.kind == kind.name],
    }
    what = {number.name: number.what for number in reversed(numbers)}
    what = USUAL | what | kind.part("numbers").ABOUT
    yield "| name | meaning | array of | where |"
    yield "|---|---|---|---|"
    for name in dict.fromkeys((*named, *chain.from_iterable(places.values()))):
        where = ", ".join(place for place, names in places.items() if name in names)
        told = what.get(name) or f"one number of `{whole[name]}`"
        yield f"| `{name}` | {told} | {', '.join(named.get(name, ()))} | {where} |"


def figure_names() -> str:
    """The module with the names of figures, which type checkers read."""
    named = {folder: ("", *figures_of(kind)) for folder, kind in _folders().items()}
    every = "\n    | ".join(_called(folder) for folder in named)
    parts = [
        FIGURE_NAMES.read_text().partition("import Literal\n")[0] + "import Literal\n",
        *(_literal(_called(folder), names) for folder, names in named.items()),
        f'FigureName = (\n    {every}\n)\n"""Of all kinds; "" is the first of its kind."""',
        _literal("StepCurve", step_figures()),
    ]
    return "\n".join(parts) + "\n"


def _called(folder: str) -> str:
    return f"{folder.title()}Figure"


def _literal(name: str, choices: Iterable[str]) -> str:
    quoted = ", ".join(f'"{choice}"' for choice in choices)
    lines = fill(quoted, 100, initial_indent="    ", subsequent_indent="    ")
    return f"{name} = Literal[\n{lines}\n]  # fmt: skip"


if __name__ == "__main__":
    FILE.write_text(text())
    FIGURE_NAMES.write_text(figure_names())
