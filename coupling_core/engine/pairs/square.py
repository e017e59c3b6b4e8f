"""Jacobians compared with one another as they come: each in the singular vectors of every one.

    A_{ij} = U_j^T J_i V_j      B_{ij} = V_j^T J_i U_j

The blocks at one token are such a square, the tokens in two blocks, and the tokens in all blocks.
A row's Jacobian meets all bases that have come in one large product (see `products`).
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.records import Certificate
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.out_of_memory import Chunks
from coupling_core.engine.pairs.products import nested, random_frames, row, sample_chance
from coupling_core.engine.pairs.svd import SVD, top_svd
from coupling_core.engine.side_by_side import SideBySide

CHANCE_FRAMES = 8
"""Pairs of Haar-random frames from which a chance floor without a closed form is sampled."""

IN_MEMORY = 256 << 20
"""Bytes of Jacobians kept in memory; above, they lie in a file that the system pages in."""


class Square(ABC):
    """What is known of the Jacobians so far; NaN, or None, for those that have not come.

    Each has a place in the arrays. Side 0 of them is of the Jacobian itself, and side 1 of the one
    whose singular vectors are the basis at that place.

    Args:
        shape: of the places.
        count: how many Jacobians will come.
        width: d.
        k: Kmax.
        device: where the Jacobians are from; the products run there, if it has float64.
        at_once: bases with which a Jacobian is compared at a time.
        beside: what is compared at the same time; None is nothing.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        count: int,
        width: int,
        k: int,
        device: torch.device,
        at_once: int,
        beside: SideBySide | None = None,
    ) -> None:
        self.count, self.width, self.k = count, width, k
        self.device = device = algebra_device(device)
        self.columns = Chunks(at_once)
        self.beside = beside or SideBySide()
        self.places: list[tuple[int, ...]] = []
        self.compared: list[int] = []  # with how many bases each Jacobian is
        self.jacobians = buffer(count, width, device)
        # Bases lie in rows (V^T over U^T), the layout in which their products with J run fastest.
        self.bases = torch.zeros(2, count, k, width, device=device)
        self.sampled = sampled_definitions()
        self.singular_values = np.full((2, *shape, k), np.nan, np.float32)
        self.next_singular_value = np.full((2, *shape), np.nan)
        self.rank = np.zeros((2, *shape), int)
        self.certificates = np.full((2, *shape), None, object)
        self.jacobian_norm = np.full(shape, np.nan)
        self.chance = np.full((len(self.sampled), *shape, k), np.nan)
        self.chance_error = np.full_like(self.chance, np.nan)

    def take(self, place: tuple[int, ...], J: Float[Tensor, "d d"], svd: SVD, basis: SVD) -> None:
        """Take in the next Jacobian, with the singular vectors that are the basis at its place."""
        now = len(self.places)
        self.places.append(place)
        self.compared.append(0)
        self.jacobians[now], self.bases[0, now], self.bases[1, now] = J, basis.v.T, basis.u.T
        for side, one in enumerate((svd, basis)):
            at = (side, *place)
            self.singular_values[at] = one.s.cpu().numpy()
            self.next_singular_value[at] = one.next_value
            self.rank[at] = one.rank
            self.certificates[at] = one.certificate
        self.beside.begin(partial(self._sized, J, place), partial(self._keep_size, place))

    def _sized(self, J: Float[Tensor, "d d"], place: tuple[int, ...]) -> tuple[float, Any]:
        """The norm of a Jacobian, and its scores with random frames; None of one that is zero."""
        norm = float(torch.linalg.norm(J.double()))
        if not self.rank[(0, *place)]:
            return norm, None
        # Made where they are used: their last digits depend on the threads of the libraries.
        frames = random_frames(self.width, self.k, CHANCE_FRAMES, self.device)
        s = self.singular_values[(0, *place)]
        return norm, sample_chance(J, s, frames, self.sampled)

    def _keep_size(self, place: tuple[int, ...], found: tuple[float, Any]) -> None:
        self.jacobian_norm[place], chance = found
        if chance is not None:
            to: Any = (slice(None), *place)
            self.chance[to], self.chance_error[to] = chance

    def compare(self, rows: Iterable[int]) -> None:
        """Compare some Jacobians, in the order in which they came, with the bases come since."""
        come = len(self.places)
        for at in rows:
            columns = slice(self.compared[at], come)
            keep = partial(self._keep_parts, at)
            self.beside.begin(partial(self._found, at, columns), keep)
            self.compared[at] = come

    def _found(self, at: int, columns: slice) -> list[tuple[slice, Any]]:
        def some(part: slice) -> tuple[slice, Any]:
            these = slice(columns.start + part.start, columns.start + part.stop)
            return these, self.reduce(at, row(self.jacobians[at], self.bases[:, these]))

        return [found for _, found in self.columns.of(some, columns.stop - columns.start)]

    def _keep_parts(self, at: int, parts: list[tuple[slice, Any]]) -> None:
        for columns, found in parts:
            self.keep(at, columns, found)

    @abstractmethod
    def reduce(self, at: int, products: Float[Tensor, "role column k k"]) -> Any:
        """What is kept of A and B of one Jacobian with some bases; may be asked for again."""

    @abstractmethod
    def keep(self, at: int, columns: slice, found: Any) -> None:
        """Keep it, which is done once."""


