"""How a trajectory is looked at from Python: its figures, a sentence."""

from collections.abc import Callable
from typing import Any

import numpy as np

from coupling_core.analysis.trajectory import WINDOW
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import Figure
from coupling_core.base.numbers import mean
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.units import counted


def _too_shallow(result: TrajectoryResult) -> str:
    states = result.n_blocks + 1
    return (
        f"takes {WINDOW} states in a row, and the model has {states}: choose another, such as norms"
    ) * (states < WINDOW)


def _per_token(number: str) -> Figure:
    return Figure(Curves([number], "token", at="token "), of_many=number)


def _by_depth(
    number: str,
    caption: str,
    lacks: Callable[[TrajectoryResult], str] = lambda _: "",
    **axes: Any,
) -> Figure:
    """A number of each token at each state or block."""
    look = {"x": "state", "at": "l = ", "hover": ".4g", **axes}
    spec = Curves([number], caption=caption, each=True, **look)
    return Figure(spec, of_many=number, lacks=lacks)


_COMPONENTS = ("token", "fit", "part", "first")
FIGURES = {
    "paths": Figure("paths.paths", of_one=_COMPONENTS),
    "paths-3d": Figure("paths.paths", {"dimensions": 3}, of_one=_COMPONENTS),
    "line-shape": _per_token("line_shape"),
    "norms": _by_depth(
        "norms",
        "Euclidean norm of each token's state by depth. The first token often grows far above the "
        "others.",
        log=True,
    ),
    "line-shape-by-depth": _by_depth(
        "windowed_line_shape",
        f"Line-shape score of the {WINDOW} states round each state (preprint, Figure 25): 1 is a "
        "straight line; nothing where the window does not fit.",
        _too_shallow,
    ),
    "growth": _by_depth(
        "growth",
        "Growth of the norm in each block (paper, Eq. 12): a level line is exponential growth, and "
        "the variance over the blocks in units of the squared mean is the expodistance.",
        x="block",
    ),
    "expodistance": _per_token("expodistance"),
    "steps": _by_depth(
        "relative_steps",
        "How far each block moves each token, in units of that token's mean step: a level line at "
        "1 is equal steps.",
        x="block",
        log=True,
    ),
    "equidistance": _per_token("equidistance"),
    "entropy": _by_depth(
        "entropy",
        "Entropy of the next-token distribution that each state would give through the model's own "
        "final norm and head; 0 is certain.",
        lambda result: result.no_entropy and f"has no number: {result.no_entropy}",
        rescaled=False,
    ),
    "linearised": Figure("token_numbers.linearised"),
}


def verdict(result: TrajectoryResult, view: PathView) -> str:
    """How straight the paths are and how much they grow, and where they come from."""
    grows = np.exp(mean(result.growth.mean(0)))
    told = f"From block to block the norm becomes {grows:.3g} times as large on average."
    if result.ends_in_norm:
        told = told.removesuffix(".") + ", the final norm's step included, which rescales them all."
    if np.isnan(grows):
        told = "How the norm grows is not known of any token: each has a state of norm 0."
    return f"{_straight(result)} {told}"


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
