"""Coupling between positions: the Jacobians of two blocks, compared across tokens.

    self          J^l_tt     against  J^l'_t't'        row t,  column t'
    fixed-input   J^l_{t1 t}  against  J^l'_{t1 t'}     t1 is given
    fixed-output  J^l_{t t2}  against  J^l'_{t' t2}     t2 is given      (paper, section 3.2)

As across depth, A = U^T J V with the row's Jacobian of block l and the column's top K singular
vectors of block l' (see `square`).
"""

from collections.abc import Iterable, Iterator
from math import isqrt
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from coupling_core.engine.jacobians.between_tokens import (
    input_jacobians,
    output_jacobians,
    self_jacobians,
)
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.pairs.square import Numerators, svd_or_nothing

CORNERS = 4 << 20
"""Bytes of the corners that are kept: 16 x 16 of 64 positions, and less of each where there are
more."""
BATCHES = 16
"""In how many steps the positions are compared: all products of a step are taken at once."""


def count_positions(reader: Reader, kind: str, token: int | None) -> int:
    """How many positions have a Jacobian, of which one end may be fixed at a token (1..n)."""
    n = reader.n_tokens
    if token is None or not reader.kind.causal:
        return n
    return token if kind == "fixed-output" else n - token + 1


def pairs(
    reader: Reader, kind: str, blocks: tuple[int, int], token: int | None, final_norm: bool
) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """By position (1..n), the Jacobians of the two blocks; the same one twice if they are one."""
    waiting: dict[int, Tensor] = {}
    chosen = tuple(dict.fromkeys(blocks))
    for block, position, J in every_jacobian(reader, kind, chosen, token, final_norm):
        if block == chosen[-1]:
            yield position, (waiting.pop(position, J), J)
        else:
            waiting[position] = J


def every_jacobian(
    reader: Reader, kind: str, blocks: Iterable[int], token: int | None, final_norm: bool
) -> Iterator[tuple[int, int, Float[Tensor, "d d"]]]:
    """Block, position (1..n) and Jacobian of all that a kind compares, from one pass."""
    chosen, every, fixed = tuple(blocks), range(1, reader.n_tokens + 1), token or 0
    if kind == "fixed-output":
        of_blocks = output_jacobians(reader, chosen, fixed, final_norm=final_norm)
        for block, found in zip(chosen, of_blocks, strict=True):
            for position, J in enumerate(found, 1):
                yield block, position, J
        return
    by_position = (
        input_jacobians(reader, chosen, fixed, every, final_norm=final_norm)
        if kind == "fixed-input"
        else self_jacobians(reader, chosen, every, final_norm=final_norm)
    )
    for position, jacobians in by_position:
        for block, J in zip(chosen, jacobians, strict=True):
            yield block, position, J


class Positions(Numerators):
    """What is known of the positions so far; NaN for one that has not come, or that has none.

    Args:
        reader: a model with its prompt.
        kind: which tokens a Jacobian joins.
        token: the fixed one, 1..n.
        k: Kmax.
        k_view: side of the corner of each matrix that is kept, where so many fit.
    """

    def __init__(self, reader: Reader, kind: str, token: int | None, k: int, k_view: int) -> None:
        n, count = reader.n_tokens, count_positions(reader, kind, token)
        view, group = kept_corner(n, min(k, k_view)), -(-n // BATCHES)
        super().__init__(n, count, reader.width, k, view, reader.device, group)
        self.itself = np.zeros(n, bool)

    def add(self, at: int, J: Float[Tensor, "d d"], other: Float[Tensor, "d d"]) -> None:
        """Take in the Jacobians of both blocks at one position."""
        self.itself[at] = other is J
        J = J.to(self.device)
        svd = svd_or_nothing(J, self.k)
        basis = svd if self.itself[at] else svd_or_nothing(other.to(self.device), self.k)
        self.take((at,), J, svd, basis)

    def keep(self, at: int, columns: slice, found: Any) -> None:
        """Put what was found in its place; a Jacobian in its own basis is diag(s) to the digit."""
        super().keep(at, columns, found)
        (place,) = self.places[at]
        if self.itself[place] and columns.start <= at < columns.stop:
            self.diagonal[0, place, place] = self.singular_values[0, place]
            self.off_diagonal[0, place, place] = 0


def kept_corner(n: int, side: int) -> int:
    """Side of the corner of each matrix that is kept of so many positions."""
    entries = CORNERS // np.float16().itemsize // (2 * n * n)
    return max(1, min(side, isqrt(entries)))
