"""The scores of one view of a result: numbers, their means, and the same as tables and a figure."""

from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Literal, SupportsIndex, overload

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.base.blocks import blocks_of
from coupling_core.base.drawing import Drawing, plot
from coupling_core.base.errors import InputError
from coupling_core.base.figure_names import DepthFigure, TokensFigure
from coupling_core.base.notebook import FigureOf, Plottable, in_a_line, in_short, table_of
from coupling_core.base.records import View, resolve_block, resolve_token
from coupling_core.base.results.base import Result
from coupling_core.base.units import counted, ranges, rounded

if TYPE_CHECKING:  # half a second each to import, and only tables need them
    import xarray
    from pandas import DataFrame

Some = str | range | list[int] | np.ndarray
"""Blocks that are looked at together; a tuple is one pair of them."""

MEASURES = {
    "coupling": "raw score c",
    "chance": "chance floor of c",
    "corrected": "(c - floor) / (1 - floor): 0 by chance, 1 coupled",
}
Along = dict[str, tuple[str, np.ndarray]]
"""What stands along dimensions, by name: the dimension, and its numbers or texts."""


def over_pairs(along: Along, dims: tuple[str, str], n: int) -> dict[str, np.ndarray]:
    """What names n by n pairs, row by row, from what names the rows and the columns."""
    return {
        name: np.repeat(values, n) if dim == dims[0] else np.tile(values, n)
        for name, (dim, values) in along.items()
    }


def coordinates(along: Along) -> Along:
    """The same with texts of fixed width, which NetCDF and Zarr take."""
    return {
        name: (dim, values.astype(str) if values.dtype == object else values)
        for name, (dim, values) in along.items()
    }


@dataclass(frozen=True, repr=False)
class _Three:
    """The scores of a pair, or means of them.

    Args:
        corrected: the chance-corrected score (c - floor) / (1 - floor): 0 by chance, 1 coupled.
        coupling: the raw score c.
        chance: its chance floor.
    """

    corrected: float
    coupling: float
    chance: float

    __repr__ = in_short


class Means(_Three):
    """Means of scores without any Jacobian against itself; NaN where no pair is left."""


class PairScores(_Three):
    """The scores of one pair, of blocks or of tokens; NaN where it has none."""


