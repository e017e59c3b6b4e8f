"""How far noise gets, and up to which size a Jacobian says it."""

from typing import NamedTuple

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


class Spread(NamedTuple):
    """Over the draws, of which 1 in 40 lies below `low`, and 1 above `high`; NaN of none."""

    median: Float[np.ndarray, "*shape state"]
    low: Float[np.ndarray, "*shape state"]
    high: Float[np.ndarray, "*shape state"]


def spread(values: Float[np.ndarray, "*shape draw state"]) -> Spread:
    """Median over the draws, and between what 95 % of them lie."""
    return Spread(*np.quantile(values, (0.5, 0.5 - MOST / 2, 0.5 + MOST / 2), axis=-2))


def blurred(result: PerturbationResult) -> np.ndarray:
    """Whether rounding, of both states, hides how far first order is off (way size draw state)."""
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
    known = np.isfinite(error)
    if not (error >= OFF).any():
        return np.inf if known.any() else np.nan
    at = int((error >= OFF).argmax())
    before = np.flatnonzero(known[:at])
    if not before.size:
        return np.nan if at else 0.0
    below = before[-1]
    x, y = np.log(sizes[[below, at]]), np.log(np.maximum(error[[below, at]], 1e-12))
    return float(np.exp(x[0] + (np.log(OFF) - y[0]) / (y[1] - y[0]) * (x[1] - x[0])))


def nearest_size(result: PerturbationResult, size: float) -> int:
    """The index of the size that is nearest, in ratio."""
    if not 0 < size < np.inf:
        raise InputError(f"a size of noise is a positive number, and {size} came")
    return int(np.argmin(np.abs(np.log(result.noise_sizes) - np.log(size))))
