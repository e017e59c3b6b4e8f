"""Whether a correlation over models rests on one family, or on differences between families."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from coupling_core.analysis.statistics.correlations import Correlation, correlate
from coupling_core.analysis.statistics.partial import (
    ResidualCorrelation,
    over_clusters,
    residual_correlation,
)
from coupling_core.analysis.statistics.points import PLURAL, Points
from coupling_core.analysis.statistics.resampling import LEVEL, Range
from coupling_core.base.records import Method


@dataclass(frozen=True)
class LeaveOneFamilyOut:
    """A correlation, and what is left of it without each family.

    Every p is that over whole families; NaN where they are too few.

    Args:
        points: what it is over.
        overall: of all models.
        without: (family) the same without each family, by its name, in the order of the points.
        within: of what is left when each family's mean is taken from x and y (from their ranks for
            Spearman's rho), over families of two models or more; a degree of freedom is lost for
            every family.
        within_families: its 95 % interval and p over whole families.
        between: of the families' means of x and y: n counts families.
    """

    points: Points
    overall: Correlation
    without: dict[str, Correlation]
    within: ResidualCorrelation
    within_families: Range
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
        if not self.is_significant:
            return ()
        return tuple(
            name
            for name, left in self.without.items()
            if left.reason or left.over_clusters.p >= LEVEL
        )

    @property
    def is_significant(self) -> bool:
        """Whether the correlation of all models is, over whole families."""
        return self.overall.over_clusters.p < LEVEL

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
        """Whether a significant correlation is not seen within families: perhaps their artefact."""
        same = self.within.estimate * self.overall.estimate > 0
        return self.is_significant and not (same and self.within_families.p < LEVEL)

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
        told = (
            f"Leaving out {self.strongest} moves the correlation most, from "
            f"{self.overall.estimate:.2f} to {left.estimate:.2f}."
        )
        if self.turned:
            told += f" Its sign turns without {_or(self.turned)}."
        if self.lost:
            told += f" It is not significant without {_or(self.lost)}."
        elif self.is_significant and not any(
            one.over_clusters.reason for one in self.without.values()
        ):
            told += " It stays significant whichever family is left out."
        return told

    def _inside(self) -> str:
        if self.within.reason:
            return f"Within families: {self.within.reason}."
        inside = f"Within families it is {self.within.estimate:.2f} ({self.within_families.told})"
        if self.between_only:
            return f"{inside}: differences between families may be all that it rests on."
        return f"{inside}."


def leave_one_family_out(points: Points, method: Method = "pearson") -> LeaveOneFamilyOut:
    """Correlate again without each family, within families, and between their means."""
    family = np.array(points.family, object)
    return LeaveOneFamilyOut(
        points,
        correlate(points, method),
        {
            name: correlate(points.keep(family != name), method)
            for name in dict.fromkeys(points.family)
        },
        *_within(points, method),
        correlate(_family_means(points), method),
    )


def _within(points: Points, method: Method) -> tuple[ResidualCorrelation, Range]:
    family = pd.Series(points.family, dtype=object)
    kept = points.keep((family.map(family.value_counts()) > 1).to_numpy(bool))
    x, y = kept.regressor, kept.y
    if method == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    unit = kept.clusters("family")
    members = np.eye(len(set(kept.family)))[unit]  # (point, family)
    found = residual_correlation(x, y, members)
    return found, over_clusters(found, x, y, members, unit, PLURAL["family"])


def _family_means(points: Points) -> Points:
    rows = pd.DataFrame({"family": points.family, "x": points.regressor, "y": points.y})
    means = rows.groupby("family", sort=False).mean()
    names = tuple(means.index)
    x, y = means["x"].to_numpy(np.float64), means["y"].to_numpy(np.float64)
    return Points(points.x_name, points.y_name, x, y, names, names, names)


def _or(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
