"""One block's Jacobian, with its leading singular triplets and how far they were checked."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coupling_core.base.read_only import ReadOnlyArrays
from coupling_core.base.records import Certificate


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class BlockJacobian(ReadOnlyArrays):
    """J^l_tt = d f^l(X^{l-1})_t / d x^{l-1}_t, where f^l(X) = F^l(X) - X, in float32.

    It has no unit. The coupling matrix of two blocks is A = U_{l'}^T J^l V_{l'} (paper, Eq. 8).

    Args:
        J: the Jacobian; row = entry of the output, column = entry of the state.
        u: left singular vectors, in columns.
        s: singular values, largest first; 0 past the rank.
        v: right singular vectors, in columns; the largest entry of each is positive.
        certificate: how far the triplets were checked, in float64 from J itself.
        rank: how many of the triplets exist.
        derivative_error: how far J was found from the derivative of what the block computes,
            relative to its norm.
        block: l, 1..L.
        token: t, 1..n.
        tokens: the texts of all tokens.
        model: what to call the model.
    """

    J: Float[np.ndarray, "d d"]
    u: Float[np.ndarray, "d k"]
    s: Float[np.ndarray, " k"]
    v: Float[np.ndarray, "d k"]
    certificate: Certificate
    rank: int
    derivative_error: float
    block: int
    token: int
    tokens: tuple[str, ...]
    model: str

    def __repr__(self) -> str:
        d, k = self.u.shape
        told = "certified" if self.certificate.certified else "not certified"
        return (
            f"BlockJacobian({self.model}, block {self.block}, token {self.token} of "
            f"{len(self.tokens)} {self.tokens[self.token - 1]!r}, {d} x {d}, K = {k}, {told})"
        )
