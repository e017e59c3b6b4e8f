"""How far noise gets, and up to which size a Jacobian says it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coupling_core.base.errors import InputError
from coupling_core.base.results import PerturbationResult

TENTH = 0.1
"""The size, in units of the embedding, at which noise is looked at where nobody says one."""
OFF = 0.1
"""How far the change to first order may be from the true one, relative to that, to stand for it."""
BLURRED = OFF / 4
"""Where rounding alone is more of the true change than this, the two cannot be told apart."""
MOST = 0.95
"""Part of the draws that lie between `low` and `high`."""


@dataclass(frozen=True)
class Spread:
    """Over the draws; NaN where nothing was measured.

    Args:
        median: of the draws.
        low: what 1 in 40 draws lies below.
        high: what 1 in 40 draws lies above.
    """

    median: Float[np.ndarray, "*shape state"]
    low: Float[np.ndarray, "*shape state"]
    high: Float[np.ndarray, "*shape state"]


def spread(values: Float[np.ndarray, "*shape draw state"]) -> Spread:
    """Median over the draws, and between what 95 % of them lie."""
    low, median, high = np.quantile(values, (0.5 - MOST / 2, 0.5, 0.5 + MOST / 2), axis=-2)
    return Spread(median, low, high)


def blurred(result: PerturbationResult) -> np.ndarray:
    """Whether rounding hides how far first order is off (way size draw state).

    Both the disturbed and the undisturbed state are rounded.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.sqrt(2) * result.rounding / result.distance
    return part > BLURRED


def perturbation_radius(result: PerturbationResult) -> Float[np.ndarray, "way state"]:
    """The size of noise at which first order is off by 10 % in half of the draws.

    Between two sizes that were measured it is read off in logarithms of both. It is infinite where
    no size measured does that, 0 where the least one does, and NaN where rounding hides it or
    nothing was measured. State 0 is the noise itself: infinite.

    Args:
        result: may be partial.
    """
    error = np.where(blurred(result), np.nan, result.error.astype(np.float64))
    median = _median(error)
    found = np.full(median.shape[::2], np.nan)
    for way, state in np.ndindex(found.shape):
        found[way, state] = _crossing(result.noise_sizes, median[way, :, state])
    found[:, 0] = np.where(np.isnan(result.distance[:, 0, 0, 0]), np.nan, np.inf)
    return found


def _median(error: Float[np.ndarray, "way size draw state"]) -> Float[np.ndarray, "way size state"]:
    """Over the draws that rounding does not hide; NaN where that is not half of them."""
    known = np.isfinite(error).mean(2) >= 0.5
    filled = np.where(known[:, :, None], error, 0.0)
    return np.where(known, np.nanmedian(filled, axis=2), np.nan)


def _crossing(sizes: Float[np.ndarray, " size"], error: Float[np.ndarray, " size"]) -> float:
    """The size at which the error first reaches OFF."""
    known = np.flatnonzero(np.isfinite(error))
    if not known.size:
        return float("nan")
    past = known[error[known] >= OFF]
    if not past.size:
        return float("inf")
    at = past[0]
    before = known[known < at]
    if not before.size:
        return 0.0 if at == 0 else float("nan")
    below = before[-1]
    x, y = np.log(sizes[[below, at]]), np.log(np.maximum(error[[below, at]], 1e-12))
    return float(np.exp(x[0] + (np.log(OFF) - y[0]) / (y[1] - y[0]) * (x[1] - x[0])))


def nearest_size(result: PerturbationResult, size: float) -> int:
    """The index of the size that is nearest, in ratio."""
    if not 0 < size < np.inf:
        raise InputError(f"a size of noise is a positive number, and {size} came")
    return int(np.argmin(np.abs(np.log(result.noise_sizes) - np.log(size))))
