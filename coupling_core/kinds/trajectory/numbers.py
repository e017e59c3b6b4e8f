"""A trajectory's numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from coupling_core.analysis.projection import ProjectedPaths, project_paths
from coupling_core.analysis.trajectory import WINDOW, why_no_expodistance
from coupling_core.base.numbers import Column, Number, Seen, mean, tokens

TOKEN, BY_BLOCK = ("token",), ("block", "token")
ROWS = "token"
"""What a row of the table is of."""
derive = project_paths
"""Of the paths in principal components."""


def _pca(seen: Seen) -> np.ndarray:
    found: ProjectedPaths = seen.derived
    pca = np.full((*seen.result.norms.shape, found.coordinates.shape[-1]), np.nan)
    pca[np.ix_(found.states, found.tokens - 1)] = found.coordinates
    return pca


def _relative_steps(seen: Seen) -> np.ndarray:
    lengths = seen.result.step_lengths
    return np.asarray(lengths / lengths.mean(0))


def _of_path(
    name: str,
    title: str,
    what: str,
    why: Callable[[Seen], Sequence[str]] = lambda _: (),
    **column: Any,
) -> Number:
    """A number of each token's whole path."""
    over = Column(
        f"{title}, mean over the tokens",
        mean,
        reading=f"Mean over the prompt's tokens of the {what}.",
        **column,
    )
    return Number(
        name,
        what,
        TOKEN,
        title=title,
        heading=name.replace("_", " "),
        form=".4g",
        why=why,
        column=over,
    )


def _at_end(name: str, what: str, heading: str, array: str, state: int) -> Number:
    """A number of each token's first state, or of its last."""
    return Number(
        name,
        what,
        TOKEN,
        lambda seen: getattr(seen.result, array)[state],
        in_files=False,
        heading=heading,
        form=".4g",
    )


NUMBERS = (
    Number("norms", "Euclidean norm of x^l", title="Norm of the state (no unit)"),
    Number("step_lengths", "Euclidean norm of x^l - x^{l-1}"),
    _of_path(
        "line_shape",
        "Line-shape score (1 is a line)",
        "line-shape score of a token's path (paper, Eq. 10): 1 is a straight line",
        ideal=1.0,
        ideal_name="a straight path",
        by_step=True,
    ),
    Number(
        "windowed_line_shape",
        f"line-shape score of the {WINDOW} states round x^l",
        title=f"Line-shape score of {WINDOW} states",
    ),
    Number(
        "growth",
        "ln(norm(x^l) / norm(x^{l-1}))",
        BY_BLOCK,
        title="Growth rate alpha<sup>l</sup> (nats a block)",
    ),
    Number(
        "growth",
        "mean over the blocks of ln(norm(x^l) / norm(x^{l-1}))",
        TOKEN,
        lambda seen: seen.result.growth.mean(0),
        in_files=False,
        title="Growth of the norm (logarithm, a block)",
        heading="growth",
        form=".4g",
    ),
    _of_path(
        "expodistance",
        "Expodistance (0 is even growth)",
        "variance of growth over its squared mean (paper, Eq. 13): 0 is one factor in every block",
        lambda seen: why_no_expodistance(seen.result.norms),
        log=True,
        by_step=True,
    ),
    _of_path(
        "equidistance",
        "Variation of the steps (0 is equal steps)",
        "coefficient of variation of the steps' lengths: 0 is steps of one length",
        ideal=0.0,
        ideal_name="equal steps",
        in_sweeps=False,
    ),
    _at_end("first_norm", "norm of x^0", "|x^0|", "norms", 0),
    _at_end("last_norm", "norm of x^L", "|x^L|", "norms", -1),
    _at_end(
        "last_entropy",
        "entropy of the next token's distribution at the end, in nats",
        "entropy",
        "entropy",
        -1,
    ),
    Number(
        "entropy",
        "entropy of the next token's distribution, read from x^l, in nats",
        title="Entropy of the logits (nats)",
    ),
    Number(
        "relative_steps",
        "norm of x^l - x^{l-1}, in units of its mean over the blocks",
        BY_BLOCK,
        _relative_steps,
        in_files=False,
        title="Step ‖x<sup>l</sup> - x<sup>l-1</sup>‖ (mean step = 1)",
    ),
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
    ),
    *tokens(),
)

ABOUT = {
    "token": "t, 1 to n",
    "text": "its text",
    "fit": "of which states the components are taken",
    "part": "which part of the blocks is followed",
    "first": "whether the first token is in the fit",
    "no_expodistance": "why there is none; empty where there is",
    "no_entropy": "why there is none; empty where there is",
    "kept": "the tokens whose states are stored",
}
"""What else tables and JSON have, by name."""
