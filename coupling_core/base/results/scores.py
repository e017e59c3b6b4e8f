"""The scores of one view of a result: numbers, their means, and the same as tables and a figure."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, SupportsIndex, overload

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.base.arrays import require_array
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.drawing import DepthFigure, Drawing, FigureName, TokensFigure
from coupling_core.base.equality import SameContent, hash_of, same
from coupling_core.base.errors import InputError
from coupling_core.base.keywords import known_keywords
from coupling_core.base.records import View, resolve_token
from coupling_core.base.results.base import Result
from coupling_core.base.showing import Drawn, in_a_line
from coupling_core.base.units import a_or_an, counted, ranges, rounded

if TYPE_CHECKING:  # half a second each to import, and only tables need them
    import xarray
    from pandas import DataFrame

Some = str | range | list[int] | np.ndarray
"""Blocks that are looked at together; a tuple is one pair of them."""

_LONG_NAMES = {
    "coupling": "score c",
    "chance": "chance floor of c",
    "corrected": "chance-corrected score",
}
MEASURES = tuple(_LONG_NAMES)


class _Three(NamedTuple):
    corrected: float
    coupling: float
    chance: float

    def __repr__(self) -> str:
        told = (f"{name}={rounded(value, 4)}" for name, value in self._asdict().items())
        return in_a_line(self, *told)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and same(tuple(self), tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash_of(self)

    def __format__(self, form: str) -> str:
        return _in_words(self, form)

    def __float__(self) -> NoReturn:
        raise InputError(_three(self))


_OF_ONE_NUMBER = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"),
    *("lt", "le", "gt", "ge", "neg", "abs", "round"),
    *("array", "array_ufunc", "array_function"),
)
"""What is done with one number, and tuples answer otherwise or not at all."""


def _refused(these: "_Three", *_: object, **__: object) -> NoReturn:
    raise InputError(_three(these))


for _name in _OF_ONE_NUMBER:
    setattr(_Three, f"__{_name}__", _refused)


class Means(_Three):
    """Means of scores without any Jacobian against itself; NaN where no pair is left.

    Args:
        corrected: of the chance-corrected score (c - floor) / (1 - floor): 0 by chance, 1 coupled.
        coupling: of the raw score c.
        chance: of its chance floor, over the same pairs.
    """

    __slots__ = ()


class PairScores(_Three):
    """The scores of one pair, of blocks or of tokens; NaN where it has none.

    Args:
        corrected: the chance-corrected score (c - floor) / (1 - floor): 0 by chance, 1 coupled.
        coupling: the raw score c.
        chance: its chance floor.
    """

    __slots__ = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreMap(SameContent, Drawn):
    """What scores have, of blocks or of tokens.

    Two are equal where they have the same numbers of the same pairs, to the last bit.

    Args:
        result: what they were taken of; None where that has been let go.
        view: how it is looked at.
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "save": "plot().save(path) writes the figure, and to_pandas() is the table",
        "key": "it is .result.key",
        **dict.fromkeys(("k", "K"), "it is .view.k"),
        "to_dataframe": "it is to_pandas()",
    }

    _arrays = "it has three: take its .corrected, .coupling or .chance"

    dims: ClassVar[tuple[str, str]]
    """The names of their two dimensions: of the Jacobian, and of the basis."""

    result: Result | None = field(default=None, repr=False, compare=False)
    view: View | None = field(default=None, repr=False, compare=False)

    @abstractmethod
    def mean(self) -> Means:
        """Means over all pairs, without any Jacobian against itself."""

    @abstractmethod
    def to_pandas(self) -> "DataFrame":
        """A row a pair, with its scores in the columns coupling, chance and corrected."""

    def __array_function__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse NumPy's functions, some of which, such as `np.mean`, ask for no array."""
        raise InputError(self._no_array)

    def __format__(self, form: str) -> str:
        return _in_words(self, form)

    @property
    def floor_error(self) -> float:
        """How far the chance floors are off where they are means over a few random bases.

        Returns:
            their standard error, the mean over the rows; 0 where the floors are exact, NaN where
            nothing tells it.
        """
        of: Any = self.result
        if self.view is not None and self.view.definition not in sampled_definitions():
            return 0.0
        if self.view is None or getattr(of, "chance_error", None) is None:
            return float("nan")
        errors = of.chance_error[of.sampled.index(self.view.definition), self._rows()]
        return float(errors[:, self.view.k - 1].mean())

    def _rows(self) -> Any:
        """Which rows of the result's own these are."""
        return slice(None)

    @property
    def _floor_told(self) -> str:
        """That the floors are not exact, where they are not."""
        error = self.floor_error
        if not error:
            return ""
        far = f", with a standard error of {rounded(error, 4)}" * (error == error)
        return f" The floors are means over 8 random bases{far}."

    def strongest(self, n: int = 10) -> "DataFrame":
        """The pairs with the highest chance-corrected scores.

        Args:
            n: how many, from 1 on; fewer come where fewer have a score.

        Returns:
            rows of `to_pandas`, the highest `corrected` first, without any Jacobian against itself
            and without pairs that have no score.

        Raises:
            InputError: where n is no whole number from 1 on.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"n is how many pairs, a whole number from 1 on, and {n!r} came")
        table = self.to_pandas()[~self._against_itself().ravel()].dropna(subset=["corrected"])
        table = table.sort_values("corrected", ascending=False, kind="stable", ignore_index=True)
        return table.head(n)

    @abstractmethod
    def _against_itself(self) -> Bool[np.ndarray, "row column"]:
        """Where a Jacobian meets itself, which is 1 by construction."""

    @abstractmethod
    def _coordinates(self) -> Mapping[str, Any]:
        """What stands along the dimensions."""

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
            name: (self.dims, np.array(getattr(self, name)), {"long_name": told})
            for name, told in _LONG_NAMES.items()
        }
        return xarray.Dataset(arrays, coords=self._coordinates(), attrs=self.attributes())

    def plot(self, figure: FigureName = "", **options: Any) -> Drawing:
        """The map of the scores, as the app's page draws it, or another figure of the same view.

        Args:
            figure: its name, as `help(Result.plot)` lists them with their options; "" is the map.
            options: those of the figure by name. Of the map, `corrected=False` draws c, from 0 to
                1, in place of the chance-corrected score in fixed colours from 0 to 0.25.

        Raises:
            InputError: where the scores have let go of their result, on a name that no figure of
                its kind has, or no option of the figure; the message lists them.
        """
        if self.result is None or self.view is None:
            raise InputError(
                "these scores no longer have the result that they come from, which a figure needs: "
                "take them from it with result.scores(...)"
            )
        named = (figure,) if figure else ()
        return self.result.part("views").plot(self.result, self.view, *named, **options)

    def _shown(self) -> Any:
        return self.to_pandas() if self.result is None else self.plot()

    @property
    def _at_k(self) -> str:
        """The K of the view, and what else is not as usual, in a sentence; "" of no view."""
        return self.view.at_k if self.view else ""

    @property
    def whose(self) -> str:
        """Whose they are, in a line; "" where they have let go of their result."""
        return self.result.whose if self.result else ""

    def _in_short(self, pairs: str) -> str:
        """The line of a repr, by what the pairs are of."""
        seen, mean = self.view, self.mean()
        of = self.result
        what = of.what_short if of else ()
        told = [self.whose, *what, *([] if pairs in what else [pairs])]
        told += [seen.k_told] if seen else []
        told += [f"mean corrected {rounded(mean.corrected)}, coupling {rounded(mean.coupling)}"]
        return in_a_line(self, *told)

    def _pair(self, row: int, column: int) -> PairScores:
        """The scores of a cell, from 0."""
        cell = {name: float(getattr(self, name)[row, column]) for name in MEASURES}
        return PairScores(**cell)

    def attributes(self) -> dict[str, str | float]:
        """Whose they are and how it is looked at, for tables and arrays that leave the program.

        Empty where they have let go of their result.
        """
        if self.result is None or self.view is None:
            return {}
        return self.view.attributes() | self.result.attributes()


@dataclass(frozen=True, eq=False)
class Scores(ScoreMap):
    """The scores of blocks in one view of a result.

    `scores[12, 11]` has those of one pair, the Jacobian of block 12 in the basis of block 11, and
    `scores["9-16"]` or `scores[[9, 12]]` the map of some of the blocks.

    Args:
        coupling: raw score c; row = block of the Jacobian, column = block of the basis. Like all
            scores it has no unit.
        chance: its chance floor (the same along a row).
        corrected: (c - floor) / (1 - floor).
        blocks: the block numbers of the rows and columns, 1..L.
    """

    dims = ("block", "basis")

    coupling: Float[np.ndarray, "block block"]
    chance: Float[np.ndarray, "block block"]
    corrected: Float[np.ndarray, "block block"]
    blocks: tuple[int, ...]

    if TYPE_CHECKING:  # which figures this kind has

        def plot(  # type: ignore[override]
            self, figure: DepthFigure = "", **options: Any
        ) -> Drawing:
            """A figure of it in its default view."""

    def mean(self) -> Means:
        """Means over l != l'; a Jacobian against itself is 1 by construction."""
        floor = np.where(np.isnan(self.coupling), np.nan, self.chance)
        return Means(*map(mean_off_diagonal, (self.corrected, self.coupling, floor)))

    @property
    def verdict(self) -> str:
        """Their means over l != l', beside chance."""
        mean = self.mean()
        if told := self.none_words:
            return told
        # Each pair is corrected by the floor of its own: what is made of the two means is another
        # number, which may even have the other sign.
        return (
            f"In the mean over the pairs l ≠ l'{self._at_k}, c is {rounded(mean.coupling)}, its "
            f"chance floor {rounded(mean.chance)}, and the score of each pair, corrected "
            f"by its own floor, {rounded(mean.corrected)}.{self._floor_told}"
        )

    @property
    def none_words(self) -> str:
        """That no pair has a score, and why where it is known; "" where one has."""
        if np.isfinite(self.mean().corrected):
            return ""
        what = "a chance-corrected score" if self._is_chance else "a score"
        return f"No pair of different blocks has {what}{self._at_k}{self._why_none()}."

    @property
    def _is_chance(self) -> bool:
        """Whether chance alone gives 1, so that nothing can be above it."""
        return bool((self.chance >= 1).all())

    def _why_none(self) -> str:
        """Why no pair has a score, where it is known."""
        if len(self.blocks) < 2:
            return ": there is one block alone"
        if self._is_chance:
            return ": chance alone gives as much as can be"
        of: Any = self.result  # depth-wise
        if of is None or self.view is None:
            return ""
        ranks = of.rank[np.array(self.blocks) - 1]
        known = ranks[ranks > 0]
        if not known.size or known.min() >= self.view.k:
            return ""
        return f": the rank of a Jacobian is below it, the smallest {known.min()}"

    def to_pandas(self) -> "DataFrame":
        """The scores as a table.

        Returns:
            a row a pair; columns block (of the Jacobian), basis, coupling, chance, corrected. A
            block with itself, which scores 1 by construction, has a row too: `mean()` leaves these
            out, and so does `table.query("block != basis")`.
        """
        from pandas import DataFrame

        numbers, n = np.array(self.blocks), len(self.blocks)
        pairs = {"block": np.repeat(numbers, n), "basis": np.tile(numbers, n)}
        frame = DataFrame(pairs | {name: getattr(self, name).ravel() for name in MEASURES})
        frame.attrs.update(self.attributes())
        return frame

    @overload
    def __getitem__(self, blocks: tuple[SupportsIndex, SupportsIndex]) -> PairScores: ...
    @overload
    def __getitem__(self, blocks: Some) -> "Scores": ...
    def __getitem__(self, blocks: Any) -> "PairScores | Scores":
        """The scores of one pair, or those of some of the blocks.

        Args:
            blocks: of a pair `block, basis`: that of the Jacobian, and that of the basis. Of some
                blocks their numbers, as a text such as "9-16", a range or a list. All are 1..L, and
                -1 is the model's last.

        Raises:
            InputError: where one of them is not there.
        """
        if isinstance(blocks, tuple):
            row, column = _two(blocks, "blocks, that of the Jacobian and that of the basis")
            return self._pair(self._at([row])[0], self._at([column])[0])
        if isinstance(blocks, int | np.integer):
            (block,) = (self.blocks[at] for at in self._at([int(blocks)]))
            other = next((one for one in self.blocks if one != block), block)
            raise InputError(
                f"block {block} alone makes no pair: scores[{block}, {other}] is one with block "
                f"{other}, and scores[[{block}, {other}]] the map of two blocks"
            )
        if isinstance(blocks, slice):
            raise InputError(_instead_of_slice(blocks, self.blocks))
        chosen = self._numbers(blocks)
        at = np.array(self._at(chosen))
        some = {name: getattr(self, name)[np.ix_(at, at)] for name in MEASURES}
        seen = self.view and replace(self.view, blocks=chosen)
        return replace(self, **some, blocks=chosen, view=seen)

    def __iter__(self) -> NoReturn:
        raise InputError(
            "scores are gone through by the numbers of their blocks, scores.blocks, or pair by "
            "pair, scores.to_pandas().itertuples()"
        )

    def _rows(self) -> Any:
        return np.array(self.blocks) - 1

    def _numbers(self, blocks: Blocks) -> tuple[int, ...]:
        """The numbers of blocks, 1..L; raises `InputError` where there is none like it."""
        last = self.result.n_blocks if self.result else max(self.blocks)
        return blocks_of(blocks, last) or self.blocks

    def _at(self, blocks: Blocks) -> list[int]:
        """Where they stand along the rows; raises `InputError` where one does not."""
        chosen = self._numbers(blocks)
        if absent := [str(block) for block in chosen if block not in self.blocks]:
            raise InputError(
                f"block {', '.join(absent)} is not among the blocks of these scores: "
                f"{', '.join(map(str, self.blocks))}"
            )
        return [self.blocks.index(block) for block in chosen]

    def __repr__(self) -> str:
        blocks = f"{counted(len(self.blocks), 'block')}: {ranges(self.blocks)}"
        return self._in_short(blocks)

    def _coordinates(self) -> Mapping[str, Any]:
        row, column = self.dims
        return {row: list(self.blocks), column: list(self.blocks)}

    def _against_itself(self) -> Bool[np.ndarray, "block block"]:
        return np.eye(len(self.blocks), dtype=bool)


