"""Numbers of a path by depth, and what many prompts come to in them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis import trajectory
from coupling_core.analysis.scores import nan_mean
from coupling_core.base.results import TrajectoryResult

CurveName = Literal["norms", "growth", "steps", "line-shape-by-depth", "entropy"]


@dataclass(frozen=True)
class Curve:
    """One number by depth.

    Args:
        title: of the axis, with its unit.
        values: (depth token).
        first: depth of the first row: 0 where there is one a state, 1 where there is one a block.
        log: whether the axis is logarithmic.
        rescaled: whether a final norm in the last block, which rescales its state, is in it.
    """

    title: str
    values: Callable[[TrajectoryResult], Float[np.ndarray, "depth token"]]
    first: int = 0
    log: bool = False
    rescaled: bool = True

    @property
    def depth(self) -> str:
        """What is counted along the depth."""
        return "Block l" if self.first else "State x<sup>l</sup> (0 is the embedding)"


CURVES: dict[CurveName, Curve] = {
    "norms": Curve("Norm of the state (no unit)", lambda r: r.norms, log=True),
    "growth": Curve(
        "Growth rate alpha<sup>l</sup> (nats a block)",
        lambda r: trajectory.growth_rates(r.norms),
        first=1,
    ),
    "steps": Curve(
        "Step ‖x<sup>l</sup> - x<sup>l-1</sup>‖ (mean step = 1)",
        lambda r: r.step_lengths / r.step_lengths.mean(0),
        first=1,
        log=True,
    ),
    "line-shape-by-depth": Curve(
        f"Line-shape score of {trajectory.WINDOW} states", lambda r: r.windowed_line_shape
    ),
    "entropy": Curve("Entropy of the logits (nats)", lambda r: r.entropy, rescaled=False),
}


class CurveOverPrompts(NamedTuple):
    """A number by depth over the `n` prompts that have one: mean, and the middle 80 % of them."""

    mean: Float[np.ndarray, " depth"]
    low: Float[np.ndarray, " depth"]
    high: Float[np.ndarray, " depth"]
    n: Int[np.ndarray, " depth"]


def curve_over_prompts(curves: Float[np.ndarray, "prompt depth"]) -> CurveOverPrompts:
    """Of the medians over the tokens of many prompts; NaN where a prompt has none."""
    low, high = (quantile(curves.T, q) for q in (0.1, 0.9))
    return CurveOverPrompts(nan_mean(curves, 0), low, high, np.isfinite(curves).sum(0))


def quantile(values: Float[np.ndarray, "depth token"], q: float) -> Float[np.ndarray, " depth"]:
    """Quantile over the tokens that have a number; NaN where none has."""
    known = np.where(np.isfinite(values), values, np.nan)
    some = np.isfinite(known).any(1)
    found = np.full(len(values), np.nan)
    found[some] = np.nanquantile(known[some], q, axis=1)
    return found


def median(values: Float[np.ndarray, "depth token"]) -> Float[np.ndarray, " depth"]:
    """Median over the tokens that have a number."""
    return quantile(values, 0.5)
