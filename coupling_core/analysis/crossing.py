"""The directions of one model's blocks against another's, block by block.

The leading K directions of both span a subspace each; their principal angles say how far the two
are apart. A direction of B is new where less than half of it lies among A's leading 2 K.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.analysis.alignment import attributes_of_both
from coupling_core.analysis.directions import mean_angles, orthonormal
from coupling_core.analysis.subspaces import chance_angles, median_told
from coupling_core.base.drawing import Drawing, drawing, known_figure
from coupling_core.base.errors import refuse
from coupling_core.base.figure_names import FigureName
from coupling_core.base.notebook import Plottable, Table, in_a_line
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult, Scores
from coupling_core.base.results.directions import READOUTS, SIDES
from coupling_core.base.units import counted, rounded
from coupling_core.base.wording import paragraph

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

HALF = 0.5
"""Of a direction's squared length: what lies less in A's leading ones is new."""


@dataclass(frozen=True, repr=False)
class Crossing(Plottable[str]):
    """Directions of B among those of A; the only figure is "angles".

    Its table has a row a block: block, 1..L; `writes_median_angle`, `writes_largest_angle` (of the
    principal angles between what the block writes in A and in B, in degrees) and `writes_new` (how
    many of the K of B are new); the same three of what it reads; and `median_angle_by_chance`, of
    independent subspaces, in degrees.

    Args:
        a: the directions A.
        b: the directions B, at the same token of the same prompt.
        k: K, how many leading directions are compared.
        angles: principal angles in degrees, smallest first; side 0 is what blocks write. NaN where
            a block of either has fewer directions.
        chance: the same of independent random subspaces.
        inside: how much of the squared length of each direction of B lies among A's leading 2 K.
    """

    figures: ClassVar = {"angles": "crossing.crossing_angles"}

    a: DirectionsResult = field(repr=False)
    b: DirectionsResult = field(repr=False)
    k: int
    angles: Float[np.ndarray, "side block k"]
    chance: Float[np.ndarray, " k"]
    inside: Float[np.ndarray, "side block k"]

    def __repr__(self) -> str:
        return in_a_line(
            self,
            f"A: {self.a.whose}, B: {self.b.whose}",
            f"{counted(self.a.n_blocks, 'block')}, K = {self.k}",
            median_told(self.angles, self.chance),
            f"{self._new_words} new",
        )

    @property
    def _new_words(self) -> str:
        return f"{int(self.new.sum())} of {counted(self.new.size, 'direction')} of B"

    @property
    def new(self) -> Bool[np.ndarray, "side block k"]:
        """Whether each direction of B is new."""
        return self.inside < HALF

    def _table(self) -> Table:
        columns: dict[str, object] = {"block": np.arange(1, self.a.n_blocks + 1)}
        for side, name in enumerate(("writes", "reads")):
            columns[f"{name}_median_angle"] = np.median(self.angles[side], 1)
            columns[f"{name}_largest_angle"] = self.angles[side][:, -1]
            columns[f"{name}_new"] = self.new[side].sum(1)
        columns["median_angle_by_chance"] = float(np.median(self.chance))
        return columns, {"K": self.k} | attributes_of_both(self.a, self.b)

    def new_directions(self) -> "DataFrame":
        """A row a new direction of B, those that lie least in A first, with their readouts.

        Returns:
            columns block, side, component, inside, beyond_chance, towards, away; a readout that is
            no more than chance has no tokens.
        """
        from pandas import DataFrame

        side, at, component = np.nonzero(self.new)
        readout = np.array([READOUTS.index("writes"), READOUTS.index("reads")])[side]
        beyond = self.b.beyond_chance[readout, at, component]
        top = self.b.top[readout, at, component]  # (direction end token)
        texts = [
            [" ".join(repr(self.b.vocabulary[str(i)]) for i in ids if i >= 0) for ids in ends]
            for ends in np.where(beyond[:, None, None], top, -1)
        ]
        columns: dict[str, object] = {
            "block": at + 1,
            "side": np.array(SIDES, object)[side],
            "component": component + 1,
            "inside": self.inside[self.new],
            "beyond_chance": beyond,
            "towards": [towards for towards, _ in texts],
            "away": [away for _, away in texts],
        }
        return DataFrame(columns).sort_values("inside", ignore_index=True)

    @property
    def _drawn_of(self) -> tuple[DirectionsResult, DirectionsView]:
        return self.b, DirectionsView(None, self.k)

    @property
    def verdict(self) -> str:
        """Where the two differ most, in a sentence or two."""
        if not np.isfinite(self.angles).any():
            return f"No block of both has {counted(self.k, 'direction')}."
        if self.a == self.b:
            return "A and B are one result: their leading directions are the same."
        by_block = np.nanmean(np.median(self.angles, 2), 0)
        most, least = int(np.nanargmax(by_block)) + 1, int(np.nanargmin(by_block)) + 1
        return (
            f"Between the {counted(self.k, 'leading direction')} of a block in A and in B the "
            f"angle is {np.nanmedian(by_block):.1f} degrees (median; "
            f"{float(np.median(self.chance)):.1f} of independent ones). They are turned most in "
            f"block {most} ({by_block[most - 1]:.1f}) and least in block {least} "
            f"({by_block[least - 1]:.1f}). {self._new_words} are new: less than half of each lies "
            f"among the leading {2 * self.k} of A's block."
        )


@dataclass(frozen=True, repr=False)
class CrossScores(Scores):
    """The scores of A's Jacobians in the bases of B's blocks.

    A block of A in the basis of the same block of B is no more 1 by construction than any other,
    and `mean()`, over l != l', leaves it out all the same: `same_block` has these.

    Args:
        a: the directions of the model whose Jacobians were taken.
        b: those in whose bases they are seen.
    """

    a: DirectionsResult = field(kw_only=True, repr=False, compare=False)
    b: DirectionsResult = field(kw_only=True, repr=False, compare=False)

    @property
    def whose(self) -> str:
        """Of which two models, in a line."""
        return f"A: {self.a.whose}, B: {self.b.whose}"

    @property
    def same_block(self) -> Float[np.ndarray, " block"]:
        """The chance-corrected score of each block of A in the basis of the same block of B."""
        return np.diagonal(self.corrected)

    @property
    def verdict(self) -> str:
        """How far A acts along the directions of the same block of B, and of other blocks."""
        same = self.same_block
        is_known = np.isfinite(same)
        if not is_known.any():
            return f"No block of A has a score in the basis of the same block of B{self.view.at_k}."
        others = same[is_known & (np.array(self.blocks) != self.a.n_blocks)]
        has_more = self.a.ends_in_norm and 0 < others.size < is_known.sum()
        without = rounded(float(others.mean())) if has_more else ""
        return paragraph(
            f"A is {self.a.whose}; B is {self.b.whose}. Of the Jacobians of A in the bases of B, "
            f"the mean chance-corrected score{self.view.at_k} is "
            f"{rounded(float(same[is_known].mean()))} over the same blocks, and "
            f"{rounded(self.mean().corrected)} over different ones.",
            (without, f"Without block {self.a.n_blocks}, which has the final norm in it, the mean "
                      f"over the same blocks is {without}."),
        )  # fmt: skip

    def attributes(self) -> dict[str, str | float]:
        """Whose they are and how it is looked at; what is of A begins with `a_`, of B with `b_`."""
        return self.view.attributes() | attributes_of_both(self.a, self.b)

    def plot(self, figure: FigureName | Literal["crossed"] = "", **options: Any) -> Drawing:
        """The score of each block in the basis of the same block, as the page Compare draws it.

        "crossed" is the only figure, and it has no options; raises `InputError` on another name.
        """
        known_figure(figure or "crossed", ("crossed",))
        view = DirectionsView(None, self.view.k)
        return drawing("crossing.crossed_scores", self, result=self.b, view=view, **options)

    def against_itself(self) -> Bool[np.ndarray, "block block"]:
        """Nowhere: the bases are another model's."""
        return np.zeros(self.corrected.shape, bool)


