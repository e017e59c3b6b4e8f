"""Coupling between positions: the Jacobians of two blocks, compared across tokens.

    self          J^l_tt     against  J^l'_t't'        row t,  column t'
    fixed-input   J^l_{t1 t}  against  J^l'_{t1 t'}     t1 is given
    fixed-output  J^l_{t t2}  against  J^l'_{t' t2}     t2 is given      (paper, section 3.2)

As across depth, A = U^T J V with the row's Jacobian of block l and the column's top K singular
vectors of block l', and the two nested numerators of every K tell every score.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.coupling import (
    CHANCE_FRAMES,
    buffer,
    nested,
    random_frames,
    row,
    sample_chance,
)
from coupling_core.decode import Reader
from coupling_core.errors import InputError
from coupling_core.positions import input_jacobians, output_jacobians, self_jacobians
from coupling_core.records import SAMPLED_DEFINITIONS, Certificate
from coupling_core.svd import SVD, top_svd
from coupling_core.token_scores import PositionCoupling

MODES = ("self", "fixed-input", "fixed-output")


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
    if mode not in MODES:
        raise InputError(f"the mode must be one of {', '.join(MODES)}, and {mode!r} was given")
    if (token is None) != (mode == "self"):
        told = "needs the token to fix" if token is None else "fixes no token, and one was given"
        raise InputError(f"mode {mode!r} {told}")
    found: _Found | None = None
    for position, pair in _pairs(reader, mode, (block, other_block), token, final_norm):
        if found is None:
            found = _Found(reader.n_tokens, _checked(k, pair[0]), pair[0])
        found.add(position - 1, *pair)
    assert found is not None  # the fixed token itself is always allowed
    return found.result((block, other_block))


def _checked(k: int, jacobian: Float[Tensor, "d d"]) -> int:
    if not 1 <= k <= len(jacobian):
        raise InputError(f"K must lie in 1..{len(jacobian)} (the model's width), and {k} came")
    return k


def _pairs(
    reader: Reader, mode: str, blocks: tuple[int, int], token: int | None, final_norm: bool
) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """Position by position, the Jacobians of the two blocks; the same twice where they are one."""
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


class _Found:
    """What is known of the positions so far."""

    def __init__(self, n: int, k: int, like: Float[Tensor, "d d"]) -> None:
        d, device = len(like), like.device
        self.at: list[int] = []
        self.jacobians = buffer(n, d, device)
        self.bases = torch.zeros(2, n, k, d, device=device)  # V^T over U^T, as in `coupling`
        self.frames = random_frames(d, k, CHANCE_FRAMES, device)
        self.singular_values = np.full((2, n, k), np.nan, np.float32)
        self.rank = np.zeros((2, n), int)
        self.norm = np.full(n, np.nan)
        self.chance = np.full((len(SAMPLED_DEFINITIONS), n, k), np.nan, np.float32)
        self.chance_error = np.full_like(self.chance, np.nan)
        self.certificates: list[list[Certificate | None]] = [[None] * n for _ in range(2)]

    def add(self, at: int, J: Float[Tensor, "d d"], other: Float[Tensor, "d d"]) -> None:
        """Take in the Jacobians of both blocks at one position."""
        k = self.bases.shape[2]
        svd = _svd(J, k)
        basis = svd if other is J else _svd(other, k)
        for side, one in enumerate((svd, basis)):
            self.singular_values[side, at] = one.s.cpu().numpy()
            self.rank[side, at] = one.rank
            self.certificates[side][at] = one.certificate
        self.at.append(at)
        self.jacobians[at], self.bases[0, at], self.bases[1, at] = J, basis.v.T, basis.u.T
        self.norm[at] = float(torch.linalg.norm(J.double()))
        if svd.rank:
            found = sample_chance(J, self.singular_values[0, at], self.frames)
            self.chance[:, at], self.chance_error[:, at] = found

    def result(self, blocks: tuple[int, int]) -> PositionCoupling:
        """All pairs of the positions that came."""
        n, k, d = self.bases.shape[1:]
        diagonal = np.full((2, n, n, k), np.nan, np.float32)
        off_diagonal = np.full_like(diagonal, np.nan)
        columns = self.bases[:, self.at]
        for at in self.at:
            products = row(self.jacobians[at], columns)
            for numerator, found in zip((diagonal, off_diagonal), nested(products), strict=True):
                numerator[:, at, self.at] = found.cpu().numpy()
        return PositionCoupling(
            blocks, d, self.singular_values, self.rank, self.norm, diagonal, off_diagonal,
            self.chance, self.chance_error, tuple(map(tuple, self.certificates)),
        )  # fmt: skip


def _svd(J: Float[Tensor, "d d"], k: int) -> SVD:
    """The top K triplets; none of a token that the output does not see."""
    if J.any():
        return top_svd(J, k)
    nothing = J.new_zeros(len(J), k)
    exact = Certificate(True, "full", 0.0, 0.0)
    return SVD(nothing, nothing[0], nothing, 0.0, 0, exact)
