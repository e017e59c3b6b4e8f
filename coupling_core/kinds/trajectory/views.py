"""How a trajectory is looked at from Python: its numbers by name, its figure, a sentence."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis import trajectory
from coupling_core.base.drawing import Drawing
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.kinds.trajectory.export import arrays

if TYPE_CHECKING:
    import xarray

_DIMS = {
    "growth": ("block", "token"),
    "expodistance": ("token",),
    "equidistance": ("token",),
    "pca": ("state", "token", "component"),
    "explained": ("component",),
}
"""Of what is computed from the stored arrays, which have the names of theirs."""


def dataset(result: TrajectoryResult, view: PathView) -> "xarray.Dataset":
    """Its numbers over their named dimensions: those of `export.arrays`.

    Along them stand the states 0..L, the blocks 1..L, and the tokens 1..n with their texts.
    """
    import xarray

    dims = dict(result.dims) | _DIMS
    texts = ("tokens", "token_ids")
    found = {
        name: (dims[name], values)
        for name, values in arrays(result, view).items()
        if name not in texts
    }
    along = {
        "state": np.arange(result.n_blocks + 1),
        "block": np.arange(1, result.n_blocks + 1),
        "token": np.arange(1, len(result.tokens) + 1),
        "text": ("token", np.array(result.tokens)),
        "token_id": ("token", result.token_ids),
    }
    return xarray.Dataset(found, coords=along, attrs=result.attributes())


def plot(result: TrajectoryResult, view: PathView) -> Drawing:
    """The paths of the page Trajectories; the last token's is drawn on top."""
    from coupling_core import figures

    figure = figures.paths(result, view, token=len(result.tokens))
    return Drawing(figure, partial(figures.render, figure, result=result, view=view))


def verdict(result: TrajectoryResult, view: PathView) -> str:
    """How straight the paths are, and where they come from."""
    from coupling_core.figures import words

    mean, n = trajectory.mean(result.line_shape), len(result.tokens)
    return (
        f"The line-shape score is {mean:.2f} on average over {n} tokens; that of a straight path "
        f"is 1. {words.provenance(result, view)}"
    )
