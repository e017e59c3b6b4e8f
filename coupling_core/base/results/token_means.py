"""Coupling between the tokens of a prompt, as its mean over all pairs of blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from coupling_core.base.definitions import UNNAMED
from coupling_core.base.records import Certificate, resolve_block, resolve_token
from coupling_core.base.results.base import within
from coupling_core.base.results.tokens import TokenResult
from coupling_core.base.units import counted

GRID = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50)
"""The K at which means are kept, beside the one that was asked for and Kmax."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TokenMeansResult(TokenResult):
    """Mean scores over all pairs of blocks, NaN where causality forbids or nothing is averaged yet.

    A Jacobian is never compared with itself: l = l' counts between different tokens only. A pair
    counts at a K where both Jacobians have that rank. A definition that takes p is kept at p = 1.

    Args:
        k_grid: the K at which the means are kept.
        definitions: whose scores they are.
        coupling: mean raw score c by definition, role and K; row = token of the Jacobian, column =
            token of the basis.
        chance: mean of its chance floor over the same pairs.
        corrected: mean of the chance-corrected score.
        pairs: over how many pairs of blocks the means are taken.
        singular_values: the top Kmax of every Jacobian, 0 past its rank.
        rank: its numerical rank, at most Kmax; 0 where it is zero, and where there is none.
        certificates: by block and position; None where there is no Jacobian.
        rows_done: how many of the allowed positions have their row.
    """

    k_grid: Int[np.ndarray, " grid"]
    definitions: tuple[str, ...] = UNNAMED
    coupling: Float[np.ndarray, "definition role position position grid"]
    chance: Float[np.ndarray, "definition role position position grid"]
    corrected: Float[np.ndarray, "definition role position position grid"]
    pairs: Int[np.ndarray, "position position grid"]
    singular_values: Float[np.ndarray, "block position k"]
    rank: Int[np.ndarray, "block position"]
    certificates: tuple[tuple[Certificate | None, ...], ...]
    rows_done: int = 0

    axis_names: ClassVar = {"definition": "definitions"}
    certified_along = ("block", "position")

    @property
    def complete(self) -> bool:
        """Whether every position has its row."""
        return self.rows_done == int(self.allowed.sum())

    @property
    def measured(self) -> str:
        """What of the prompt was compared."""
        return (
            f"on average over all pairs of {counted(self.block_count, 'block')}, {self.fixed_words}"
        )

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        return {"its means are of another K": within(self.k_grid, 1, self.k_max)}

    def singular_values_of(self, block: int, token: int) -> Float[np.ndarray, " k"]:
        """Those of one Jacobian, largest first; 0 past its rank, without a unit.

        The block is 1..L and the token 1..n, or from the end; raises `InputError` on any other.
        """
        at = resolve_block(block, self.block_count), resolve_token(token, len(self.tokens))
        values: Float[np.ndarray, " k"] = self.singular_values[at[0] - 1, at[1] - 1]
        return values

    @property
    def default_k(self) -> int:
        """The largest K that is kept, up to the one that was asked for, or is usual."""
        most = super().default_k
        return max((int(k) for k in self.k_grid if k <= most), default=int(self.k_grid[0]))
