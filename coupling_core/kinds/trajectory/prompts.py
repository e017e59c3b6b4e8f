"""The paths of many prompts: their numbers one by one, and the figure of all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.path_curves import CURVES, CurveName, curve_over_prompts, median
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.results.base import NORM_INCLUDED
from coupling_core.cli.many_drawn import Together, origin
from coupling_core.cli.rows import Axes, Row, of_categories
from coupling_core.cli.terminal import Told
from coupling_core.kinds.trajectory.views import FigureName, require_depth

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go


@dataclass
class PathsTogether(Together):
    """Takes the results of prompts as they come, then tells and draws them together.

    Args:
        figure: which; the paths themselves are of one prompt, and their straightness stands for
            them.
        curves: of each result, by its key: its numbers by depth, medians over its tokens.
    """

    figure: FigureName
    curves: dict[str, dict[CurveName, Float[np.ndarray, " depth"]]] = field(default_factory=dict)

    def row(self, result: TrajectoryResult, view: PathView) -> dict[str, float]:
        """The numbers of one prompt.

        Raises:
            InputError: where the model is too shallow for the figure.
        """
        require_depth(result, self.figure)
        self.curves[result.key] = {
            name: median(curve.values(result)) for name, curve in CURVES.items()
        }
        return super().row(result, view)

    def arrays(self, rows: Sequence[Row]) -> Mapping[str, tuple[Axes, np.ndarray]]:
        """The curves of each prompt, by name."""
        return {
            name.replace("-", "_"): (
                ("prompt", "block" if curve.first else "state"),
                self._of(rows, name),
            )
            for name, curve in CURVES.items()
        }

    def told(self, rows: Sequence[Row]) -> Told:
        """What the curves of all come to, for JSON; nothing of it is printed."""
        groups = of_categories(rows)
        means = {
            name.replace("-", "_"): {"first": curve.first}
            | curve_over_prompts(self._of(rows, name))._asdict()
            | {
                "by_category": {
                    category: curve_over_prompts(self._of(of, name))._asdict()
                    for category, of in groups.items()
                }
            }
            for name, curve in CURVES.items()
        }
        return {"by_depth": means}, lambda: None

    def draw(self, rows: Sequence[Row]) -> "go.Figure":
        """The curves of all, or where each prompt stands."""
        from coupling_core import figures

        if self.figure in CURVES:
            curve = CURVES[self.figure]
            return figures.by_depth_over_prompts(
                self._of(rows, self.figure),
                curve,
                origin=origin(rows, self.file),
                normed=curve.rescaled and rows[0].final_norm == NORM_INCLUDED,
                groups={
                    category: self._of(of, self.figure)
                    for category, of in of_categories(rows).items()
                },
            )
        return super().draw(rows)

    def _of(self, rows: Sequence[Row], name: CurveName) -> Float[np.ndarray, "prompt depth"]:
        return np.stack([self.curves[row.key][name] for row in rows])
