"""A trajectory's numbers."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.projection import ProjectedPaths, project_paths
from coupling_core.base.numbers import Column, Number, Seen, mean, tokens
from coupling_core.base.records import PathView
from coupling_core.base.results import TrajectoryResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

TOKEN = ("token",)


def derive(result: TrajectoryResult, view: PathView) -> ProjectedPaths:
    """The paths in their principal components."""
    return project_paths(result, view)


def _pca(seen: Seen) -> np.ndarray:
    found: ProjectedPaths = seen.derived
    pca = np.full((*seen.result.norms.shape, found.coordinates.shape[-1]), np.nan)
    pca[np.ix_(found.states, found.tokens - 1)] = found.coordinates
    return pca


NUMBERS = (
    Number("norms", "Euclidean norm of x^l"),
    Number("step_lengths", "Euclidean norm of x^l - x^{l-1}"),
    Number(
        "line_shape",
        "line-shape score of a token's path: 1 is a straight line",
        heading="line shape",
        form=".4g",
        column=Column(
            "Line-shape score (1 is a line), mean over the tokens",
            mean,
            ideal=1.0,
            ideal_name="a straight path",
            by_step=True,
            reading="Mean over the prompt's tokens of the line-shape score of their paths (paper, "
            "Eq. 10): 1 is a straight line.",
        ),
    ),
    Number("windowed_line_shape", "line-shape score of the 11 states round x^l"),
    Number(
        "growth",
        "ln(norm(x^l) / norm(x^{l-1}))",
        ("block", "token"),
        lambda seen: seen.result.growth,
    ),
    Number(
        "expodistance",
        "variance of growth over its squared mean: 0 is one factor in every block",
        TOKEN,
        lambda seen: seen.result.expodistance,
        heading="expodistance",
        form=".4g",
        column=Column(
            "Expodistance (0 is even growth), mean over the tokens",
            mean,
            log=True,
            by_step=True,
            reading="Mean over the prompt's tokens of the expodistance of their paths (paper, "
            "Eq. 13): 0 is a norm that grows by one factor in every block.",
        ),
    ),
    Number(
        "equidistance",
        "coefficient of variation of the steps' lengths: 0 is steps of one length",
        TOKEN,
        lambda seen: seen.result.equidistance,
        heading="equidistance",
        form=".4g",
        column=Column(
            "Variation of the steps (0 is equal steps), mean over the tokens",
            mean,
            ideal=0.0,
            ideal_name="equal steps",
            in_sweeps=False,
        ),
    ),
    Number("entropy", "entropy of the next token's distribution, read from x^l, in nats"),
    Number("one_step", "distance of (I + J^l) x^{l-1} from x^l, in units of norm(x^l)"),
    Number("rolled_out", "the same of all linearised blocks so far, from x^0 on"),
    Number(
        "pca",
        "coordinate in the principal components of the view's states, in the units of the states",
        ("state", "token", "component"),
        _pca,
    ),
    Number(
        "explained",
        "share of the variance of these states along the component",
        ("component",),
        lambda seen: seen.derived.explained,
    ),
    *tokens(),
)

ABOUT = {
    "token": "t, 1 to n",
    "text": "its text",
    "first_norm": "norm of x^0",
    "last_norm": "norm of x^L",
    "last_entropy": "entropy of the next token's distribution at the end, in nats",
    "fit": "of which states the components are taken",
    "part": "which part of the blocks is followed",
    "first": "whether the first token is in the fit",
    "mean": "the numbers of prompts and sweeps, by name",
    "no_expodistance": "why there is none; empty where there is",
    "no_entropy": "why there is none; empty where there is",
    "kept": "the tokens whose states are stored",
}
"""What else tables and JSON have, by name."""


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
