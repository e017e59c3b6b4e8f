"""The blocks at one token: coupling matrices of all pairs (l, l'), and angles of their subspaces.

A^{ll'} = U_{l'}^T J^l V_{l'}: row l is the Jacobian, column l' the basis (see `square`).
"""

import itertools
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.engine.matrix_products import product
from coupling_core.engine.pairs.square import Numerators
from coupling_core.engine.pairs.svd import SVD
from coupling_core.engine.side_by_side import SideBySide

ANGLE_K = 10
"""Principal angles are kept at this K and at Kmax."""

GROUP = 4
"""Blocks that become columns together: products with fewer columns run a sixth slower."""


class Pairs(Numerators):
    """What is known of all pairs of blocks so far.

    Args:
        n_blocks: L.
        width: d.
        k: Kmax.
        k_view: side of the stored corner of A and B.
        device: where the Jacobians are from.
        beside: what is compared at the same time; None is nothing.
    """

    def __init__(
        self,
        n_blocks: int,
        width: int,
        k: int,
        k_view: int,
        device: torch.device,
        beside: SideBySide | None = None,
    ) -> None:
        super().__init__(n_blocks, n_blocks, width, k, k_view, device, GROUP, beside)
        self.angle_k = np.array(sorted({min(ANGLE_K, k), k}))

    def add(self, jacobian: Float[Tensor, "d d"], svd: SVD) -> None:
        """Take in the next block: as a row at once, as a column when its group is complete."""
        now = len(self.places)
        self.take((now,), jacobian, svd, svd)
        self.compare([now])

    def arrays(self) -> dict[str, Any]:
        """The fields of a `DepthResult` as they stand, copied, with principal angles still NaN."""
        found = super().arrays()
        for name in ("singular_values", "next_singular_value", "rank", "certificates"):
            found[name] = found[name][0]
        certificates = found["certificates"][: len(self.places)]
        return found | {
            "certificates": certificates,
            "angle_k": self.angle_k,
            "angles": self._no_angles(),
        }

    def angles(self) -> Float[np.ndarray, "side grid block block k"]:
        """Principal angles in degrees between the blocks' subspaces, once all have come.

        Side 0 is U, side 1 is V; smallest first, NaN past K.
        """
        degrees = self._no_angles()
        shares = list(itertools.product(range(2), range(self.count)))
        of_shares = self.beside.in_order(self._angles_of, shares)
        for (side, block), parts in zip(shares, of_shares, strict=True):
            for part, found in parts:
                to = slice(block + part.start, block + part.stop)
                for at, (k, values) in enumerate(zip(self.angle_k, found, strict=True)):
                    degrees[side, at, block, to, :k] = degrees[side, at, to, block, :k] = values
        return degrees

    def _angles_of(
        self, share: tuple[int, int]
    ) -> list[tuple[slice, list[Float[np.ndarray, "block k"]]]]:
        """Between one side's subspace of a block and those of the blocks from it on, at each K."""
        side, block = share
        bases = self.bases[1 - side]  # of a side's bases, V comes first

        def some(part: slice) -> list[Float[np.ndarray, "block k"]]:
            these = bases[block + part.start : block + part.stop]
            overlap = product(these.flatten(0, 1), bases[block].T).reshape(-1, self.k, self.k)
            return [_angles(overlap[:, :k, :k]) for k in self.angle_k]

        return list(self.columns.of(some, self.count - block))

    def _no_angles(self) -> Float[np.ndarray, "side grid block block k"]:
        shape = (2, len(self.angle_k), self.count, self.count, self.k)
        return np.full(shape, np.nan, np.float16)


def _angles(overlap: Float[Tensor, "block k k"]) -> Float[np.ndarray, "block k"]:
    """Principal angles in degrees of subspaces by the inner products of their bases."""
    squares = torch.linalg.eigvalsh(overlap.mT @ overlap).flip(-1).clamp(0, 1)
    return torch.rad2deg(torch.arccos(squares.sqrt())).cpu().numpy()
