"""What --out draws of many prompts, where a command has a figure of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from coupling_core.analysis.exports import columns_of, row
from coupling_core.analysis.path_curves import CURVES
from coupling_core.analysis.scores import MIN_NUMBERS, OF_FEW
from coupling_core.base.results.scores import MEASURES
from coupling_core.base.textfiles import legible
from coupling_core.base.units import NO_CATEGORY, counted
from coupling_core.cli.files import STDOUT
from coupling_core.cli.rows import Axes, Row, alike, mean_of_each, over_prompts
from coupling_core.cli.terminal import NOTHING, Told

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go


OF_MANY = {
    "depth": ("scores",),
    "graph": ("graph",),
    "trajectory": ("line-shape", "expodistance", "equidistance", *CURVES),
    "whatif": ("interchange", "replace", "blocks"),
    "spectrum": ("maps", "products"),
    "perturbation": ("cosine", "radius"),
}
"""Figures of many prompts that --figure may name, by command; others draw where each stands."""


def figure_of(command: str) -> Any:
    """The option --figure of a command, which says what of it there is of many prompts."""
    of_many = ", ".join(OF_MANY.get(command, ())) or "a dot for each"
    return typer.Option("--figure", help=f"Which figure --out draws; with --prompts: {of_many}.")


@dataclass
class Together:
    """What many prompts come to beside the means of their numbers; kinds that have more extend it.

    Args:
        dots: the number of each prompt that the figure has.
        file: that the prompts came from.
    """

    dots: str
    file: Path | None

    def row(self, result: Any, view: Any) -> dict[str, float]:
        """The numbers of one prompt, by name; every prompt comes by here before the rest."""
        return row(result, view)

    def arrays(self, rows: Sequence[Row]) -> Mapping[str, tuple[Axes, np.ndarray]]:
        """Arrays of all beside their numbers, with the names of their axes."""
        return {}

    def told(self, rows: Sequence[Row]) -> Told:
        """What is reported of all beside their means."""
        return NOTHING

    def draw(self, rows: Sequence[Row]) -> "go.Figure":
        """The figure of all: a dot for each prompt, with their mean and its interval."""
        from coupling_core import figures

        name = self.dots
        column = columns_of(str(rows[0].whose["kind"]))[name]
        over = over_prompts(rows)
        mean, ideal = over[name], column.ideal
        at = over[ideal].mean if isinstance(ideal, str) else ideal
        figure = figures.prompt_strip(
            {row.prompt.row: row.mean[name] for row in rows},
            {row.prompt.row: row.prompt.words for row in rows},
            mean,
            column.title,
            origin=origin(rows, self.file),
            levels={column.ideal_name: at} if at is not None else {},
            one="line",
            groups={row.prompt.row: row.prompt.category or NO_CATEGORY for row in rows},
        )
        for doubt in (
            mean_of_each(over) if name in MEASURES else "",
            OF_FEW if 1 < mean.n < MIN_NUMBERS else "",
            f"the interval goes beyond {column.most:g}, which no number of a prompt does"
            if column.most is not None and mean.high > column.most
            else "",
        ):
            if doubt:
                figure.layout.meta["caption"] += f" {doubt[0].upper()}{doubt[1:]}."
        return figure


def origin(rows: Sequence[Row], file: Path | None) -> dict[str, object]:
    """The title of a figure of many prompts, and whose numbers it has."""
    model, *facts = looked_at(rows)
    title = f"{model}, {counted(len(rows), 'prompt')} of {listed(file)}"
    if n := sum(row.certified is not None for row in rows):
        certified = sum(row.certified is True for row in rows)
        facts.append(f"SVDs of {certified} of {counted(n, 'prompt')} certified")
    return {"title": title, "source": " · ".join([title, *facts])}


def looked_at(rows: Sequence[Row]) -> list[str]:
    """The model, and what was measured and how it is looked at, as far as all prompts say so."""
    told = alike(rows)
    model, token = str(told.pop("model", "several models")), told.pop("token", None)
    if isinstance(token, int):
        told["measured"] = "at the last token" if token == -1 else f"at token {token}"
    facts = [_fact(name, value) for name, value in told.items() if name not in ("p", "final_norm")]
    return [model, *facts, rows[0].final_norm]


def _fact(name: str, value: str | float) -> str:
    """What all prompts have alike, as the source of a figure of one prompt has it."""
    return f"K = {value:g}" if name == "K" else f"{name.replace('_', ' ')}: {value}"


def listed(file: Path | None) -> str:
    """What a file of prompts is called in figures."""
    return "standard input" if file is None or file == STDOUT else legible(file.name)
