"""A trajectory's numbers."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis import trajectory
from coupling_core.analysis.projection import project_paths
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

REGULARITY: dict[str, Callable[[TrajectoryResult], np.ndarray]] = {
    "growth": lambda result: trajectory.growth_rates(result.norms),
    "expodistance": lambda result: trajectory.expodistance(result.norms),
    "equidistance": lambda result: trajectory.equidistance(result.step_lengths),
}
"""How evenly the paths go: `growth` (block token), the others (token)."""


def arrays(
    result: TrajectoryResult, view: PathView, k_view: int | None = None
) -> dict[str, np.ndarray]:
    """What a trajectory holds, by name.

    Args:
        result: the result.
        view: of which states and tokens the principal components are taken.
        k_view: means nothing here; there are no matrices.

    Returns:
        `norms`, `windowed_line_shape`, `entropy` (state token), `step_lengths`, `growth`,
        `one_step`, `rolled_out` (block token), `line_shape`, `expodistance`, `equidistance`
        (token), `pca` (state token c; NaN where the view leaves a token or a state out),
        `explained` (c), `tokens` (text), `token_ids`.
    """
    found = project_paths(result, view)
    pca = np.full((*result.norms.shape, found.coordinates.shape[-1]), np.nan)
    pca[np.ix_(found.states, found.tokens - 1)] = found.coordinates
    return {
        "norms": result.norms,
        "step_lengths": result.step_lengths,
        "line_shape": result.line_shape,
        "windowed_line_shape": result.windowed_line_shape,
        **{name: of(result) for name, of in REGULARITY.items()},
        "entropy": result.entropy,
        "one_step": result.one_step,
        "rolled_out": result.rolled_out,
        "pca": pca,
        "explained": found.explained,
        "tokens": np.array(result.tokens),
        "token_ids": result.token_ids,
    }


def descriptions(view: PathView) -> dict[str, str]:
    """What each array of numbers is, with its unit."""
    fitted = "the last state" if view.fit == "last" else "all states"
    return {
        "norms": "Euclidean norm of x^l",
        "step_lengths": "Euclidean norm of x^l - x^{l-1}",
        "line_shape": "line-shape score of a token's path: 1 is a straight line",
        "windowed_line_shape": "line-shape score of the 11 states round x^l",
        "growth": "ln(norm(x^l) / norm(x^{l-1}))",
        "expodistance": "variance of growth over its squared mean: 0 is one factor in every block",
        "equidistance": "coefficient of variation of the steps' lengths: 0 is steps of one length",
        "entropy": "entropy of the next token's distribution, read from x^l, in nats",
        "one_step": "distance of (I + J^l) x^{l-1} from x^l, in units of norm(x^l)",
        "rolled_out": "the same of all linearised blocks so far, from x^0 on",
        "pca": f"coordinate in the principal components of {fitted}, in the units of the states",
        "explained": f"share of the variance of {fitted} along the component",
    }


def axes(result: TrajectoryResult) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array; state 0 is the embedding."""
    of_states, of_blocks = ("state", "token"), ("block", "token")
    of_tokens = ("line_shape", "expodistance", "equidistance", "tokens", "token_ids")
    return {
        **dict.fromkeys(("norms", "windowed_line_shape", "entropy"), of_states),
        **dict.fromkeys(("step_lengths", "growth", "one_step", "rolled_out"), of_blocks),
        **dict.fromkeys(of_tokens, ("token",)),
        "pca": (*of_states, "component"),
        "explained": ("component",),
    }


def table(result: TrajectoryResult, view: PathView) -> "DataFrame":
    """What each token's path is like: a row a token."""
    from pandas import DataFrame

    return DataFrame(
        {
            "token": range(1, len(result.tokens) + 1),
            "text": result.tokens,
            "line_shape": result.line_shape,
            "growth": result.growth.mean(0),
            "expodistance": result.expodistance,
            "equidistance": result.equidistance,
            "first_norm": result.norms[0],
            "last_norm": result.norms[-1],
            "last_entropy": result.entropy[-1],
        }
    )


def row(result: TrajectoryResult, view: PathView) -> dict[str, float]:
    """Means over the tokens that have the number; NaN where none has."""
    numbers = {
        "line_shape": result.line_shape,
        "expodistance": result.expodistance,
        "equidistance": result.equidistance,
    }
    return {name: trajectory.mean(values) for name, values in numbers.items()}
