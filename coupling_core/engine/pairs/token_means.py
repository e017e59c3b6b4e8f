"""Coupling between positions, averaged over all pairs of blocks (l, l').

Every Jacobian of every block is compared with every other one, which is too much to be kept. The
Jacobians wait in a buffer, on the disk where they are many; each is compared with all bases in
turn, scored under every definition, and added to the sums.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from coupling_core.analysis.scores import corrected, floor_by_k, score
from coupling_core.base.definitions import DEFINITIONS, sampled_definitions
from coupling_core.base.records import ROLES, Certificate
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
from coupling_core.engine.pairs.token_coupling import svd_or_nothing

AT_ONCE = 512
"""Bases with which a Jacobian is compared at a time, so that memory stays bounded."""


def every_jacobian(
    reader: Reader, mode: str, token: int | None, final_norm: bool
) -> Iterator[tuple[int, int, Float[Tensor, "d d"]]]:
    """Block (1..L), position (1..n) and Jacobian of all that a mode compares, from one pass."""
    blocks = range(1, reader.n_blocks + 1)
    every, fixed = range(1, reader.n_tokens + 1), token or 0
    if mode == "fixed-output":
        of_blocks = output_jacobians(reader, blocks, fixed, final_norm=final_norm)
        for block, found in enumerate(of_blocks, 1):
            for position, J in enumerate(found, 1):
                yield block, position, J
        return
    by_position = (
        input_jacobians(reader, blocks, fixed, every, final_norm=final_norm)
        if mode == "fixed-input"
        else self_jacobians(reader, blocks, every, final_norm=final_norm)
    )
    for position, jacobians in by_position:
        for block, J in enumerate(jacobians, 1):
            yield block, position, J


@dataclass(frozen=True)
class _Taken:
    """One Jacobian: where it is from, and what its scores need."""

    block: int
    position: int
    s: Float[np.ndarray, " k"]
    rank: int
    norm: float
    sampled: Mapping[str, Float[np.ndarray, "1 k"]]


class Means:
    """The Jacobians so far, and the sums over their pairs; blocks and positions count from 0.

    Args:
        n_blocks: L.
        n: how many positions the prompt has.
        count: how many Jacobians will come.
        k: Kmax.
        k_grid: the K at which the means are kept.
        like: one of the Jacobians.
    """

    def __init__(
        self,
        n_blocks: int,
        n: int,
        count: int,
        k: int,
        k_grid: Int[np.ndarray, " grid"],
        like: Float[Tensor, "d d"],
    ) -> None:
        d, device = len(like), like.device
        self.width = d
        self.columns = Chunks(AT_ONCE)
        self.k_grid = k_grid
        self.taken: list[_Taken] = []
        self.jacobians = buffer(count, d, device)
        self.bases = torch.zeros(2, count, k, d, device=device)  # V^T over U^T, as in `coupling`
        self.frames = random_frames(d, k, CHANCE_FRAMES, device)
        self.singular_values = np.full((n_blocks, n, k), np.nan, np.float32)
        self.rank = np.zeros((n_blocks, n), int)
        self.certificates: list[list[Certificate | None]] = [[None] * n for _ in range(n_blocks)]
        self.definitions = tuple(DEFINITIONS)
        self.sampled = sampled_definitions()
        self.sums = np.zeros((3, len(self.definitions), len(ROLES), n, n, len(k_grid)))
        self.pairs = np.zeros((n, n, len(k_grid)), int)
        self.rows = np.zeros(n, bool)

    def add(self, block: int, position: int, J: Float[Tensor, "d d"]) -> None:
        """Take in one Jacobian."""
        k, at = self.bases.shape[2], len(self.taken)
        svd = svd_or_nothing(J, k)
        s = svd.s.cpu().numpy()
        sampled = np.full((len(self.sampled), k), np.nan)
        if svd.rank:
            sampled, _ = sample_chance(J, s, self.frames, self.sampled)
        by_name = dict(zip(self.sampled, sampled[:, None], strict=True))
        self.jacobians[at], self.bases[0, at], self.bases[1, at] = J, svd.v.T, svd.u.T
        self.singular_values[block, position], self.rank[block, position] = s, svd.rank
        self.certificates[block][position] = svd.certificate
        norm = float(torch.linalg.norm(J.double()))
        self.taken.append(_Taken(block, position, s, svd.rank, norm, by_name))

    def compare(self, position: int) -> None:
        """Compare the Jacobians of one position with those of all."""
        for at, one in enumerate(self.taken):
            if one.position == position:
                pairs = self.columns.of(partial(self._scores, at), len(self.taken))
                for columns, scores in pairs:  # added here, and so once
                    self._add_pairs(at, columns, scores)
        self.rows[position] = True

    def _add_pairs(
        self,
        at: int,
        columns: slice,
        scores: Float[np.ndarray, "number definition role column grid"],
    ) -> None:
        """Add the scores of one Jacobian with some bases to the sums."""
        position, counted = self.taken[at].position, self._counted(at, columns)
        to = np.array([other.position for other in self.taken[columns]])
        for sums, values in zip(self.sums, scores, strict=True):
            for of_definition, found in zip(sums, values, strict=True):
                found = np.where(counted, found, 0)
                np.add.at(of_definition[:, position].swapaxes(0, 1), to, found.swapaxes(0, 1))
        np.add.at(self.pairs[position], to, counted)

    def _scores(
        self, at: int, columns: slice
    ) -> Float[np.ndarray, "number definition role column grid"]:
        """Raw scores, floors and chance-corrected scores of one Jacobian with some bases."""
        one = self.taken[at]
        products = row(self.jacobians[at], self.bases[:, columns])
        diagonal, off_diagonal = (part.cpu().numpy() for part in nested(products))
        # A Jacobian that is zero has no score, and no pair counts it.
        s = one.s if one.rank else np.ones_like(one.s)
        kept, found = self.k_grid - 1, []
        for definition in self.definitions:
            raw = score(diagonal, off_diagonal, s, definition)[..., kept]
            floor = floor_by_k(s[None], np.array([one.norm]), self.width, one.sampled, definition)[
                0, kept
            ]
            floor = np.broadcast_to(floor, raw.shape)
            found.append((raw, floor, corrected(raw, floor)))
        return np.array(found).swapaxes(0, 1)

    def _counted(self, at: int, columns: slice) -> Bool[np.ndarray, "column grid"]:
        """Which pairs count at which K: of enough rank, and never a Jacobian with itself."""
        others = np.array([other.rank for other in self.taken[columns]])
        enough = np.minimum(others, self.taken[at].rank)[:, None] >= self.k_grid
        if columns.start <= at < columns.start + len(enough):
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
            "singular_values": self.singular_values.copy(),
            "rank": self.rank.copy(),
            "certificates": tuple(map(tuple, self.certificates)),
            "rows_done": int(self.rows.sum()),
        }
