"""What numbers of a path by depth come to: over its tokens, and over many prompts."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis.scores import nan_mean


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
