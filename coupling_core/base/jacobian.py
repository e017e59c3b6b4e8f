"""One block's Jacobian, with its leading singular triplets and how far they were checked."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coupling_core.base.notebook import Table, Tabular, in_a_line
from coupling_core.base.records import Certificate
from coupling_core.base.units import percent, rounded

LARGEST = 3
"""Singular values that the verdict names."""
ALIKE = 1e-4
"""Singular values that differ by less than this part are alike: which direction is which is any."""
_ALIKE = " Its singular values are all alike: its directions are any."
_NORMED = {
    "final norm included": " The final norm is in it: where that shrinks the state, J comes near "
    "to -I, and its singular values to 1.",
    "final norm excluded": " The final norm is not in it.",
}
"""What is said of it by its `final_norm`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class BlockJacobian(Tabular):
    """J^l_tt = d f^l(X^{l-1})_t / d x^{l-1}_t, where f^l(X) = F^l(X) - X, in float32.

    It has no unit. The coupling matrix of two blocks is A = U_{l'}^T J^l V_{l'} (paper, Eq. 8).
    Its table has a row a triplet: `component`, 1..k, `singular_value`, without a unit, and `share`,
    its square in parts of the squared Frobenius norm of J.

    Args:
        J: the Jacobian; row = entry of the output, column = entry of the state.
        u: left singular vectors, in columns.
        s: singular values, largest first; 0 past the rank.
        v: right singular vectors, in columns; the largest entry of each is positive.
        state: x^{l-1}_t, at which it was taken.
        certificate: how far the triplets were checked, in float64 from J itself.
        rank: how many of the triplets exist.
        derivative_error: how far J was found from the derivative of what the block computes,
            relative to its norm.
        block: l, 1..L.
        token: t, 1..n.
        tokens: the texts of all tokens.
        model: what to call the model.
        precision: what the weights are held in, and what is computed in, in words.
        final_norm: of the last block, whether the model's final norm is in it, in words; "" of
            every other, of which none is.
    """

    J: Float[np.ndarray, "d d"]
    u: Float[np.ndarray, "d k"]
    s: Float[np.ndarray, " k"]
    v: Float[np.ndarray, "d k"]
    state: Float[np.ndarray, " d"]
    certificate: Certificate
    rank: int
    derivative_error: float
    block: int
    token: int
    tokens: tuple[str, ...]
    model: str
    precision: str
    final_norm: str

    def _table(self) -> Table:
        numbers = np.arange(1, len(self.s) + 1)
        about = {
            "model": self.model,
            "block": self.block,
            "token": self.token,
            "prompt": ("" if self.tokens[0][:1] != "#" else " ").join(self.tokens),
            "K": len(self.s),
            "precision": self.precision,
            "certificate": self.certificate.reason or "certified",
            **({"final_norm": self.final_norm} if self.final_norm else {}),
        }
        columns = {"component": numbers, "singular_value": self.s, "share": self._shares}
        return columns, about

    @property
    def verdict(self) -> str:
        """Its norm, its largest singular values, and how much of it its triplets hold."""
        largest = ", ".join(map(rounded, self.s[:LARGEST].tolist()))
        held = self._shares.sum()
        alike = _ALIKE * bool(len(self.s) > 1 and 0 < self.s[0] * (1 - ALIKE) <= self.s[-1])
        failed = "" if self.certificate.certified else f" Not certified: {self.certificate.reason}."
        return (
            "The norm of J, which is without the identity of the residual stream, is "
            f"{rounded(float(np.linalg.norm(self.J)))} and its largest singular values are "
            f"{largest}; the first {len(self.s)} hold {percent(held)} of its squared norm."
            f"{_NORMED.get(self.final_norm, '')}{alike}{failed}"
        )

    @property
    def _shares(self) -> Float[np.ndarray, " k"]:
        whole = float(np.square(self.J.astype(np.float64)).sum())
        return np.square(self.s.astype(np.float64)) / whole if whole else np.zeros(len(self.s))

    def __repr__(self) -> str:
        d, k = self.u.shape
        return in_a_line(
            self,
            self.model,
            f"block {self.block}",
            f"token {self.token} of {len(self.tokens)} {self.tokens[self.token - 1]!r}",
            f"{d} x {d}",
            f"K = {k}",
            self.precision * (self.precision != "float32"),
            self.final_norm,
            "certified" if self.certificate.certified else "not certified",
        )
