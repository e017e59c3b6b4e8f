"""Coupling between positions, averaged over all pairs of blocks (l, l').

Every Jacobian of every block is compared with every other one, which is too much to be kept. The
Jacobians wait in a buffer, on the disk where they are many; each is compared with all bases in
turn, scored under every definition, and added to the sums.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from coupling_core.analysis.scores import corrected, floor_by_k, score
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.records import ROLES
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.pairs.products import nested
from coupling_core.engine.pairs.square import Square, svd_or_nothing
from coupling_core.engine.pairs.token_coupling import count_positions

AT_ONCE = 512
"""Bases with which a Jacobian is compared at a time, so that memory stays bounded."""


class Means(Square):
    """The Jacobians so far, and the sums over their pairs; blocks and positions count from 0.

    Args:
        reader: a model with its prompt.
        kind: which tokens a Jacobian joins.
        token: the fixed one, 1..n.
        k: Kmax.
        k_grid: the K at which the means are kept.
    """

    def __init__(
        self,
        reader: Reader,
        kind: str,
        token: int | None,
        k: int,
        k_grid: Int[np.ndarray, " grid"],
    ) -> None:
        L, n = reader.n_blocks, reader.n_tokens
        count = L * count_positions(reader, kind, token)
        super().__init__((L, n), count, reader.width, k, reader.device, AT_ONCE)
        self.k_grid = k_grid
        self.definitions = tuple(DEFINITIONS)
        self.sums = np.zeros((3, len(self.definitions), len(ROLES), n, n, len(k_grid)))
        self.pairs = np.zeros((n, n, len(k_grid)), int)
        self.rows = np.zeros(n, bool)

    def add(self, block: int, position: int, J: Float[Tensor, "d d"]) -> None:
        """Take in one Jacobian."""
        J = J.to(self.device)
        svd = svd_or_nothing(J, self.k)
        self.take((block, position), J, svd, svd)

    def compare_position(self, position: int) -> None:
        """Compare the Jacobians of one position with those of all."""
        self.compare(at for at, (_, of) in enumerate(self.places) if of == position)
        self.rows[position] = True

    def reduce(
        self, at: int, products: Float[Tensor, "role column k k"]
    ) -> Float[np.ndarray, "number definition role column grid"]:
        """Raw scores, floors and chance-corrected scores of one Jacobian with some bases."""
        place: Any = self.places[at]
        numerators, kept = nested(products), self.k_grid - 1
        s, norm = self.singular_values[(0, *place)], self.jacobian_norm[place]
        if not self.rank[(0, *place)]:  # a Jacobian that is zero has no score, and no pair counts
            s = np.ones_like(s)
        sampled = dict(zip(self.sampled, self.chance[:, *place][:, None], strict=True))
        found = []
        for of in self.definitions:
            raw = score(*numerators, s, of)[..., kept]
            floor = floor_by_k(s[None], norm[None], self.width, sampled, of)[0, kept]
            floor = np.broadcast_to(floor, raw.shape)
            found.append((raw, floor, corrected(raw, floor)))
        return np.array(found).swapaxes(0, 1)

    def keep(self, at: int, columns: slice, found: Any) -> None:
        """Add the scores of one Jacobian with some bases to the sums."""
        position, counted = self.places[at][1], self._counted(at, columns)
        to = np.array([of for _, of in self.places[columns]])
        for sums, values in zip(self.sums, found, strict=True):
            for of_definition, scores in zip(sums, values, strict=True):
                scores = np.where(counted, scores, 0)
                np.add.at(of_definition[:, position].swapaxes(0, 1), to, scores.swapaxes(0, 1))
        np.add.at(self.pairs[position], to, counted)

    def _counted(self, at: int, columns: slice) -> Bool[np.ndarray, "column grid"]:
        """Which pairs count at which K: of enough rank, and never a Jacobian with itself."""
        rank = self.rank[0]
        others = np.array([rank[place] for place in self.places[columns]])
        enough = np.minimum(others, rank[self.places[at]])[:, None] >= self.k_grid
        if columns.start <= at < columns.stop:
            enough[at - columns.start] = False
        return enough

    def arrays(self) -> dict[str, Any]:
        """The fields of a `TokenMeansResult` as they stand, copied."""
        with np.errstate(invalid="ignore"):
            means = (self.sums / np.where(self.pairs, self.pairs, np.nan)).astype(np.float32)
        return {
            "k_grid": self.k_grid,
            "definitions": self.definitions,
            **dict(zip(("coupling", "chance", "corrected"), means, strict=True)),
            "pairs": self.pairs.copy(),
            "singular_values": self.singular_values[0].copy(),
            "rank": self.rank[0].copy(),
            "certificates": tuple(map(tuple, self.certificates[0])),
            "rows_done": int(self.rows.sum()),
        }
