"""`coupling trajectory`: the path of every token of a prompt through the blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from jaxtyping import Float

from coupling_core.analysis.exports import arrays, row
from coupling_core.analysis.path_curves import curve_over_prompts, median
from coupling_core.analysis.trajectory import why_no_expodistance
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import figure_of
from coupling_core.base.numbers import array_of
from coupling_core.base.records import Fit, Part, PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.results.base import NORM_INCLUDED
from coupling_core.base.units import counted
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.rows import Axes, Row, of_categories
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import Told
from coupling_core.kinds.trajectory.views import FIGURES

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

CURVES = {
    name: figure.draws
    for name, figure in FIGURES.items()
    if isinstance(figure.draws, Curves) and figure.draws.each
}
"""The figures of numbers by depth."""


def command(
    *,
    asked: options.Differentiating,
    token: Annotated[
        int, typer.Option(help="Token that the figure highlights, 1..n; -1 is the last.")
    ] = -1,
    fit: Annotated[
        Fit, typer.Option(help="States that the principal components are fitted on.")
    ] = PathView.fit,
    part: Annotated[Part, typer.Option(help="Blocks whose states are projected.")] = PathView.part,
    first: Annotated[
        bool,
        typer.Option("--with-first/--without-first", help="Whether the first token is projected."),
    ] = PathView.first,
    figure: str = "paths",
    output: options.Output,
) -> None:
    """Follow every token through the blocks: how straight, how evenly, how linearly it moves."""

    def view(result: TrajectoryResult) -> PathView:
        resolve_token(token, len(result.tokens))
        return PathView(fit, part, first)

    shown = Paths("trajectory", asked.many, figure, {"token": token}, view)
    answer(asked, asked.request("trajectory"), shown, output)


@dataclass
class Paths(Shown):
    """Keeps numbers of prompts by depth, medians over the tokens, then tells and draws them.

    The paths themselves are of one prompt, and in their figure the straightness stands for them.
    """

    curves: dict[str, dict[str, Float[np.ndarray, " depth"]]] = field(default_factory=dict)

    def row(self, result: TrajectoryResult, view: PathView) -> dict[str, float]:
        """The numbers of one prompt."""
        figure_of(result, self.figure)
        self.curves[result.key] = {
            name: median(array_of(result, view, spec.numbers[0])) for name, spec in CURVES.items()
        }
        return super().row(result, view)

    def arrays(self, rows: Sequence[Row]) -> Mapping[str, tuple[Axes, np.ndarray]]:
        """The curves of each prompt, by name."""
        return {
            name.replace("-", "_"): (("prompt", spec.x), self._of(rows, name))
            for name, spec in CURVES.items()
        }

    def told(self, rows: Sequence[Row]) -> Told:
        """What the curves of all come to, for JSON; nothing of it is printed."""
        groups = of_categories(rows)

        def means(name: str, spec: Curves) -> dict[str, Any]:
            by_category = {
                category: curve_over_prompts(self._of(of, name))._asdict()
                for category, of in groups.items()
            }
            over = curve_over_prompts(self._of(rows, name))._asdict()
            return {"first": spec.first, **over, "by_category": by_category}

        found = {name.replace("-", "_"): means(name, spec) for name, spec in CURVES.items()}
        return {"by_depth": found}, lambda: None

    def draw(self, rows: Sequence[Row]) -> "go.Figure":
        """The curves of all, or where each prompt stands."""
        from coupling_core import figures

        if self.figure not in CURVES:
            return super().draw(rows)
        spec = CURVES[self.figure]
        return figures.by_depth_over_prompts(
            self._of(rows, self.figure),
            spec,
            origin=self.origin(rows),
            normed=spec.rescaled and rows[0].final_norm == NORM_INCLUDED,
            groups={
                category: self._of(of, self.figure) for category, of in of_categories(rows).items()
            },
        )

    def _of(self, rows: Sequence[Row], name: str) -> Float[np.ndarray, "prompt depth"]:
        return np.stack([self.curves[row.key][name] for row in rows])


_LEFT_OUT = ("tokens", "pca")


def summary(result: TrajectoryResult, view: PathView) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    named = {name: value for name, value in arrays(result, view).items() if name not in _LEFT_OUT}
    return {
        **vars(view),
        "mean": row(result, view),
        **named,
        "no_expodistance": why_no_expodistance(result.norms),
        "no_entropy": result.no_entropy,
        "kept": result.kept,
    }


def facts(result: TrajectoryResult, view: PathView) -> dict[str, object]:
    """What there is of its states."""
    shares = ", ".join(f"{share:.3f}" for share in array_of(result, view, "explained") if share > 0)
    n, kept = len(result.tokens), len(result.kept)
    return {
        "explained": f"{shares or 'nothing'}, by components of {_fitted(view, n)}",
        "states": f"{kept} of {counted(n, 'token')} are kept for drawing" * (kept < n),
        "no entropy": result.no_entropy,
    }


def _fitted(view: PathView, n: int) -> str:
    states = "the last state" if view.fit == "last" else "all states"
    part = "" if view.part == "all" else f" of the {view.part} half"
    return states + part + " without the first token" * view.leaves_out_first(n)
