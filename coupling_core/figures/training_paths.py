"""Paths of tokens at one step of a training run, on axes that keep their range over all steps."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.projection import COMPONENTS, ProjectedPaths
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.figures import training_words
from coupling_core.figures.paths import Dimensions, draw

ROOM = 0.08
"""Of the range at each end, for the texts of the tokens."""


def paths_at(
    result: TrajectoryResult,
    view: PathView,
    projected: Mapping[int, ProjectedPaths],
    step: int,
    *,
    token: int,
    dimensions: Dimensions = 2,
) -> go.Figure:
    """The paths of `paths` at one step, signed and scaled as at every other.

    Args:
        result: of this step.
        view: which states and tokens, and what the components are fitted on.
        projected: all steps, as `project_steps` gives them.
        step: one of them.
        token: the selected one, 1..n.
        dimensions: 2 or 3.
    """
    figure = draw(result, view, projected[step], token=token, dimensions=dimensions)
    told = figure.layout.meta["caption"] + training_words.PATHS_AT
    figure.update_layout(meta=figure.layout.meta | {"caption": told})
    ranges = [{"range": one} for one in _ranges(projected)]
    if dimensions == 3:
        axes = {f"{name}axis": one for name, one in zip("xyz", ranges, strict=True)}
        return figure.update_layout(scene=axes | {"aspectmode": "cube"})
    return figure.update_xaxes(ranges[0]).update_yaxes(ranges[1])


def _ranges(projected: Mapping[int, ProjectedPaths]) -> list[list[float]]:
    """Of each component, over all steps."""
    every = [paths.coordinates.reshape(-1, COMPONENTS) for paths in projected.values()]
    points = np.nan_to_num(np.concatenate(every))
    low, high = points.min(0), points.max(0)
    room = ROOM * np.where(high > low, high - low, 1)
    return np.stack([low - room, high + room], 1).tolist()
