"""The paths of many prompts: their numbers one by one, and the figure of all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float

from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.cli.many_drawn import Drawn, origin, strip
from coupling_core.cli.rows import Row
from coupling_core.kinds.trajectory.export import row
from coupling_core.kinds.trajectory.views import FigureName, require_depth

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

    from coupling_core.figures.by_depth import CurveName
    from coupling_core.figures.per_token import PathNumber

BY_DEPTH = ("norms", "growth", "steps", "line-shape-by-depth", "entropy")
"""Figures of a curve for each prompt; the others have a number for each."""


@dataclass
class PathsTogether:
    """Takes the results of prompts as they come, then draws them together.

    Args:
        figure: which; the paths themselves are of one prompt, and their straightness stands for
            them.
        file: that the prompts came from.
    """

    figure: FigureName
    file: Path | None
    curves: list[Float[np.ndarray, " depth"]] = field(default_factory=list)

    def row(self, result: TrajectoryResult, view: PathView) -> dict[str, float]:
        """The numbers of one prompt.

        Raises:
            InputError: where the model is too shallow for the figure.
        """
        require_depth(result, self.figure)
        if self.figure in BY_DEPTH:
            from coupling_core.figures.by_depth import CURVES
            from coupling_core.figures.style import median

            values = CURVES[cast("CurveName", self.figure)].values(result)
            self.curves.append(median(values))
        return row(result, view)

    def draw(self, rows: Sequence[Row]) -> "go.Figure":
        """The curves of all, or where each prompt stands."""
        from coupling_core import figures
        from coupling_core.figures.by_depth import CURVES
        from coupling_core.figures.per_token import NUMBERS

        if self.figure in BY_DEPTH:
            curve = CURVES[cast("CurveName", self.figure)]
            return figures.by_depth_over_prompts(
                np.stack(self.curves),
                curve.first,
                curve.title,
                curve.depth,
                origin=origin(rows, self.file),
                log=curve.log,
            )
        name = cast("PathNumber", "line-shape" if self.figure == "paths" else self.figure)
        number = NUMBERS[name]
        title = f"Mean over the tokens: {number.title}"
        of = Drawn(name.replace("-", "_"), title, number.line, number.ideal)
        return strip(of, self.file, rows)
