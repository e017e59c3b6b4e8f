"""Whether a correlation over models rests on one family, or on differences between families."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from coupling_core.analysis.scores import LEVEL
from coupling_core.analysis.statistics.correlations import Correlation, correlate, correlation_of
from coupling_core.analysis.statistics.points import PLURAL, Points
from coupling_core.base.records import Method
from coupling_core.base.wording import paragraph


@dataclass(frozen=True)
class LeaveOneFamilyOut:
    """A correlation, and what is left of it without each family, by its name.

    `within` is of what is left when each family's mean is taken from x and y (from their ranks for
    Spearman's rho), over families of two models or more: a degree of freedom is lost for every
    family. `between` is of the families' means. Every p is that over whole families.
    """

    points: Points
    overall: Correlation
    without: dict[str, Correlation]
    within: Correlation
    between: Correlation

    @property
    def rows(self) -> dict[str, Correlation]:
        """All of these, by what each is of."""
        without = {f"without {name}": left for name, left in self.without.items()}
        inside = {"within families": self.within, "between families": self.between}
        return {"all models": self.overall, **without, **inside}

    @property
    def turned(self) -> tuple[str, ...]:
        """Families without which the sign is the other."""
        return tuple(
            name for name, left in self.without.items() if left.estimate * self.overall.estimate < 0
        )

    @property
    def lost(self) -> tuple[str, ...]:
        """Families without which a significant correlation is not significant, or not there."""
        return tuple(
            name
            for name, left in self.without.items()
            if self.is_significant and (left.reason or left.over.p >= LEVEL)
        )

    @property
    def is_significant(self) -> bool:
        """Whether the correlation of all models is, over whole families."""
        return self.overall.over.p < LEVEL

    @property
    def strongest(self) -> str:
        """The family whose removal moves the estimate most; "" where none leaves an estimate."""
        moved = pd.Series({name: left.estimate for name, left in self.without.items()}, dtype=float)
        moved = (moved - self.overall.estimate).abs().dropna()
        return "" if moved.empty else str(moved.idxmax())

    @property
    def between_only(self) -> bool:
        """Whether a significant correlation is not seen within families: perhaps their artefact."""
        same = self.within.estimate * self.overall.estimate > 0
        return self.is_significant and not (same and self.within.over.p < LEVEL)

    @property
    def verdict(self) -> str:
        """What this says, in sentences."""
        if self.overall.reason:
            return f"No correlation: {self.overall.reason}."
        strongest, within = self.strongest, self.within
        left = self.without.get(strongest, self.overall).estimate
        known = strongest and not any(one.over.reason for one in self.without.values())
        rests = ": differences between families may be all that it rests on" * self.between_only
        return paragraph(
            (not strongest, "With any family left out too few models remain for a correlation."),
            (
                strongest,
                f"Leaving out {strongest} moves the correlation most, from "
                f"{self.overall.estimate:.2f} to {left:.2f}.",
            ),
            (self.turned, f"Its sign turns without {_or(self.turned)}."),
            (strongest and self.lost, f"It is not significant without {_or(self.lost)}."),
            (
                known and self.is_significant and not self.lost,
                "It stays significant whichever family is left out.",
            ),
            (within.reason, f"Within families: {within.reason}."),
            (
                not within.reason,
                f"Within families it is {within.estimate:.2f} ({within.over.told}){rests}.",
            ),
        )


def leave_one_family_out(points: Points, method: Method = "pearson") -> LeaveOneFamilyOut:
    """Correlate again without each family, within families, and between their means."""
    family = points.rows["family"]
    without = {name: correlate(points.keep(family != name), method) for name in family.unique()}
    return LeaveOneFamilyOut(
        points,
        correlate(points, method),
        without,
        _within(points, method),
        correlate(_family_means(points), method),
    )


def _within(points: Points, method: Method) -> Correlation:
    kept = points.keep(points.rows["family"].duplicated(keep=False))
    x, y = kept.regressor, kept.y
    if method == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    unit = kept.clusters("family")
    members = np.eye(len(np.unique(unit)))[unit]  # (point, family)
    return correlation_of(x, y, unit, PLURAL["family"], given=members)


def _family_means(points: Points) -> Points:
    rows = points.rows.assign(x=points.regressor).groupby("family", sort=False)[["x", "y"]].mean()
    names = rows.index
    return replace(points, rows=rows.assign(model=names, family=names, run=names))


def _or(names: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
