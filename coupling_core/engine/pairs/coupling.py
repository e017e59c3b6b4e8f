"""Coupling matrices of all pairs of blocks, from each block's Jacobian and SVD as they come.

    A^{ll'}_K = U_{l',K}^T J^l V_{l',K}      B^{ll'}_K = V_{l',K}^T J^l U_{l',K}      (K x K)

Two numbers a K tell every score: the diagonal entries, and the squared norm of what is off the
diagonal of the leading K x K corner. Both are nested, so one pass gives all K <= Kmax.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.analysis.scores import score
from coupling_core.base.definitions import sampled_definitions
from coupling_core.engine.matrix_products import product
from coupling_core.engine.out_of_memory import Chunks
from coupling_core.engine.pairs.svd import SVD

CHANCE_FRAMES = 8
"""Pairs of Haar-random frames from which a chance floor without a closed form is sampled."""

ANGLE_K = 10
"""Principal angles are kept at this K and at Kmax."""

GROUP = 4
"""Blocks that become columns together: products with fewer columns run a sixth slower."""

IN_MEMORY = 256 << 20
"""Bytes of Jacobians kept in memory; above, they lie in a file that the system pages in."""


@dataclass
class Pairs:
    """What is known of all pairs so far; NaN for what has not come yet.

    Args:
        n_blocks: L.
        width: d.
        k: Kmax.
        k_view: side of the stored corner of A and B.
        device: where the products run.
    """

    n_blocks: int
    width: int
    k: int
    k_view: int
    device: torch.device

    def __post_init__(self) -> None:
        L, k, view = self.n_blocks, self.k, self.k_view
        self.jacobians = buffer(L, self.width, self.device)
        # Bases lie in rows (V^T over U^T), the layout in which their products with J run fastest.
        self.bases = torch.zeros(2, L, k, self.width, device=self.device)
        self.svds: list[SVD] = []
        self.columns = Chunks(L)
        self.angle_k = np.array(sorted({min(ANGLE_K, k), k}))
        self.singular_values = np.full((L, k), np.nan, np.float32)
        self.jacobian_norm = np.full(L, np.nan)
        self.diagonal = np.full((2, L, L, k), np.nan, np.float32)
        self.off_diagonal = np.full((2, L, L, k), np.nan, np.float32)
        self.matrices = np.full((2, L, L, view, view), np.nan, np.float16)
        self.sampled = sampled_definitions()
        self.chance = np.full((len(self.sampled), L, k), np.nan, np.float32)
        self.chance_error = np.full_like(self.chance, np.nan)
        self.frames = random_frames(self.width, k, CHANCE_FRAMES, self.device)

    def add(self, jacobian: Float[Tensor, "d d"], svd: SVD) -> None:
        """Take in the next block, as a row; as a column, once its group is complete."""
        now = len(self.svds)
        self.svds.append(svd)
        self.jacobians[now] = jacobian
        self.bases[0, now], self.bases[1, now] = svd.v.T, svd.u.T
        self.singular_values[now] = svd.s.cpu().numpy()
        self.jacobian_norm[now] = float(torch.linalg.norm(jacobian.double()))
        found = sample_chance(jacobian, self.singular_values[now], self.frames, self.sampled)
        self.chance[:, now], self.chance_error[:, now] = found
        come = now + 1
        self._couple(slice(now, come), slice(0, come))
        if come % GROUP == 0 or come == self.n_blocks:
            start = now // GROUP * GROUP
            self._couple(slice(0, start), slice(start, come))
            for block in range(start, now):
                self._couple(slice(block, block + 1), slice(block + 1, come))

    def _couple(self, rows: slice, columns: slice) -> None:
        """Take the pairs of some blocks' Jacobians with the bases of others."""
        for block in range(rows.start, rows.stop):
            blocks = range(columns.start, columns.stop)
            for _ in self.columns.of(partial(self._put, block, blocks), len(blocks)):
                pass

    def _put(self, block: int, columns: range, part: slice) -> None:
        at = (slice(None), block, slice(columns[part].start, columns[part].stop))
        products = row(self.jacobians[block], self.bases[:, at[-1]])
        diagonal, off_diagonal = nested(products)
        self.diagonal[at] = diagonal.cpu().numpy()
        self.off_diagonal[at] = off_diagonal.cpu().numpy()
        corner = products[..., : self.k_view, : self.k_view].cpu().numpy()
        self.matrices[at] = corner / self.singular_values[block, 0]

    def arrays(self) -> dict[str, Any]:
        """The fields of a `DepthResult` as they stand, copied, with principal angles still NaN."""
        L = self.n_blocks
        return {
            "singular_values": self.singular_values.copy(),
            "next_singular_value": self._of_each([svd.next_value for svd in self.svds], np.nan),
            "jacobian_norm": self.jacobian_norm.copy(),
            "rank": self._of_each([svd.rank for svd in self.svds], 0),
            "diagonal": self.diagonal.copy(),
            "off_diagonal": self.off_diagonal.copy(),
            "matrices": self.matrices.copy(),
            "sampled": self.sampled,
            "chance": self.chance.copy(),
            "chance_error": self.chance_error.copy(),
            "certificates": tuple(svd.certificate for svd in self.svds),
            "angle_k": self.angle_k,
            "angles": np.full((2, len(self.angle_k), L, L, self.k), np.nan, np.float16),
        }

    def angles(self) -> Float[np.ndarray, "side grid block block k"]:
        """Principal angles in degrees between the blocks' subspaces, once all have come.

        Side 0 is U, side 1 is V; smallest first, NaN past K.
        """
        L = self.n_blocks
        degrees = np.full((2, len(self.angle_k), L, L, self.k), np.nan, np.float16)
        for found, bases in zip(degrees, self.bases.flip(0), strict=True):
            for block in range(L):
                between = partial(self._put_angles, found, bases, block)
                for _ in self.columns.of(between, L - block):
                    pass
        return degrees

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

    def _of_each(self, values: list[Any], missing: Any) -> np.ndarray:
        return np.array(values + [missing] * (self.n_blocks - len(values)))


