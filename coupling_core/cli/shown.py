"""How the results of a command are shown: one in figures and files, many together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.analysis.exports import columns_of, row
from coupling_core.analysis.scores import MIN_NUMBERS, OF_FEW
from coupling_core.base import drawing
from coupling_core.base.drawing import Figure
from coupling_core.base.kinds import kinds
from coupling_core.base.records import AnyView
from coupling_core.base.results.scores import MEASURES
from coupling_core.base.textfiles import legible
from coupling_core.base.units import NO_CATEGORY, counted
from coupling_core.cli import files
from coupling_core.cli.rows import Axes, Row, alike, mean_of_each, over_prompts
from coupling_core.cli.terminal import NOTHING, Told

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go


def figures_of(command: str) -> dict[str, Figure]:
    """The figures that a command offers, by name."""
    return {
        name: figure
        for kind in kinds().values()
        for name, figure in drawing.figures_of(kind.name).items()
        if command == (figure.command or kind.command)
    }


def of_many(command: str) -> dict[str, str]:
    """Which figures a command has of many prompts, and the number of each that stands for it."""
    return {name: one.of_many for name, one in figures_of(command).items() if one.of_many}


@dataclass
class Shown:
    """How a command shows the results of its kind; kinds that show more extend it.

    Args:
        command: the command.
        file: of many prompts; None where there is one.
        figure: that --out draws, with as much of the `look` as it takes.
        look: options of figures, by name.
        view: how a result is looked at.
        blocks: those looked at, as they were typed.
        chosen: what else was chosen of how the numbers are taken, by name.
        dots: the number of each prompt that is drawn of many; "" is the figure's, or the first.
    """

    command: str
    file: Path | None
    figure: str
    look: Mapping[str, Any] = field(default_factory=dict)
    view: Callable[[Any], AnyView] = lambda _: AnyView()
    blocks: str | None = None
    chosen: Mapping[str, str | float] = field(default_factory=dict)
    dots: str = ""

    def __post_init__(self) -> None:
        if not self.dots:
            found = of_many(self.command)
            self.dots = found.get(self.figure) or next(iter(found.values()))

    # ---- of one prompt

    def draw_one(self, result: Any, view: Any) -> "go.Figure":
        """The figure of one prompt."""
        takes = drawing.figure_of(result, self.figure).takes
        own = {name: value for name, value in self.look.items() if name in takes}
        return drawing.drawn(result, view, self.figure, **own)

    def write(self, path: Path, result: Any, view: Any, k_view: int | None) -> None:
        """Write one prompt's result in the form that the path's ending names."""
        files.write_result(path, result, view, self.draw_one, k_view=k_view)

    def more(self, result: Any) -> Told:
        """What is reported of one prompt's result beside its kind's report."""
        return NOTHING

    @property
    def report(self) -> Any:
        """What reports it in place of its kind's report; None where that does."""
        return None

    # ---- of many

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
            origin=self.origin(rows),
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

    def origin(self, rows: Sequence[Row]) -> dict[str, object]:
        """The title of a figure of many prompts, and whose numbers it has."""
        model, *facts = looked_at(rows)
        title = f"{model}, {counted(len(rows), 'prompt')} of {self.listed}"
        if n := sum(row.certified is not None for row in rows):
            certified = sum(row.certified is True for row in rows)
            facts.append(f"SVDs of {certified} of {counted(n, 'prompt')} certified")
        return {"title": title, "source": " · ".join([title, *facts])}

    @property
    def listed(self) -> str:
        """What the file of prompts is called in figures."""
        if self.file is None or self.file == files.STDOUT:
            return "standard input"
        return legible(self.file.name)


def looked_at(rows: Sequence[Row]) -> list[str]:
    """The model, and what was measured and how it is looked at, as far as all prompts say so."""
    told = alike(rows)
    model, token = str(told.pop("model", "several models")), told.pop("token", None)
    if isinstance(token, int):
        told["measured"] = "at the last token" if token == -1 else f"at token {token}"
    facts = [
        f"K = {value:g}" if name == "K" else f"{name.replace('_', ' ')}: {value}"
        for name, value in told.items()
        if name not in ("p", "final_norm")
    ]
    return [model, *facts, rows[0].final_norm]
