"""Whether a correlation over models rests on one family, or on differences between families."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from coupling_core.records import Method
from coupling_core.statistics.correlations import Correlation, correlate
from coupling_core.statistics.partial import ResidualCorrelation, residual_correlation
from coupling_core.statistics.points import Points

LEVEL = 0.05
"""Of significance."""


@dataclass(frozen=True)
class LeaveOneFamilyOut:
    """A correlation, and what is left of it without each family.

    The p of a straight line's slope is that of Pearson's r, so that a refit says the same.

    Args:
        points: what it is over.
        overall: of all models.
        without: (family) the same without each family, by its name, in the order of the points.
        within: of what is left when each family's mean is taken from x and y (from their ranks for
            Spearman's rho), over families of two models or more; a degree of freedom is lost for
            every family.
        between: of the families' means of x and y: n counts families.
    """

    points: Points
    overall: Correlation
    without: dict[str, Correlation]
    within: ResidualCorrelation
    between: Correlation

    @property
    def turned(self) -> tuple[str, ...]:
        """Families without which the sign is the other."""
        return tuple(
            name for name, left in self.without.items() if left.estimate * self.overall.estimate < 0
        )

    @property
    def lost(self) -> tuple[str, ...]:
        """Families without which a significant correlation is not significant, or not there."""
        if not self.overall.p < LEVEL:
            return ()
        return tuple(name for name, left in self.without.items() if not left.p < LEVEL)

    @property
    def strongest(self) -> str:
        """The family whose removal moves the estimate most; "" where none leaves an estimate."""
        moved = {
            name: abs(left.estimate - self.overall.estimate)
            for name, left in self.without.items()
            if not np.isnan(left.estimate)
        }
        return max(moved, key=lambda name: moved[name], default="")

    @property
    def between_only(self) -> bool:
        """Whether a significant correlation is not there within families: a family artefact."""
        same = self.within.estimate * self.overall.estimate > 0
        return self.overall.p < LEVEL and not (same and self.within.p < LEVEL)

    @property
    def verdict(self) -> str:
        """What this says, in sentences."""
        if self.overall.reason:
            return f"No correlation: {self.overall.reason}."
        told = [self._removals(), self._inside()]
        return " ".join(sentence for sentence in told if sentence)

    def _removals(self) -> str:
        if not self.strongest:
            return "With any family left out too few models remain for a correlation."
        left = self.without[self.strongest]
        moved = (
            f"Leaving out {self.strongest} moves the correlation most, from "
            f"{self.overall.estimate:.2f} to {left.estimate:.2f} (p = {left.p:.2g})."
        )
        if self.turned:
            moved += f" Its sign turns without {_or(self.turned)}."
        if self.lost:
            moved += f" It is not significant without {_or(self.lost)}."
        elif self.overall.p < LEVEL:
            moved += " It stays significant whichever family is left out."
        return moved

    def _inside(self) -> str:
        if self.within.reason:
            return f"Within families: {self.within.reason}."
        inside = (
            f"Within families it is {self.within.estimate:.2f} (p = {self.within.p:.2g}, "
            f"{self.within.df} degrees of freedom)"
        )
        if self.between_only:
            return f"{inside}: the correlation rests on differences between families."
        return f"{inside}."


def leave_one_family_out(
    points: Points, method: Method = "pearson", *, seed: int = 0
) -> LeaveOneFamilyOut:
    """Correlate again without each family, within families, and between their means.

    Args:
        points: two numbers of each model.
        method: Pearson's r or Spearman's rho.
        seed: of the bootstraps.
    """
    family = np.array(points.family, object)
    return LeaveOneFamilyOut(
        points,
        correlate(points, method, seed=seed),
        {
            name: correlate(points.keep(family != name), method, seed=seed)
            for name in dict.fromkeys(points.family)
        },
        _within(points, method),
        correlate(_family_means(points), method, seed=seed),
    )


def _within(points: Points, method: Method) -> ResidualCorrelation:
    family = pd.Series(points.family, dtype=object)
    kept = points.keep((family.map(family.value_counts()) > 1).to_numpy(bool))
    x, y = kept.regressor, kept.y
    if method == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    members = np.eye(len(set(kept.family)))[kept.clusters("family")]  # (point, family)
    return residual_correlation(x, y, members)


def _family_means(points: Points) -> Points:
    rows = pd.DataFrame({"family": points.family, "x": points.regressor, "y": points.y})
    means = rows.groupby("family", sort=False).mean()
    names = tuple(means.index)
    x, y = means["x"].to_numpy(np.float64), means["y"].to_numpy(np.float64)
    return Points(points.x_name, points.y_name, x, y, names, names, names)


def _or(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
