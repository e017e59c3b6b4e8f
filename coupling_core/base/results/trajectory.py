"""Trajectories: the path of every token through the blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from coupling_core.base.figure_names import TrajectoryFigure
from coupling_core.base.results.base import Result, within
from coupling_core.base.units import counted


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TrajectoryResult(Result[TrajectoryFigure]):
    """The paths x^0 .. x^L of all tokens of a prompt.

    Where the final norm belongs to the last block, x^L is normed. The numbers of all tokens are
    kept; of a long prompt in a wide model, the states themselves only of some. Errors that are not
    measured yet (a partial result) are NaN.

    Args:
        norms: Euclidean norm of x^l.
        step_lengths: norm(x^l - x^{l-1}).
        line_shape: line-shape score of the whole path (paper, Eq. 10).
        windowed_line_shape: the same of the 11 states round each, NaN where they do not fit.
        entropy: of the logits that a state would give through the model's own final norm and head,
            in nats; NaN where there is no head.
        no_entropy: why there is none; empty where there is.
        one_step: distance of (I + J^l_tt) x^{l-1} from x^l, in units of norm(x^l).
        rolled_out: the same of xhat^l = (I + J^l_tt) xhat^{l-1}, from xhat^0 = x^0.
        states: x^l of the tokens that are kept.
        kept: their numbers, 1..n.
    """

    norms: Float[np.ndarray, "state token"]
    step_lengths: Float[np.ndarray, "block token"]
    line_shape: Float[np.ndarray, " token"]
    windowed_line_shape: Float[np.ndarray, "state token"]
    entropy: Float[np.ndarray, "state token"]
    no_entropy: str
    one_step: Float[np.ndarray, "block token"]
    rolled_out: Float[np.ndarray, "block token"]
    states: Float[np.ndarray, "state kept d"]
    kept: Int[np.ndarray, " kept"]

    finite = ("norms", "step_lengths", "states")
    infinite = ("line_shape", "windowed_line_shape")  # of unit steps that sum to nothing

    @property
    def complete(self) -> bool:
        """Whether every token is linearised."""
        return not np.isnan(self.rolled_out).any()

    @property
    def growth(self) -> Float[np.ndarray, "block token"]:
        """The logarithm of norm(x^l) / norm(x^{l-1}), as `growth_rates` has it."""
        return _regularity().growth_rates(self.norms)

    @property
    def expodistance(self) -> Float[np.ndarray, " token"]:
        """How uneven that growth is, as `coupling_core.expodistance` has it; 0 is even growth."""
        return _regularity().expodistance(self.norms)

    @property
    def equidistance(self) -> Float[np.ndarray, " token"]:
        """How uneven the steps are, as `coupling_core.equidistance` has it; 0 is even steps."""
        return _regularity().equidistance(self.step_lengths)

    @property
    def measured(self) -> str:
        """That all tokens were measured."""
        n = len(self.tokens)
        return f"along the {'path' if n == 1 else 'paths'} of {counted(n, 'token')}"

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        kept = within(self.kept, 1, len(self.tokens))
        return {"it keeps states of tokens that it has not": kept}


def _regularity() -> Any:
    # Of a room above this one, and so imported only now, as the parts of a kind are.
    return import_module("coupling_core.analysis.trajectory")
