"""How a trajectory is looked at from Python: its figures, a sentence."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from coupling_core.analysis.projection import ProjectedPaths
from coupling_core.analysis.trajectory import WINDOW
from coupling_core.base.drawing import Drawing, Maker, known_figure
from coupling_core.base.errors import InputError
from coupling_core.base.numbers import mean
from coupling_core.base.records import PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.units import counted
from coupling_core.kinds.plots import drawing

if TYPE_CHECKING:
    import plotly.graph_objects as go

FigureName = Literal[
    "paths",
    "paths-3d",
    "line-shape",
    "line-shape-by-depth",
    "norms",
    "growth",
    "expodistance",
    "steps",
    "equidistance",
    "entropy",
    "linearised",
]


def maker(result: TrajectoryResult, view: PathView, figure: FigureName, token: int) -> Maker:
    """What draws the figure of that name, with one token in ink."""
    from coupling_core import figures

    match figure:
        case "paths":
            return partial(figures.paths, result, view, token=token)
        case "paths-3d":
            return partial(figures.paths, result, view, token=token, dimensions=3)
        case "line-shape" | "expodistance" | "equidistance":
            return partial(figures.per_token, result, figure, token=token)
        case "linearised":
            return partial(figures.linearised, result, token=token)
    return partial(figures.by_depth, result, figure, token=token)


def require_depth(result: TrajectoryResult, figure: FigureName) -> None:
    """Refuse a figure that would have no line, since too few states follow one another."""
    if figure == "line-shape-by-depth" and result.n_blocks + 1 < WINDOW:
        raise InputError(
            f"the figure {figure} takes {WINDOW} states in a row, and the model has "
            f"{result.n_blocks + 1}: choose another, such as line-shape"
        )


def draw(result: TrajectoryResult, view: PathView, figure: FigureName, token: int) -> "go.Figure":
    """The figure of that name, with one token in ink.

    Raises:
        InputError: where the model is too shallow for it.
    """
    require_depth(result, figure)
    return maker(result, view, figure, token)()


def plot(
    result: TrajectoryResult, view: PathView, figure: str = "paths", **options: Any
) -> Drawing:
    """The figure of that name; the paths of the page Trajectories where none is named.

    The last token is drawn on top where no other is named.

    Raises:
        InputError: where there is no such figure, or the model is too shallow for it.
    """
    if figure == "paths-apart":
        raise InputError(
            "paths-apart is a figure of two results: compare(paths, others).plot('paths-apart') "
            "draws it, as does `coupling compare A B --figure paths-apart`"
        )
    name: FigureName = known_figure(figure, get_args(FigureName))
    require_depth(result, name)
    token = resolve_token(options.pop("token", -1), len(result.tokens))
    return drawing(maker(result, view, name, token), options, result, view)


def apart(a: TrajectoryResult, b: TrajectoryResult, view: PathView, **options: Any) -> Drawing:
    """The paths of two results side by side, each in its own components.

    In ink is the token of A that is asked for, and of B the one at its place, or the nearest.

    Raises:
        InputError: on another option, or a token that A has not.
    """
    from coupling_core.figures.paths_apart import paths_apart

    n, asked = len(b.tokens), options.pop("token", -1)
    token = resolve_token(asked, len(a.tokens))
    nearest = min(token, n) if asked > 0 else max(asked, -n)
    other = resolve_token(options.pop("other_token", nearest), n)
    make = partial(paths_apart, a, b, view, token=token, other_token=other)
    return drawing(make, options, a, view)


def projected(found: ProjectedPaths, figure: str, token: int = -1) -> Drawing:
    """Paths that are projected already, with one token in ink.

    Raises:
        InputError: where there is no such figure or token.
    """
    from coupling_core.figures.paths import Dimensions
    from coupling_core.figures.paths import draw as draw_projected

    result, view = found.result, found.view
    dimensions: Mapping[str, Dimensions] = {"paths": 2, "paths-3d": 3}
    shown = dimensions[known_figure(figure, tuple(dimensions))]
    number = resolve_token(token, len(result.tokens))
    make = partial(draw_projected, result, view, found, token=number, dimensions=shown)
    return drawing(make, result=result, view=view)


def verdict(result: TrajectoryResult, view: PathView) -> str:
    """How straight the paths are and how much they grow, and where they come from."""
    from coupling_core.figures import words

    grows = np.exp(mean(result.growth.mean(0)))
    told = f"From block to block the norm becomes {grows:.3g} times as large on average."
    if result.ends_in_norm:
        told = told.removesuffix(".") + ", the final norm's step included, which rescales them all."
    if np.isnan(grows):
        told = "How the norm grows is not known of any token: each has a state of norm 0."
    return f"{_straight(result)} {told} {words.provenance(result, view)}"


def _straight(result: TrajectoryResult) -> str:
    """How straight the paths are, and which of them have no finite score."""
    scores = result.line_shape
    closed, still = int(np.isinf(scores).sum()), int(np.isnan(scores).sum())
    n = len(scores) - closed - still
    without = [
        *([f"{counted(still, 'token')} with a step of length 0"] * bool(still)),
        *([f"{counted(closed, 'token')} whose path comes back to its start"] * bool(closed)),
    ]
    if not n:
        return f"No token has a finite line-shape score: there are {' and '.join(without)}."
    other = f", {' and '.join(without)} left out" * bool(without)
    return (
        f"The line-shape score is {mean(scores):.2f} on average over "
        f"{counted(n, 'token')}{other}; that of a straight path is 1."
    )
