"""Means of scores by the distance of two blocks or of two tokens: what both curves share."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.notebook import Plottable, Table, arrays_of, in_a_line
from coupling_core.base.results import PositionScores, Scores
from coupling_core.base.units import counted, rounded


def gathered(
    values: Float[np.ndarray, "n n"],
    groups: Sequence[Bool[np.ndarray, "n n"]],
    *statistics: Callable[[np.ndarray], Any],
) -> list[Float[np.ndarray, " group"]]:
    """Statistics of the values of each group of pairs; NaN of a group without any."""
    return [
        np.array([of(values[at]) if at.any() else np.nan for at in groups], np.float64)
        for of in statistics
    ]


class OverDistance(Plottable[str]):
    """A dataclass with these fields: the mean of `pairs` scores at each distance, ascending."""

    apart: ClassVar[str]
    """What the distance is called."""
    figure: ClassVar[str]
    """The name of the only figure."""
    distance: Int[np.ndarray, " distance"]
    mean: Float[np.ndarray, " distance"]
    pairs: Int[np.ndarray, " distance"]
    scores: Scores | PositionScores
    corrected: bool

    def __repr__(self) -> str:
        ends = f"{len(self.distance)} distances"
        return in_a_line(self, self.scores.whose, self._among, self.scores.view.k_told, ends)

    @property
    def _among(self) -> str:
        """Of which blocks they are, where not of all."""
        return ""

    @property
    def verdict(self) -> str:
        """The means at the shortest and the longest distance."""
        score = "chance-corrected score" if self.corrected else "of c"
        of = f"mean {score}{self.scores.view.at_k}"
        known = np.flatnonzero(~np.isnan(self.mean))
        if not known.size:
            return f"No pair has a score: there is no {of}."
        ends = (
            f"{rounded(self.mean[i])} at {self.apart} = {self.distance[i]} "
            f"({counted(int(self.pairs[i]), 'pair')})"
            for i in dict.fromkeys((known[0], known[-1]))
        )
        return f"The {of} is {' and '.join(ends)}."

    def _table(self) -> Table:
        return arrays_of(self), self.scores.attributes()

    def plot(self, figure: str = "", **options: Any) -> Drawing:
        """The curve of the app's page, the only figure; InputError on another name."""
        name: Any = known_figure(figure or self.figure, (self.figure,))
        return self.scores.plot(name, corrected=self.corrected, **options)
