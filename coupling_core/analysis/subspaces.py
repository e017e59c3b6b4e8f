"""How well defined the top-K singular subspaces are, and how much two blocks share of them."""

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.scores import require_k
from coupling_core.base.records import View, resolve_block
from coupling_core.base.results import DepthResult


def gaps(result: DepthResult, k: int) -> Float[np.ndarray, " block"]:
    """s_K / s_{K+1} of every block, or NaN: next to 1, the K-th singular vector is arbitrary."""
    require_k(result, k)
    s = np.column_stack([result.singular_values, result.next_singular_value]).astype(np.float64)
    return s[:, k - 1] / np.where(s[:, k] > 0, s[:, k], np.nan)


def chance_angles(k: int, width: int) -> Float[np.ndarray, " k"]:
    """Principal angles in degrees between two independent random K-subspaces of R^d, for large d.

    With q = K / d and c = 4 q (1 - q), the squared cosines cos^2 = c sin^2(phi) follow the law of
    Wachter: phi in (0, pi / 2) has the distribution function
    (phi - r arctan(r tan phi)) / (pi q), r = abs(1 - 2 q); for q > 1 / 2, 2 K - d angles are 0.
    Returned are its K quantiles, smallest angle first.
    """
    q = k / width
    r = abs(1 - 2 * q)
    phi = np.linspace(0, np.pi / 2, 4001)[:-1]
    below = (phi - r * np.arctan(r * np.tan(phi))) / (np.pi * q)
    level = 1 - (np.arange(k) + 0.5) / k  # of the cosine: the smallest angle has the largest
    at = np.interp(level, below, phi)
    cosine = np.sqrt(4 * q * (1 - q)) * np.sin(at)
    shared = level > (1 - q) / q  # directions that two large subspaces cannot but share
    return np.degrees(np.arccos(np.where(shared, 1.0, cosine)))


def principal_angles(
    a: Float[np.ndarray, "d k"], b: Float[np.ndarray, "d k"]
) -> Float[np.ndarray, " k"]:
    """Those in degrees between the spans of two orthonormal bases, smallest first."""
    cosines = np.linalg.svd(a.T @ b, compute_uv=False)
    return np.degrees(np.arccos(np.clip(cosines, 0, 1)))


def stored_angles(
    result: DepthResult, block: int, basis: int, view: View
) -> tuple[int, Float[np.ndarray, "side k"]]:
    """A stored K, the viewed one or the next smaller, and the angles of both sides in degrees."""
    require_k(result, view.k)
    row, column = (resolve_block(each, result.n_blocks) - 1 for each in (block, basis))
    at = max(int(np.searchsorted(result.angle_k, view.k, side="right")) - 1, 0)
    k = int(result.angle_k[at])
    return k, result.angles[:, at, row, column, :k]


def median_told(angles: Float[np.ndarray, "*any k"], chance: Float[np.ndarray, " k"]) -> str:
    """The median angle, in degrees, beside that of independent subspaces, for a repr."""
    return f"median angle {np.nanmedian(angles):.1f}, by chance {np.median(chance):.1f}"
