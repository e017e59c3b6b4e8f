"""Coupling between positions: the Jacobians of two blocks, compared across tokens.

    self          J^l_tt     against  J^l'_t't'        row t,  column t'
    fixed-input   J^l_{t1 t}  against  J^l'_{t1 t'}     t1 is given
    fixed-output  J^l_{t t2}  against  J^l'_{t' t2}     t2 is given      (paper, section 3.2)

As across depth, A = U^T J V with the row's Jacobian of block l and the column's top K singular
vectors of block l', and the two nested numerators of every K tell every score.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.errors import InputError
from coupling_core.base.records import TOKEN_K_VIEW, TOKEN_KINDS, Certificate
from coupling_core.base.results import PositionCoupling
from coupling_core.engine.jacobians.between_tokens import (
    input_jacobians,
    output_jacobians,
    self_jacobians,
)
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.out_of_memory import Chunks
from coupling_core.engine.pairs.coupling import (
    CHANCE_FRAMES,
    buffer,
    nested,
    random_frames,
    row,
    sample_chance,
)
from coupling_core.engine.pairs.svd import SVD, top_svd

CORNERS = 4 << 20
"""Bytes of the corners that are kept: 16 x 16 of 64 positions, and less of each where there are
more."""
BATCHES = 16
"""In how many steps the positions are compared: all products of a step are taken at once."""


def couple_positions(
    reader: Reader,
    mode: str,
    block: int,
    other_block: int,
    k: int,
    *,
    token: int | None = None,
    final_norm: bool = True,
) -> PositionCoupling:
    """Compare the Jacobians of two blocks between all positions.

    Args:
        reader: a model with its prompt.
        mode: which tokens a Jacobian joins; see above.
        block: l, whose Jacobians are the rows.
        other_block: l', whose singular vectors are the columns.
        k: Kmax.
        token: the fixed one, 1..n; -1 is the last. Only in the modes that fix one.
        final_norm: whether the model's final norm belongs to the last block (Eq. 7).

    Raises:
        InputError: where the mode, a block, K or the token is out of range.
    """
    if mode not in TOKEN_KINDS:
        raise InputError(
            f"the mode must be one of {', '.join(TOKEN_KINDS)}, and {mode!r} was given"
        )
    if (token is None) != (mode == "self"):
        told = "needs the token to fix" if token is None else "fixes no token, and one was given"
        raise InputError(f"mode {mode!r} {told}")
    found: Positions | None = None
    for position, pair in pairs(reader, mode, (block, other_block), token, final_norm):
        if found is None:
            found = Positions(reader.n_tokens, _checked(k, pair[0]), TOKEN_K_VIEW, pair[0])
        found.add(position - 1, *pair)
    assert found is not None  # the fixed token itself is always allowed
    found.compare()
    return PositionCoupling(blocks=(block, other_block), width=found.width, **found.arrays())


def _checked(k: int, jacobian: Float[Tensor, "d d"]) -> int:
    if not 1 <= k <= len(jacobian):
        raise InputError(f"K must lie in 1..{len(jacobian)} (the model's width), and {k} came")
    return k


def pairs(
    reader: Reader, mode: str, blocks: tuple[int, int], token: int | None, final_norm: bool
) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """Position by position (1..n), the Jacobians of the two blocks; the same twice if they are one.

    Raises:
        InputError: where a block or the token is out of range.
    """
    chosen = tuple(dict.fromkeys(blocks))
    every = range(1, reader.n_tokens + 1)
    fixed = token or 0
    by_position: Iterable[tuple[int, list[Tensor]]]
    if mode == "fixed-output":
        found = list(output_jacobians(reader, chosen, fixed, final_norm=final_norm))
        by_position = enumerate(map(list, zip(*found, strict=True)), 1)
    elif mode == "fixed-input":
        by_position = input_jacobians(reader, chosen, fixed, every, final_norm=final_norm)
    else:
        by_position = self_jacobians(reader, chosen, every, final_norm=final_norm)
    for position, jacobians in by_position:
        yield position, (jacobians[0], jacobians[-1])


class Positions:
    """What is known of the positions so far; NaN for one that has not come, or that has none.

    Args:
        n: how many there are.
        k: Kmax.
        k_view: side of the corner of each matrix that is kept, where so many fit.
        like: one of the Jacobians.
    """

    def __init__(self, n: int, k: int, k_view: int, like: Float[Tensor, "d d"]) -> None:
        d, device = len(like), like.device
        view = kept_corner(n, min(k, k_view))
        self.width = d
        self.waiting: list[int] = []
        self.compared: list[int] = []
        self.batch = -(-n // BATCHES)
        self.columns = Chunks(n)
        self.jacobians = buffer(n, d, device)
        self.bases = torch.zeros(2, n, k, d, device=device)  # V^T over U^T, as in `coupling`
        self.frames = random_frames(d, k, CHANCE_FRAMES, device)
        self.itself = np.zeros(n, bool)
        self.singular_values = np.full((2, n, k), np.nan, np.float32)
        self.next_singular_value = np.full((2, n), np.nan)
        self.rank = np.zeros((2, n), int)
        self.jacobian_norm = np.full(n, np.nan)
        self.diagonal = np.full((2, n, n, k), np.nan, np.float32)
        self.off_diagonal = np.full_like(self.diagonal, np.nan)
        self.matrices = np.full((2, n, n, view, view), np.nan, np.float16)
        self.sampled = sampled_definitions()
        self.chance = np.full((len(self.sampled), n, k), np.nan, np.float32)
        self.chance_error = np.full_like(self.chance, np.nan)
        self.certificates: list[list[Certificate | None]] = [[None] * n for _ in range(2)]

    def add(self, at: int, J: Float[Tensor, "d d"], other: Float[Tensor, "d d"]) -> bool:
        """Take in the Jacobians of both blocks at one position.

        Returns:
            whether its pairs, and those of the positions before, are compared by now.
        """
        k = self.bases.shape[2]
        svd = svd_or_nothing(J, k)
        basis = svd if other is J else svd_or_nothing(other, k)
        for side, one in enumerate((svd, basis)):
            self.singular_values[side, at] = one.s.cpu().numpy()
            self.next_singular_value[side, at] = one.next_value
            self.rank[side, at] = one.rank
            self.certificates[side][at] = one.certificate
        self.itself[at] = other is J
        self.jacobians[at], self.bases[0, at], self.bases[1, at] = J, basis.v.T, basis.u.T
        self.jacobian_norm[at] = float(torch.linalg.norm(J.double()))
        if svd.rank:
            found = sample_chance(J, self.singular_values[0, at], self.frames, self.sampled)
            self.chance[:, at], self.chance_error[:, at] = found
        self.waiting.append(at)
        if len(self.waiting) < self.batch:
            return False
        self.compare()
        return True

    def compare(self) -> None:
        """Compare the positions that wait with one another, and with all before."""
        before, new = self.compared, self.waiting
        for rows, columns in ((new, before + new), (before, new)):
            for _ in self.columns.of(partial(self._couple, rows, columns), len(columns)):
                pass
        self.compared, self.waiting = before + new, []

    def _couple(self, rows: list[int], columns: list[int], part: slice) -> None:
        """Take the pairs of some positions' Jacobians with a part of others' bases."""
        bases = self.bases[:, columns[part]]
        for at in rows:
            self._put(at, columns[part], row(self.jacobians[at], bases))

    def _put(self, at: int, columns: list[int], products: Float[Tensor, "role n k k"]) -> None:
        for numerator, found in zip(
            (self.diagonal, self.off_diagonal), nested(products), strict=True
        ):
            numerator[:, at, columns] = found.cpu().numpy()
        if self.rank[0, at]:
            side = self.matrices.shape[-1]
            corner = products[..., :side, :side].cpu().numpy()
            self.matrices[:, at, columns] = corner / self.singular_values[0, at, 0]
        if self.itself[at] and at in columns:
            # A Jacobian in its own basis is diag(s), to the last digit.
            self.diagonal[0, at, at] = self.singular_values[0, at]
            self.off_diagonal[0, at, at] = 0

    def arrays(self) -> dict[str, Any]:
        """The fields of a `PositionCoupling` as they stand, copied."""
        copied = (
            "singular_values", "next_singular_value", "rank", "jacobian_norm", "diagonal",
            "off_diagonal", "matrices", "chance", "chance_error",
        )  # fmt: skip
        found = {name: getattr(self, name).copy() for name in copied}
        certificates = tuple(map(tuple, self.certificates))
        return found | {"sampled": self.sampled, "certificates": certificates}


def kept_corner(n: int, side: int) -> int:
    """Side of the corner of each matrix that is kept of so many positions."""
    entries = CORNERS // np.float16().itemsize // (2 * n * n)
    return max(1, min(side, isqrt(entries)))


def svd_or_nothing(J: Float[Tensor, "d d"], k: int) -> SVD:
    """The top K triplets; none of a token that the output does not see."""
    if J.any():
        return top_svd(J, k)
    nothing = J.new_zeros(len(J), k)
    exact = Certificate(True, "full", 0.0, 0.0)
    return SVD(nothing, nothing[0], nothing, 0.0, 0, exact)