def nested(
    products: Float[Tensor, "*pair k k"],
) -> tuple[Float[Tensor, "*pair k"], Float[Tensor, "*pair k"]]:
    """Diagonal, and squared off-diagonal norm of each leading K x K corner, for K = 1..Kmax."""
    squares = products.double().square()
    fresh = squares.tril(-1).sum(-1) + squares.triu(1).sum(-2)  # what row and column K add
    return products.diagonal(dim1=-2, dim2=-1), fresh.cumsum(-1)


def random_frames(
    width: int, k: int, count: int, device: torch.device
) -> Float[Tensor, "side frame k d"]:
    """Independent Haar-random K-frames in place of V and of U, in rows, from a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    gaussian = torch.randn(2 * count, width, k, generator=generator)
    q, r = torch.linalg.qr(gaussian)
    # The sign of R's diagonal makes the factor unique, and with it the distribution uniform.
    frames = q * r.diagonal(dim1=-2, dim2=-1).sign()[:, None]
    return frames.mT.reshape(2, count, k, width).flip(0).contiguous().to(device)


def sample_chance(
    jacobian: Float[Tensor, "d d"],
    s: Float[np.ndarray, " k"],
    frames: Float[Tensor, "side frame k d"],
    definitions: Sequence[str],
) -> tuple[Float[np.ndarray, "sampled k"], Float[np.ndarray, "sampled k"]]:
    """Scores of a Jacobian with random frames: mean and its standard error.

    Args:
        jacobian: J.
        s: its top singular values.
        frames: of `random_frames`.
        definitions: of which scores.

    Returns:
        both for each definition.
    """
    right, left = frames
    diagonal, off_diagonal = (
        part.cpu().numpy() for part in nested(coupling_matrices(jacobian, left, right))
    )
    sampled = np.stack([score(diagonal, off_diagonal, s[None], of) for of in definitions])
    return sampled.mean(1), sampled.std(1, ddof=1) / np.sqrt(sampled.shape[1])


def row(
    jacobian: Float[Tensor, "d d"], bases: Float[Tensor, "side column k d"]
) -> Float[Tensor, "role column k k"]:
    """A and B of one Jacobian with every basis; the sides of the bases are V and U."""
    v, u = bases
    return torch.stack([coupling_matrices(jacobian, u, v), coupling_matrices(jacobian, v, u)])


def coupling_matrices(
    jacobian: Float[Tensor, "d d"],
    left: Float[Tensor, "column k d"],
    right: Float[Tensor, "column k d"],
) -> Float[Tensor, "column k k"]:
    """`left J right^T` of every column, with bases in rows: one large product, then small ones."""
    columns, k, d = right.shape
    moved = product(right.reshape(-1, d), jacobian.T).reshape(columns, k, d)
    return left @ moved.mT


def buffer(count: int, width: int, device: torch.device) -> Float[Tensor, "count d d"]:
    """Room for so many Jacobians: in memory, or in a temporary file where it is large."""
    shape = (count, width, width)
    if device.type != "cpu" or count * width * width * 4 <= IN_MEMORY:
        return torch.empty(shape, device=device)
    file = tempfile.TemporaryFile()
    return torch.from_numpy(np.memmap(file, np.float32, "w+", shape=shape))