@dataclass(frozen=True, repr=False)
class ScoreMap(Plottable[FigureOf]):
    """The scores of pairs, of blocks or of tokens; like all scores they have no unit.

    Args:
        coupling: raw score c; row = Jacobian, column = basis. NaN where causality forbids it, and
            where a rank is below K.
        chance: its chance floor; the same along a row where two blocks, or all, are compared.
        corrected: (c - floor) / (1 - floor).
        weights: what each pair weighs in a mean: 1, or of how many pairs of Jacobians its score is
            the mean; 0 where a Jacobian meets itself, which is 1 by construction.
        result: what they were taken of; None where that has been let go.
        view: how it is looked at.
    """

    dims: ClassVar[tuple[str, str]]
    """The names of their two dimensions: of the Jacobian, and of the basis."""

    coupling: Float[np.ndarray, "row column"]
    chance: Float[np.ndarray, "row column"]
    corrected: Float[np.ndarray, "row column"]
    weights: Float[np.ndarray, "row column"]
    result: Result | None = field(default=None, kw_only=True, repr=False, compare=False)
    view: View = field(kw_only=True, repr=False, compare=False)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of the blocks or tokens along both dimensions, from 1."""
        return tuple(range(1, len(self.coupling) + 1))

    def against_itself(self) -> Bool[np.ndarray, "row column"]:
        """Where a Jacobian meets itself, which is 1 by construction."""
        return self.weights <= 0

    def mean(self) -> Means:
        """Means over all pairs, without any Jacobian against itself, which scores 1 in any case."""
        weights = np.where(np.isnan(self.coupling), 0, self.weights)
        three = self.corrected, self.coupling, self.chance
        return Means(*(weighted_mean(values, weights) for values in three))

    @property
    def floor_error(self) -> float:
        """Standard error of chance floors that are sampled, the mean over the rows.

        It is 0 where they are exact, and NaN where nothing tells it.
        """
        of: Any = self.result
        if not self.view.is_sampled:
            return 0.0
        if getattr(of, "chance_error", None) is None:
            return float("nan")
        rows = np.array(self.numbers) - 1
        errors = of.chance_error[of.sampled.index(self.view.definition), rows]
        return float(errors[:, self.view.k - 1].mean())

    @property
    def _floor_words(self) -> str:
        if not (error := self.floor_error):
            return ""
        far = f", with a standard error of {rounded(error, 4)}" * (error == error)
        return f" The floors are means over 8 random bases{far}."

    def strongest(self, n: int = 10) -> "DataFrame":
        """The rows of `to_pandas` with the n highest chance-corrected scores, the highest first.

        No Jacobian is among them against itself, and no pair without a score: there may be fewer.
        """
        table = self.to_pandas()[~self.against_itself().ravel()].dropna(subset=["corrected"])
        table = table.sort_values("corrected", ascending=False, kind="stable", ignore_index=True)
        return table.head(n)

    def along(self) -> Along:
        """What names rows and columns."""
        return {dim: (dim, np.array(self.numbers)) for dim in self.dims}

    @property
    def arrays(self) -> dict[str, Float[np.ndarray, "row column"]]:
        """The three scores of every pair, by name."""
        return {name: getattr(self, name) for name in MEASURES}

    def to_pandas(self) -> "DataFrame":
        """The scores as a table.

        Returns:
            a row a pair; columns block (of the Jacobian) and basis, or token and other_token with
            their texts text and other_text, then coupling, chance, corrected. A Jacobian in its own
            basis, which scores 1 by construction, has a row too: `mean()` leaves these out, and so
            does `table.query("block != basis")`. Without its result there are no texts.
        """
        pairs = over_pairs(self.along(), self.dims, len(self.coupling))
        three = {name: values.ravel() for name, values in self.arrays.items()}
        return table_of(pairs | three, self.attributes())

    def to_xarray(self) -> "xarray.Dataset":
        """The scores with the names of their dimensions.

        Returns:
            variables `coupling`, `chance` and `corrected` over `dims`, without a unit; attributes
            that say what they are of: K, definition (and its p), role, model, prompt, measured,
            final_norm, precision, certificate and key, each a number or a text, as NetCDF takes
            them.
        """
        import xarray

        arrays = {
            name: (self.dims, np.array(values), {"long_name": MEASURES[name]})
            for name, values in self.arrays.items()
        }
        along = coordinates(self.along())
        return xarray.Dataset(arrays, coords=along, attrs=self.attributes())

    def plot(self, figure: FigureOf | Literal[""] = "", **options: Any) -> Drawing:
        """The map of the scores, as the app's page draws it, or another figure of the same view.

        Args:
            figure: its name, as in `Result.plot`; "" is the map.
            options: those of the figure by name. Of the map, `corrected=False` draws c, from 0 to
                1, in place of the chance-corrected score in fixed colours from -0.1 to 0.25.

        Raises:
            InputError: where the scores have let go of their result, or on a name that no figure of
                its kind has; the message lists them.
        """
        if self.result is None:
            raise InputError("a figure needs the result of the scores: result.scores(...).plot()")
        return plot(self.result, self.view, figure, **options)

    @property
    def whose(self) -> str:
        """Whose they are, in a line; "" where they have let go of their result."""
        return self.result.whose if self.result else ""

    def __repr__(self) -> str:
        mean, of = self.mean(), self.dims[0]
        return in_a_line(
            self,
            self.whose,
            self.result.measured if self.result else "",
            f"{counted(len(self.numbers), of)}: {ranges(self.numbers)}",
            self.view.k_told,
            f"mean corrected {rounded(mean.corrected)}, coupling {rounded(mean.coupling)}",
        )

    def _pair(self, row: int, column: int) -> PairScores:
        return PairScores(**{name: float(of[row, column]) for name, of in self.arrays.items()})

    def attributes(self) -> dict[str, str | float]:
        """Whose they are and how it is looked at, for tables and arrays that leave the program.

        Where they have let go of their result, how it is looked at alone.
        """
        return self.view.attributes() | (self.result.attributes() if self.result else {})


@dataclass(frozen=True, repr=False)
class Scores(ScoreMap[DepthFigure]):
    """The scores of blocks in one view of a result.

    `scores[12, 11]` has those of one pair, the Jacobian of block 12 in the basis of block 11, and
    `scores["9-16"]` or `scores[[9, 12]]` the map of some of the blocks; -1 is the model's last.

    Args:
        blocks: the block numbers of the rows and columns, 1..L.
    """

    dims = ("block", "basis")

    blocks: tuple[int, ...]

    @property
    def verdict(self) -> str:
        """Their means over l != l', beside chance."""
        mean = self.mean()
        # Each pair is corrected by the floor of its own: what is made of the two means is another
        # number, which may even have the other sign.
        return self.none_words or (
            f"In the mean over the pairs l ≠ l'{self.view.at_k}, c is {rounded(mean.coupling)}, "
            f"its chance floor {rounded(mean.chance)}, and the score of each pair, corrected "
            f"by its own floor, {rounded(mean.corrected)}.{self._floor_words}"
        )

    @property
    def none_words(self) -> str:
        """That no pair has a score, and why where it is known; "" where one has."""
        if np.isfinite(self.mean().corrected):
            return ""
        of: Any = self.result  # depth-wise
        ranks = np.empty(0) if of is None else of.rank[np.array(self.blocks) - 1]
        lowest = min(ranks[ranks > 0], default=np.inf)
        what, why = "a score", ""
        if len(self.blocks) < 2:
            why = ": there is one block alone"
        elif (self.chance >= 1).all():
            what, why = "a chance-corrected score", ": chance alone gives as much as can be"
        elif lowest < self.view.k:
            why = f": the rank of a Jacobian is below it, the smallest {lowest}"
        return f"No pair of different blocks has {what}{self.view.at_k}{why}."

    @overload
    def __getitem__(self, blocks: tuple[SupportsIndex, SupportsIndex]) -> PairScores: ...
    @overload
    def __getitem__(self, blocks: Some) -> "Scores": ...
    def __getitem__(self, blocks: Any) -> "PairScores | Scores":
        """The scores of one pair, `block, basis`, or of some blocks; see the class.

        Raises:
            InputError: where one of them is not there.
        """
        last = self.result.n_blocks if self.result else max(self.blocks)
        if isinstance(blocks, tuple):
            row, column = (resolve_block(index(each), last) for each in blocks)
            return self._pair(self._at(row), self._at(column))
        chosen = blocks_of(blocks, last) or self.blocks
        at = np.array([self._at(block) for block in chosen])
        kept = self.arrays | {"weights": self.weights}
        some: Any = {name: values[np.ix_(at, at)] for name, values in kept.items()}
        return replace(self, **some, blocks=chosen, view=replace(self.view, blocks=chosen))

    def _at(self, block: int) -> int:
        if block not in self.blocks:
            raise InputError(f"these scores are of blocks {ranges(self.blocks)}, not of {block}")
        return self.blocks.index(block)

    @property
    def numbers(self) -> tuple[int, ...]:
        """As `blocks`."""
        return self.blocks