@dataclass(frozen=True, eq=False)
class PositionScores(ScoreMap):
    """The scores of a prompt's tokens in one view of a result.

    `scores[10, 3]` has those of one pair: the Jacobian of token 10 in the basis of token 3.

    Args:
        coupling: raw score c; row = token of the Jacobian, column = token of the basis. NaN where
            causality forbids, and where a rank is below K. Like all scores it has no unit.
        chance: its chance floor; the same along a row where two blocks are compared.
        corrected: (c - floor) / (1 - floor).
        itself: where a Jacobian meets itself, which is 1 by construction.
        means: of the three, without any Jacobian against itself.
    """

    dims = ("token", "other_token")

    coupling: Float[np.ndarray, "position position"]
    chance: Float[np.ndarray, "position position"]
    corrected: Float[np.ndarray, "position position"]
    itself: Bool[np.ndarray, "position position"]
    means: Means

    if TYPE_CHECKING:  # which figures this kind has

        def plot(  # type: ignore[override]
            self, figure: TokensFigure = "", **options: Any
        ) -> Drawing:
            """A figure of it in its default view."""

    def mean(self) -> Means:
        """Means over all pairs of tokens, without any Jacobian against itself."""
        return self.means

    @property
    def verdict(self) -> str:
        """Their mean over all pairs of tokens, chance-corrected."""
        if np.isnan(self.means.corrected):
            return f"No pair of different Jacobians has a score{self._at_k}."
        of = " without any Jacobian against itself" if self.itself.any() else ""
        mean = self.means.corrected
        over, why = self._pairs_told()
        told = f"The mean chance-corrected score over {over}{self._at_k}{of} is {rounded(mean)}."
        told += why + self._floor_told
        if self.result is None:
            return told
        if self.result.request.block is not None:
            return told + self._one_block_told()
        return told + (
            " Each pair of tokens has the mean over all pairs of blocks; between different tokens "
            "that counts a block with itself, and there even an untrained network is far above "
            "chance."
        )

    def _one_block_told(self) -> str:
        """What is to be said of a block beside itself; "" of two."""
        of: Any = self.result
        if of.blocks[0] != of.blocks[1]:
            return ""
        return (
            " They are of one block at different tokens: there even an untrained network is far "
            "above chance."
        )

    def _pairs_told(self) -> tuple[str, str]:
        """Over which pairs the mean is, and why not over all of them."""
        if self.result is None:
            return "all pairs that have one", ""
        of: Any = self.result  # of one of the kinds between tokens
        wanted = np.outer(of.allowed, of.allowed) & ~self.itself
        n, every = int((~np.isnan(self.corrected) & wanted).sum()), int(wanted.sum())
        if n == every:
            return "all pairs", ""
        told = f"{n} of {counted(every, 'pair')}"
        ranks = of.rank[of.rank > 0]
        if self.view is None or not of.complete or ranks.min() >= self.view.k:
            return told, ""
        return told, (
            f" The others have none at this K, since the rank of one of their Jacobians is below "
            f"it; the smallest is {ranks.min()}."
        )

    def to_pandas(self) -> "DataFrame":
        """The scores as a table, a pair without a score too.

        Returns:
            a row a pair; columns token (of the Jacobian, 1..n), other_token (of the basis), text,
            other_text, coupling, chance, corrected. Without its result there are no texts.
        """
        from pandas import DataFrame

        n, texts = len(self.coupling), self._texts()
        number = np.arange(1, n + 1)
        named = {"token": np.repeat(number, n), "other_token": np.tile(number, n)}
        if texts is not None:
            named |= {"text": np.repeat(texts, n), "other_text": np.tile(texts, n)}
        chance = np.where(np.isnan(self.coupling), np.nan, self.chance)
        found = {"coupling": self.coupling, "chance": chance, "corrected": self.corrected}
        frame = DataFrame(named | {name: values.ravel() for name, values in found.items()})
        frame.attrs.update(self.attributes())
        return frame

    def __getitem__(self, tokens: tuple[SupportsIndex, SupportsIndex]) -> PairScores:
        """The scores of one pair of tokens.

        Args:
            tokens: that of the Jacobian and that of the basis, 1..n; -1 is the last.

        Raises:
            InputError: where they are not two, or one of them is not there.
        """
        what = "tokens, that of the Jacobian and that of the basis"
        if isinstance(tokens, list):  # of blocks it is the map of some
            raise InputError(
                f"a pair is two {what}, such as scores[3, 2], and the list {tokens} came: "
                "to_pandas() has a row for each pair"
            )
        numbers = _two(tokens, what)
        row, column = (resolve_token(number, len(self.coupling)) for number in numbers)
        return self._pair(row - 1, column - 1)

    def __repr__(self) -> str:
        tokens = counted(len(self.coupling), "token")
        return self._in_short(tokens)

    def _against_itself(self) -> Bool[np.ndarray, "position position"]:
        return self.itself

    def _texts(self) -> np.ndarray | None:
        return None if self.result is None else np.array(self.result.tokens, object)

    def _coordinates(self) -> Mapping[str, Any]:
        number, texts = np.arange(1, len(self.coupling) + 1), self._texts()
        named: dict[str, Any] = dict.fromkeys(self.dims, number)
        if texts is None:
            return named
        row, column = self.dims
        # Of fixed width, which NetCDF and Zarr take.
        return named | {"text": (row, texts.astype(str)), "other_text": (column, texts.astype(str))}