class Numerators(Square):
    """A square of which every matrix is kept, by what tells its scores and by its corner.

    Args:
        n: how many places there are.
        count: how many of them have a Jacobian.
        width: d.
        k: Kmax.
        k_view: side of the stored corner of A and B.
        device: where the Jacobians are from.
        group: Jacobians that become columns together.
        beside: what is compared at the same time; None is nothing.
    """

    def __init__(
        self,
        n: int,
        count: int,
        width: int,
        k: int,
        k_view: int,
        device: torch.device,
        group: int,
        beside: SideBySide | None = None,
    ) -> None:
        super().__init__((n,), count, width, k, device, n, beside)
        self.group = group
        self.diagonal = np.full((2, n, n, k), np.nan, np.float32)
        self.off_diagonal = np.full_like(self.diagonal, np.nan)
        self.matrices = np.full((2, n, n, k_view, k_view), np.nan, np.float16)

    @property
    def is_compared(self) -> bool:
        """Whether all that have come are compared with one another, as when a group is complete."""
        return len(self.places) % self.group == 0 or len(self.places) == self.count

    def take(self, place: tuple[int, ...], J: Float[Tensor, "d d"], svd: SVD, basis: SVD) -> None:
        """Take in the next Jacobian, and compare all where that completes a group."""
        super().take(place, J, svd, basis)
        if self.is_compared:
            self.compare(range(len(self.places)))

    def reduce(self, at: int, products: Float[Tensor, "role column k k"]) -> Any:
        """The numerators of every score, and the corner."""
        side = self.matrices.shape[-1]
        return *nested(products), products[..., :side, :side].cpu().numpy()

    def keep(self, at: int, columns: slice, found: Any) -> None:
        """Put them in their place."""
        (place,) = self.places[at]
        to = (slice(None), place, [column for (column,) in self.places[columns]])
        self.diagonal[to], self.off_diagonal[to], corner = found
        if self.rank[0, place]:
            self.matrices[to] = corner / self.singular_values[0, place, 0]

    def arrays(self) -> dict[str, Any]:
        """The fields of a `TokensResult` as they stand, copied."""
        self.beside.finish()
        copied = (
            "singular_values", "next_singular_value", "rank", "jacobian_norm", "diagonal",
            "off_diagonal", "matrices",
        )  # fmt: skip
        return {name: getattr(self, name).copy() for name in copied} | {
            "sampled": self.sampled,
            "chance": self.chance.astype(np.float32),
            "chance_error": self.chance_error.astype(np.float32),
            "certificates": tuple(map(tuple, self.certificates)),
        }


def svd_or_nothing(J: Float[Tensor, "d d"], k: int) -> SVD:
    """The top K triplets; none of a token that the output does not see."""
    if J.any():
        return top_svd(J, k)
    nothing = J.new_zeros(len(J), k)
    exact = Certificate(True, "gram", 0.0, 0.0)
    return SVD(nothing, nothing[0], nothing, 0.0, 0, exact)


def buffer(count: int, width: int, device: torch.device) -> Float[Tensor, "count d d"]:
    """Room for so many Jacobians: in memory, or in a temporary file where it is large."""
    shape = (count, width, width)
    if device.type != "cpu" or count * width * width * 4 <= IN_MEMORY:
        return torch.empty(shape, device=device)
    file = tempfile.TemporaryFile()
    return torch.from_numpy(np.memmap(file, np.float32, "w+", shape=shape))