@dataclass(frozen=True, repr=False)
class PositionScores(ScoreMap[TokensFigure]):
    """The scores of a prompt's tokens in one view of a result.

    `scores[10, 3]` has those of one pair: the Jacobian of token 10 in the basis of token 3.
    """

    dims = ("token", "other_token")

    @property
    def verdict(self) -> str:
        """Their mean over all pairs of tokens, chance-corrected."""
        mean = self.mean().corrected
        if np.isnan(mean):
            return f"No pair of different Jacobians has a score{self.view.at_k}."
        without = " without any Jacobian against itself" if self.against_itself().any() else ""
        over, why = self._pairs_words()
        return (
            f"The mean chance-corrected score over {over}{self.view.at_k}{without} is "
            f"{rounded(mean)}.{why}{self._floor_words}{self._of_one_block}"
        )

    @property
    def _of_one_block(self) -> str:
        of: Any = self.result
        if of is None or (of.request.block is not None and of.blocks[0] != of.blocks[1]):
            return ""
        return (
            " It counts a block with itself at different tokens: there even an untrained network "
            "is far above chance."
        )

    def _pairs_words(self) -> tuple[str, str]:
        """Over which pairs the mean is, and why not over all of them."""
        of: Any = self.result  # of one of the kinds between tokens
        if of is None:
            return "all pairs that have one", ""
        wanted = np.outer(of.allowed, of.allowed) & ~self.against_itself()
        n, every = int((~np.isnan(self.corrected) & wanted).sum()), int(wanted.sum())
        if n == every:
            return "all pairs", ""
        lowest = min(of.rank[of.rank > 0], default=np.inf)
        low = bool(of.complete and lowest < self.view.k)
        why = f" The others have a Jacobian whose rank is below K; the smallest is {lowest}." * low
        return f"{n} of {counted(every, 'pair')}", why

    def to_pandas(self) -> "DataFrame":
        """As `ScoreMap.to_pandas`; a pair without a score has no chance floor either."""
        frame = super().to_pandas()
        frame["chance"] = frame["chance"].where(frame["coupling"].notna())
        return frame

    def __getitem__(self, tokens: tuple[SupportsIndex, SupportsIndex]) -> PairScores:
        """The scores of one pair of tokens: that of the Jacobian and that of the basis, from 1."""
        row, column = (resolve_token(index(each), len(self.coupling)) - 1 for each in tokens)
        return self._pair(row, column)

    def along(self) -> Along:
        """What names rows and columns: numbers of the tokens, and their texts."""
        if self.result is None:
            return super().along()
        texts, (row, column) = np.array(self.result.tokens, object), self.dims
        return super().along() | {"text": (row, texts), "other_text": (column, texts)}


def weighted_mean(values: Float[np.ndarray, "*pair"], weight: Float[np.ndarray, "*pair"]) -> float:
    """The mean of the values that exist; NaN where none does."""
    counts = ~np.isnan(values) & (weight > 0)
    known, weighs = values[counts], weight[counts]
    if not known.size:
        return float("nan")
    if (weighs == weighs[0]).all():
        return float(known.mean())
    return float((known * weighs).sum() / weighs.sum())