@known_keywords
def mean_off_diagonal(values: Float[np.ndarray, "block block"]) -> float:
    """Mean over l != l', NaN where none is left; a Jacobian against itself is 1 by construction.

    Args:
        values: a score for each pair of blocks, without a unit.

    Raises:
        InputError: where scores came in place of their numbers.
    """
    require_array(values, "scores.corrected or scores.coupling; scores.mean() has both means")
    values = np.asarray(values, np.float64)
    others = values[~np.eye(len(values), dtype=bool)]
    others = others[~np.isnan(others)]
    return float(others.mean()) if others.size else float("nan")


def _two(given: Any, what: str) -> tuple[int, int]:
    """Two whole numbers, as they came in square brackets.

    Raises:
        InputError: on anything else.
    """
    try:
        row, column = (index(each) for each in given if not isinstance(each, bool))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"a pair is two {what}, such as scores[3, 2], and {given!r} came"
        ) from error
    return row, column


def _in_words(of: object, form: str) -> str:
    """Formatted as it stands; raises `InputError` on a form of one number."""
    if form:
        raise InputError(f"{_three(of)}, such as f'{{x.corrected:{form}}}'")
    return str(of)


def _three(of: object) -> str:
    return (
        f"{a_or_an(type(of).__name__)} is three numbers and not one: take its .corrected, "
        ".coupling or .chance"
    )


def _instead_of_slice(asked: slice, known: tuple[int, ...]) -> str:
    """What is said to a slice of blocks, with what does as it is meant."""
    n, step = known[-1], asked.step if asked.step and asked.step > 0 else 1
    first, last = (
        max(1, end + n + 1 if end < 0 else min(end, n))
        for end in (asked.start or known[0], n if asked.stop is None else asked.stop)
    )
    every = f":{step}" * (step > 1)
    beyond = f", {step}" * (step > 1)
    return (
        f"a slice does not say whether its last block is one of them: scores['{first}-{last}"
        f"{every}'] goes to block {last}, and scores[range({first}, {last}{beyond})] ends before it"
    )
