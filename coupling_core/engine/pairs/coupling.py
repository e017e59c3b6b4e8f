"""The blocks at one token: coupling matrices of all pairs (l, l'), and angles of their subspaces.

A^{ll'} = U_{l'}^T J^l V_{l'}: row l is the Jacobian, column l' the basis (see `square`).
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.engine.matrix_products import product
from coupling_core.engine.pairs.square import Numerators
from coupling_core.engine.pairs.svd import SVD

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
    """

    def __init__(
        self, n_blocks: int, width: int, k: int, k_view: int, device: torch.device
    ) -> None:
        super().__init__(n_blocks, n_blocks, width, k, k_view, device, GROUP)
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
        for found, bases in zip(degrees, self.bases.flip(0), strict=True):
            for block in range(self.count):
                between = partial(self._put_angles, found, bases, block)
                for _ in self.columns.of(between, self.count - block):
                    pass
        return degrees

    def _no_angles(self) -> Float[np.ndarray, "side grid block block k"]:
        shape = (2, len(self.angle_k), self.count, self.count, self.k)
        return np.full(shape, np.nan, np.float16)

    def _put_angles(
        self,
        degrees: Float[np.ndarray, "grid block block k"],
        bases: Float[Tensor, "block k d"],
        block: int,
        part: slice,
    ) -> None:
        """Between one block's subspace and those of some of the blocks from it on."""
        to = slice(block + part.start, block + part.stop)
        overlap = product(bases[to].flatten(0, 1), bases[block].T).reshape(-1, self.k, self.k)
        for index, k in enumerate(self.angle_k):
            corner = overlap[:, :k, :k]
            squares = torch.linalg.eigvalsh(corner.mT @ corner).flip(-1).clamp(0, 1)
            found = torch.rad2deg(torch.arccos(squares.sqrt())).cpu().numpy()
            degrees[index, block, to, :k] = degrees[index, to, block, :k] = found
