"""What the rate of stochastic depth does to a number of the runs.

Runs of one seed begin with the same weights and see the data in the same order, whatever their
rate: what the seed does to a number, it does at every rate. Rates are therefore compared within
seeds, as in a randomised block design (Fisher 1935): with y of the run of rate a and seed b,

    y_ab = seed_b + rate_a + error_ab

The errors of each rate have a variance of their own, since runs may scatter more at one than at
another; a contrast of rates is tested by Student's t with Satterthwaite's degrees of freedom
(Welch 1947).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from coupling_core.analysis.scores import LEVEL, p_words

ROUNDING = 1e-9
"""A share of the range of the numbers below which a difference is none."""


@dataclass(frozen=True)
class RateEffect:
    """What the rate does, as far as the runs tell.

    Each p is multiplied by the number of them, two or one, so that either is below 0.05 in at most
    5 % of suites where the rate does nothing.

    Args:
        slope: of the straight line of the rates' means, per unit of the rate.
        line_p: of no slope.
        curve_p: of no curvature, that of a parabola; 1 where there are only two rates.
        best: the rates that may have the highest mean; the others are below one of them.
        reason: why nothing can be told; "" where it can.
    """

    slope: float
    line_p: float
    curve_p: float
    best: tuple[float, ...]
    reason: str = ""

    @property
    def told(self) -> str:
        """What the rate does, as the end of a sentence."""
        if self.reason:
            return f"cannot be told to go with the rate or not: {self.reason}"
        if self.curve_p < LEVEL:
            rates = " or ".join(f"{rate:g}" for rate in self.best)
            return (
                "goes with the rate along a curve rather than a straight line "
                f"({p_words(self.curve_p)}), and is highest at rate {rates}"
            )
        if self.line_p < LEVEL:
            way = "rises" if self.slope > 0 else "falls"
            return f"{way} with the rate on the whole ({p_words(self.line_p)})"
        return (
            "does not measurably change with the rate (a straight line: "
            f"{p_words(self.line_p)}; a curve: {p_words(self.curve_p)})"
        )


def rate_effect(
    rate: Float[np.ndarray, " run"], seed: Float[np.ndarray, " run"], y: Float[np.ndarray, " run"]
) -> RateEffect:
    """What the rate does to y."""
    rates, seeds = np.unique(rate), np.unique(seed)
    if len(rates) < 2:
        return _nothing("all runs have one rate")
    if np.unique(rate, return_counts=True)[1].min() < 2 or len(seeds) < 2:
        return _nothing("it takes two seeds or more at each rate")
    if max(np.ptp(y[seed == one]) for one in seeds) <= ROUNDING * np.abs(y).max():
        return _nothing("it is the same in all runs of a seed")
    fit = _Fit.of(rate, seed, y)
    line = rates - rates.mean()
    square = rates**2 - np.polyval(np.polyfit(rates, rates**2, 1), rates)
    curved = len(rates) > 2
    best = [
        own
        for own in range(len(rates))
        if min(fit.below_p(own, other) for other in range(len(rates)) if other != own)
        * (len(rates) - 1)
        >= LEVEL
    ]
    return RateEffect(
        fit.value(line) / (line @ line),
        min(1.0, (1 + curved) * fit.p(line)),
        min(1.0, 2 * fit.p(square)) if curved else 1.0,
        tuple(rates[best].tolist()),
    )


@dataclass(frozen=True)
class _Fit:
    """Means by rate within seeds, and how sure they are.

    Args:
        weights: (rate, run) of the numbers in the mean of each rate, beside what seeds do.
        y: the numbers.
        place: the rate of each run, from 0.
        variance: of the errors at each rate.
    """

    weights: Float[np.ndarray, "rate run"]
    y: Float[np.ndarray, " run"]
    place: Float[np.ndarray, "rate run"]
    variance: Float[np.ndarray, " rate"]

    @staticmethod
    def of(
        rate: Float[np.ndarray, " run"],
        seed: Float[np.ndarray, " run"],
        y: Float[np.ndarray, " run"],
    ) -> "_Fit":
        """By least squares; a variance is the mean of e^2 / (1 - leverage) over a rate's runs."""
        place = (np.unique(rate)[:, None] == rate).astype(np.float64)
        blocks = (np.unique(seed)[:, None] == seed).astype(np.float64)
        design = np.vstack([place, blocks[1:] - blocks[:1]]).T  # seeds add to nothing
        inverse = np.linalg.pinv(design)
        error = y - design @ (inverse @ y)
        left = np.clip(1 - np.einsum("rt,tr->r", design, inverse), ROUNDING, None)
        return _Fit(inverse[: len(place)], y, place, place @ (error**2 / left) / place.sum(1))

    def value(self, contrast: Float[np.ndarray, " rate"]) -> float:
        """Of a contrast of the rates' means."""
        return float(contrast @ self.weights @ self.y)

    def p(self, contrast: Float[np.ndarray, " rate"]) -> float:
        """Two-sided, of a contrast of 0."""
        return min(1.0, 2 * min(self._above_p(contrast), self._above_p(-contrast)))

    def below_p(self, own: int, other: int) -> float:
        """One-sided, of one rate's mean not being below another's."""
        return self._above_p(np.eye(len(self.variance))[other] - np.eye(len(self.variance))[own])

    @property
    def _df(self) -> Float[np.ndarray, " rate"]:
        """Of each variance: those of all come to (seeds - 1) (rates - 1), as the errors have."""
        n_rates = len(self.variance)
        return (self.place.sum(1) - 1) * (n_rates - 1) / n_rates

    def _above_p(self, contrast: Float[np.ndarray, " rate"]) -> float:
        parts = self.variance * (self.place @ (contrast @ self.weights) ** 2)
        value, error = self.value(contrast), np.sqrt(parts.sum())
        if error <= ROUNDING * np.ptp(self.y):
            return float(value <= ROUNDING * np.ptp(self.y))
        df = parts.sum() ** 2 / np.sum(parts**2 / self._df)
        return float(stats.t.sf(value / error, df))


def _nothing(reason: str) -> RateEffect:
    return RateEffect(np.nan, np.nan, np.nan, (), reason)
