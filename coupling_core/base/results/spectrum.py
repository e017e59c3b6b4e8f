"""Spectrum: the eigenvalues of every block's linear map, and what their products leave over."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coupling_core.base.figure_names import SpectrumFigure
from coupling_core.base.results.at_token import AtToken

FLOAT32_ERROR = 1e-6
"""How far a Jacobian of float32 arithmetic is from the exact one, relative to its norm."""

SURE = 0.01
"""How far an eigenvalue may be off, relative to its modulus, to be called certain."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SpectrumResult(AtToken[SpectrumFigure]):
    """M^l = I + J^l_tt of every block at one token: spectra, and products over depth.

    What is not measured yet (a partial result) is NaN.

    Args:
        eigenvalues: of M^l, the largest in modulus first; real and imaginary part.
        condition: 1 / |y^H x| of each eigenvalue, infinite of a defective one.
        residual: largest norm(M x - lambda x), in units of norm_F(M).
        jacobian_norm: Frobenius norm of J.
        departure: Henrici's, in units of norm_F(M): 0 of a normal matrix.
        asymmetry: norm_F(J - J^T) / norm_F(J + J^T).
        singular_values: of J, the largest first.
        u_dot_v: u_k . v_k, of the k-th singular vectors of J; 0 past the rank.
        participation: participation ratio of the product M^b ... M^a; NaN where b < a.
        product_values: singular values of M^b ... M^1, scaled to a sum of squares of 1.
        exponents: Lyapunov exponents of all blocks, in natural logarithms a block. The last of them
            are of directions that a Jacobian in float32 loses in its rounding, and differ from
            device to device.
        shuffled_values: as product_values, of all blocks in random orders.
    """

    eigenvalues: Float[np.ndarray, "block d part"]
    condition: Float[np.ndarray, "block d"]
    residual: Float[np.ndarray, " block"]
    jacobian_norm: Float[np.ndarray, " block"]
    departure: Float[np.ndarray, " block"]
    asymmetry: Float[np.ndarray, " block"]
    singular_values: Float[np.ndarray, "block k"]
    u_dot_v: Float[np.ndarray, "block k"]
    participation: Float[np.ndarray, "first last"]
    product_values: Float[np.ndarray, "block d"]
    exponents: Float[np.ndarray, " d"]
    shuffled_values: Float[np.ndarray, "order d"]

    infinite = ("condition", "exponents", "asymmetry")

    @property
    def complete(self) -> bool:
        """Whether every block is measured, and every product made."""
        return not np.isnan(self.exponents).any()

    @property
    def values(self) -> np.ndarray:
        """The eigenvalues as complex numbers (block d)."""
        return self.eigenvalues[..., 0] + 1j * self.eigenvalues[..., 1]

    @property
    def uncertainty(self) -> Float[np.ndarray, "block d"]:
        """How far each eigenvalue may be off, to first order, in its own units.

        The error that is spread by its condition is what float32 leaves of J, and the residual.
        """
        size = np.sqrt(self.width) + self.jacobian_norm  # norm_F(M) is no more, M = I + J
        error = FLOAT32_ERROR * self.jacobian_norm + self.residual * size
        return self.condition * error[:, None]

    @property
    def certain(self) -> np.ndarray:
        """Whether each eigenvalue is known to a hundredth of its modulus (block d)."""
        with np.errstate(invalid="ignore"):
            return self.uncertainty <= SURE * np.abs(self.values)