def cross(a: DirectionsResult, b: DirectionsResult, k: int | None = None) -> Crossing:
    """Hold the directions of B against those of A, block by block.

    Args:
        a: the directions A.
        b: the directions B: of other weights of the same width and depth, at the same token.
        k: K; None is half of the directions that are kept.

    Raises:
        InputError: where widths, depths, tokens or the final norm differ, or 2 K directions are not
            kept.
    """
    require_alike(a, b)
    kept = min(a.count, b.count)
    most = max(1, kept // 2)
    leading = most if k is None else k
    words = f"K must lie in 1..{most} (2 K directions of a block are needed, and {kept} are kept)"
    is_kept = leading >= 1 and min(2 * leading, a.width) <= kept
    refuse((not is_kept, f"{words}, not {leading}"))
    shape = (len(SIDES), a.n_blocks, leading)
    angles, inside = np.full(shape, np.nan), np.full(shape, np.nan)
    for at in np.ndindex(shape[:2]):
        side, block = SIDES[at[0]], at[1] + 1
        ours, theirs = a.basis(block, side), b.basis(block, side)[:, :leading]
        angles[at] = mean_angles([orthonormal(ours[:, :leading]), orthonormal(theirs)], leading)
        inside[at] = np.square(orthonormal(ours[:, : 2 * leading]).T @ theirs).sum(0)
        inside[at][~theirs.any(0)] = np.nan
    return Crossing(a, b, leading, angles, chance_angles(leading, a.width), inside)


def require_alike(a: DirectionsResult, b: DirectionsResult) -> None:
    """Refuse directions that cannot be held against one another."""
    alike = {
        "width": (a.width, b.width),
        "number of blocks": (a.n_blocks, b.n_blocks),
        "measured token": (a.token, b.token),
        "final norm": (a.final_norm_words, b.final_norm_words),
    }
    refuse(
        *(
            (ours != theirs, f"directions are compared at the same {what}, not {ours} and {theirs}")
            for what, (ours, theirs) in alike.items()
        ),
        (
            not np.array_equal(a.token_ids, b.token_ids),
            f"directions are compared over the same token ids: A reads {len(a.tokens)}, "
            f"{a.prompt_text!r}, and B {len(b.tokens)} others, {b.prompt_text!r}",
        ),
    )
