"""Depth-wise coupling: the Jacobians of all blocks at one token."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import UNNAMED_SAMPLED, DefinitionName
from coupling_core.base.figure_names import DepthFigure
from coupling_core.base.records import ROLES, Level, Role, View, resolve_block
from coupling_core.base.results.at_token import AtToken
from coupling_core.base.results.base import within
from coupling_core.base.results.scores import Scores

SMALL = 0.02
"""Of the norm of the identity. Of a smaller J, what float32 leaves of the entries of I + J may be
more than 5e-6: most ways to J add 1 and take it away again."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DepthResult(AtToken[DepthFigure]):
    """Depth-wise coupling at one token: enough to draw any K <= Kmax under any definition.

    A block that is not measured yet (a partial result) has NaN in every array.

    Args:
        singular_values: the top Kmax of each block's Jacobian.
        next_singular_value: s_{Kmax+1}, which shows the gap at Kmax; NaN where Kmax = d.
        jacobian_norm: norm_F(J).
        rank: numerical rank of the measured part, at most Kmax; scores with K above it are
            undefined (NaN).
        diagonal: A_kk and B_kk; row = block of the Jacobian, column = block of the basis.
        off_diagonal: squared Frobenius norm of the off-diagonal entries of the leading k x k
            corner, for every k.
        matrices: leading corner of A and B divided by s_1 of the row's block, so that float16
            always holds it.
        sampled: the definitions whose chance floor was sampled.
        chance: their chance floors.
        chance_error: their standard errors.
        angle_k: the K at which principal angles are stored.
        angles: principal angles in degrees between the top-K left (side 0) and right (side 1)
            singular subspaces of two blocks, smallest first, NaN past K.
        next_tokens: the model's most probable next tokens after the measured one, with their
            probabilities.
    """

    singular_values: Float[np.ndarray, "block k"]
    next_singular_value: Float[np.ndarray, " block"]
    jacobian_norm: Float[np.ndarray, " block"]
    rank: Int[np.ndarray, " block"]
    diagonal: Float[np.ndarray, "role block block k"]
    off_diagonal: Float[np.ndarray, "role block block k"]
    matrices: Float[np.ndarray, "role block block k_view k_view"]
    sampled: tuple[str, ...] = UNNAMED_SAMPLED
    chance: Float[np.ndarray, "sampled block k"]
    chance_error: Float[np.ndarray, "sampled block k"]
    angle_k: Int[np.ndarray, " grid"]
    angles: Float[np.ndarray, "side grid block block k_angle"]
    next_tokens: tuple[tuple[str, float], ...] = ()

    finite = ("singular_values", "jacobian_norm")
    axis_names: ClassVar = {"sampled": "sampled"}

    @property
    def complete(self) -> bool:
        """Whether every block is measured."""
        return not np.isnan(self.jacobian_norm).any()

    @property
    def is_doubtful(self) -> bool:
        """Whether a small Jacobian, which float32 rounds away, was not compared with float64.

        The results of earlier versions, which did not, do not name float64 among the ways.
        """
        has_small = bool((self.jacobian_norm < SMALL * self.width**0.5).any())
        return has_small and not any("float64" in way for way in self.provenance.get("ways", {}))

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        largest = self.angles.shape[-1]
        return {"its angles are of another K": within(self.angle_k, 1, largest)}

    def singular_values_of(self, block: int) -> Float[np.ndarray, " k"]:
        """Those of one block's Jacobian, largest first; 0 past its rank, without a unit.

        The block is 1..L, or counted from the end; raises `InputError` on any other.
        """
        at = resolve_block(block, self.n_blocks) - 1
        values: Float[np.ndarray, " k"] = self.singular_values[at]
        return values

    def matrix(
        self, block: int, basis: int, role: Role = "A"
    ) -> Float[np.ndarray, "k_view k_view"]:
        """Leading corner of A^{block, basis} (or B) in its own units, `k_view` wide; from float16.

        For scores at a larger K, `diagonal` and `off_diagonal` have what is needed.
        Blocks are 1..L, or counted from the end; raises `InputError` on any other.
        """
        row, column = (resolve_block(each, self.n_blocks) - 1 for each in (block, basis))
        stored = self.matrices[ROLES.index(role), row, column].astype(np.float32)
        return stored * np.float32(self.singular_values[row, 0])

    def scores(
        self,
        k: int | None = None,
        blocks: Blocks = None,
        *,
        definition: DefinitionName = "paper",
        role: Role = "A",
        p: float = 1.0,
        level: Level = "frames",
    ) -> Scores:
        """The scores of all pairs of blocks; nothing is computed anew.

        Args:
            k: number of leading triplets, 1..Kmax; None is `default_k`.
            blocks: those wanted, 1..L, as a text such as "9-16", a range, a list, or one number;
                -1 is the last, and None is all.
            definition: which score (see `DEFINITIONS`); `paper` is the paper's Eq. 9.
            role: "A" for U^T J V, "B" for V^T J U.
            p: order of the norm, where the definition takes one.
            level: the chance level: "frames" are random bases, "rotations" bases that are rotated
                within their subspaces.

        Returns:
            scores without a unit, row = block of the Jacobian, column = block of the basis.

        Raises:
            InputError: where K, a block or the definition's floor is not in the result.
        """
        k = self.default_k if k is None else k
        view = View(k, definition, p, role, blocks_of(blocks, self.n_blocks), level)
        return self.part("numbers").derive(self, view)
