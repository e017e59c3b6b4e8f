"""Coupling between positions as numbers: what is kept of a comparison, and its scores."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from coupling_core.errors import InputError
from coupling_core.records import ROLES, Certificate, View
from coupling_core.scores import corrected, floor_by_k, score


@dataclass(frozen=True)
class PositionCoupling:
    """The numerators of every score between all positions of a prompt, NaN where causality forbids.

    Args:
        blocks: l of the Jacobian (rows) and l' of the basis (columns).
        width: d.
        singular_values: the top Kmax of both blocks, 0 past the rank.
        rank: numerical rank of the measured part, at most Kmax; 0 where the Jacobian is zero, and
            where there is none.
        jacobian_norm: norm_F of block l's Jacobians.
        diagonal: A_kk and B_kk.
        off_diagonal: squared norm of the off-diagonal entries of the leading k x k corner.
        chance: sampled chance floor of `SAMPLED_DEFINITIONS`, in that order.
        chance_error: its standard error.
        certificates: of both blocks, by position; None where there is no Jacobian.
    """

    blocks: tuple[int, int]
    width: int
    singular_values: Float[np.ndarray, "2 position k"]
    rank: Int[np.ndarray, "2 position"]
    jacobian_norm: Float[np.ndarray, " position"]
    diagonal: Float[np.ndarray, "role position position k"]
    off_diagonal: Float[np.ndarray, "role position position k"]
    chance: Float[np.ndarray, "sampled position k"]
    chance_error: Float[np.ndarray, "sampled position k"]
    certificates: tuple[tuple[Certificate | None, ...], ...]

    @property
    def certified(self) -> bool:
        """Whether every SVD passed its certificate."""
        return all(c.certified for side in self.certificates for c in side if c is not None)


@dataclass(frozen=True)
class PositionScores:
    """One view of it, as numbers.

    Args:
        coupling: raw score c; row = token of the Jacobian, column = token of the basis. NaN where
            causality forbids, and where a rank is below K.
        chance: its chance floor (the same along a row).
        corrected: (c - floor) / (1 - floor).
        mean: of the corrected score, without any Jacobian against itself; NaN where none is left.
    """

    coupling: Float[np.ndarray, "position position"]
    chance: Float[np.ndarray, "position position"]
    corrected: Float[np.ndarray, "position position"]
    mean: float


def score_positions(result: PositionCoupling, view: View) -> PositionScores:
    """Score all pairs of positions at one K.

    Raises:
        InputError: where K exceeds what was measured.
    """
    k_max = result.singular_values.shape[-1]
    if view.k > k_max:
        raise InputError(f"K must lie in 1..{k_max}, what was measured, and {view.k} was asked for")
    role, k = ROLES.index(view.role), view.k
    enough = result.rank >= k
    s = np.where(enough[0][:, None], result.singular_values[0], np.nan)[:, :k]
    coupling = score(
        result.diagonal[role][..., :k], result.off_diagonal[role][..., :k], s[:, None],
        view.definition, view.p,
    )[..., -1]  # fmt: skip
    coupling = np.where(enough[0][:, None] & enough[1], coupling, np.nan)
    sampled = result.chance[..., :k]
    floors = floor_by_k(s, result.jacobian_norm, result.width, sampled, view.definition, view.p)
    floor = np.broadcast_to(floors[:, -1:], coupling.shape)
    above = corrected(coupling, floor)
    itself = np.eye(len(above), dtype=bool) & (result.blocks[0] == result.blocks[1])
    others = above[~itself & ~np.isnan(above)]
    mean = float(others.mean()) if others.size else float("nan")
    return PositionScores(coupling, floor, above, mean)
