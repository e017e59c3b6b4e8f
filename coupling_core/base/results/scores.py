"""The scores of one view of a result: numbers, their means, and the same as tables and a figure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.drawing import Drawing
from coupling_core.base.errors import InputError
from coupling_core.base.records import View
from coupling_core.base.results.base import Result

if TYPE_CHECKING:  # half a second each to import, and only tables need them
    import xarray
    from pandas import DataFrame

MEASURES = ("coupling", "chance", "corrected")


class Means(NamedTuple):
    """Means of scores without any Jacobian against itself; NaN where no pair is left.

    Args:
        corrected: of the chance-corrected score (c - floor) / (1 - floor): 0 by chance, 1 coupled.
        coupling: of the raw score c.
        chance: of its chance floor, over the same pairs.
    """

    corrected: float
    coupling: float
    chance: float

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value:.4f}" for name, value in self._asdict().items())
        return f"Means({told})"


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreMap(ABC):
    """What scores have, of blocks or of tokens.

    Args:
        result: what they were taken of; None where that has been let go.
        view: how it is looked at.
    """

    dims: ClassVar[tuple[str, str]]
    """The names of their two dimensions: of the Jacobian, and of the basis."""

    __hash__ = None  # type: ignore[assignment]  # as arrays: not known by what they are of

    result: Result | None = field(default=None, repr=False)
    view: View | None = field(default=None, repr=False)

    @abstractmethod
    def mean(self) -> Means:
        """Means over all pairs, without any Jacobian against itself."""

    @abstractmethod
    def to_pandas(self) -> "DataFrame":
        """A row a pair, with its scores in the columns coupling, chance and corrected."""

    @abstractmethod
    def _coordinates(self) -> Mapping[str, Any]:
        """What stands along the dimensions."""

    def to_xarray(self) -> "xarray.Dataset":
        """The scores with the names of their dimensions.

        Returns:
            variables `coupling`, `chance` and `corrected` over `dims`, without a unit; attributes
            that say what they are of: K, definition, p, role, model, prompt, measured, final_norm,
            certificate and key, each a number or a text, as NetCDF takes them.
        """
        import xarray

        arrays = {name: (self.dims, np.array(getattr(self, name))) for name in MEASURES}
        return xarray.Dataset(arrays, coords=self._coordinates(), attrs=self._attributes())

    def plot(self, figure: str = "", *, corrected: bool = True) -> Drawing:
        """The map of the scores, as the app's page draws it, or another figure of the same view.

        Args:
            figure: its name, as `--figure` of the command has it; "" is the map.
            corrected: draw the chance-corrected score, in fixed colours from 0 to 0.25; else c,
                from 0 to 1.

        Raises:
            InputError: where the scores have let go of their result, or on a name that no figure
                of its kind has; the message lists them.
        """
        if self.result is None or self.view is None:
            raise InputError(
                "these scores no longer have the result that they come from, which a figure needs: "
                "take them from it with result.scores(...)"
            )
        named = (figure,) if figure else ()
        return self.result.part("views").plot(self.result, self.view, *named, corrected=corrected)

    def _attributes(self) -> dict[str, str | float]:
        if self.result is None or self.view is None:
            return {}
        seen = self.view
        return {
            "K": seen.k,
            "definition": seen.definition,
            "p": seen.p,
            "role": seen.role,
            **self.result.attributes(),
        }


@dataclass(frozen=True, eq=False)
class Scores(ScoreMap):
    """The scores of blocks in one view of a result.

    `scores["9-16"]` has those of some of the blocks, which are told as everywhere.

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

    def mean(self) -> Means:
        """Means over l != l'; a Jacobian against itself is 1 by construction."""
        floor = np.where(np.isnan(self.coupling), np.nan, self.chance)
        return Means(*map(mean_off_diagonal, (self.corrected, self.coupling, floor)))

    def to_pandas(self) -> "DataFrame":
        """The scores as a table.

        Returns:
            a row a pair; columns block (of the Jacobian), basis, coupling, chance, corrected.
        """
        from pandas import DataFrame

        numbers, n = np.array(self.blocks), len(self.blocks)
        pairs = {"block": np.repeat(numbers, n), "basis": np.tile(numbers, n)}
        return DataFrame(pairs | {name: getattr(self, name).ravel() for name in MEASURES})

    def __getitem__(self, blocks: Blocks) -> "Scores":
        """The scores of some of these blocks.

        Args:
            blocks: their numbers, 1..L, as a text such as "9-16", a range or a list; -1 is the
                model's last.

        Raises:
            InputError: where one of them is not there.
        """
        last = self.result.n_blocks if self.result else max(self.blocks)
        chosen = blocks_of(blocks, last) or self.blocks
        if absent := [str(block) for block in chosen if block not in self.blocks]:
            raise InputError(
                f"block {', '.join(absent)} is not among the blocks of these scores: "
                f"{', '.join(map(str, self.blocks))}"
            )
        at = np.array([self.blocks.index(block) for block in chosen])
        some = {name: getattr(self, name)[np.ix_(at, at)] for name in MEASURES}
        seen = self.view and replace(self.view, blocks=chosen)
        return replace(self, **some, blocks=chosen, view=seen)

    def __repr__(self) -> str:
        shown = f"{len(self.blocks)} blocks, {self.blocks[0]} to {self.blocks[-1]}"
        return f"Scores({shown}, {_told(self)})"

    def _coordinates(self) -> Mapping[str, Any]:
        row, column = self.dims
        return {row: list(self.blocks), column: list(self.blocks)}


@dataclass(frozen=True, eq=False)
class PositionScores(ScoreMap):
    """The scores of a prompt's tokens in one view of a result.

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

    def mean(self) -> Means:
        """Means over all pairs of tokens, without any Jacobian against itself."""
        return self.means

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
        return DataFrame(named | {name: values.ravel() for name, values in found.items()})

    def __repr__(self) -> str:
        return f"PositionScores({len(self.coupling)} tokens, {_told(self)})"

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


def mean_off_diagonal(values: Float[np.ndarray, "block block"]) -> float:
    """Mean over l != l', NaN where none is left; a Jacobian against itself is 1 by construction.

    Args:
        values: a score for each pair of blocks, without a unit.
    """
    others = values[~np.eye(len(values), dtype=bool)]
    others = others[~np.isnan(others)]
    return float(others.mean()) if others.size else float("nan")


def _told(scores: ScoreMap) -> str:
    seen, mean = scores.view, scores.mean()
    how = f"K = {seen.k}, {seen.definition}, {seen.role}, " if seen else ""
    return f"{how}mean corrected {mean.corrected:.3f}, coupling {mean.coupling:.3f}"
