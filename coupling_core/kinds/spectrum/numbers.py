"""The numbers of a measurement of spectra."""

from collections.abc import Callable

import numpy as np

from coupling_core.analysis.spectra import effective_rank, participation_ratio
from coupling_core.base.numbers import Column, Number, Seen, last, median, tokens
from coupling_core.base.results import SpectrumResult

BLOCK = ("block",)
ROWS = "block"
"""What a row of the table is of."""


def _share(of: Callable[[SpectrumResult], np.ndarray]) -> Callable[[Seen], np.ndarray]:
    """The share of each block's eigenvalues of which something holds; NaN where there are none."""

    def share(seen: Seen) -> np.ndarray:
        lacks = np.isnan(seen.result.values[:, 0])
        return np.where(lacks, np.nan, of(seen.result).mean(1))

    return share


NUMBERS = (
    Number("eigenvalues", "eigenvalues of M = I + J, real and imaginary part"),
    Number("condition", "1 / |y^H x| of each eigenvalue: how far an error of M moves it"),
    Number("residual", "largest norm(M x - lambda x), in units of norm(M)", in_table=False),
    Number("jacobian_norm", "Frobenius norm of J", in_table=False),
    Number("singular_values", "leading singular values of J"),
    Number("u_dot_v", "u_k . v_k of the leading triplets of J"),
    Number("participation", "participation ratio of the product of M from one block to another"),
    Number("product_values", "singular values of the product of all M up to this block"),
    Number("exponents", "Lyapunov exponents of all blocks, in natural logarithms a block"),
    Number("shuffled_values", "singular values of the product in random orders of the blocks"),
    Number(
        "shuffled_effective_rank",
        "effective rank of the product of all maps in random orders",
        ("order",),
        lambda seen: effective_rank(seen.result.shuffled_values),
        in_files=False,
    ),
    Number(
        "uncertainty",
        "how far each eigenvalue may be off",
        ("block", "d"),
    ),
    Number(
        "certain",
        "whether it is known to a hundredth of its modulus",
        ("block", "d"),
    ),
    Number(
        "radius",
        "largest modulus of an eigenvalue of M",
        BLOCK,
        lambda seen: np.abs(seen.result.values[:, 0]),
        heading="radius",
    ),
    Number(
        "outside",
        "share of eigenvalues outside the unit circle",
        BLOCK,
        _share(lambda result: np.abs(result.values) > 1),
        heading="outside",
        form=".0%",
        column=Column("Share of eigenvalues outside the unit circle, median of the blocks", median),
    ),
    Number(
        "certain_share",
        "share of eigenvalues that is known to a hundredth of its modulus",
        BLOCK,
        _share(lambda result: result.certain),
    ),
    Number(
        "departure",
        "Henrici's departure of M from normality, in units of its Frobenius norm: 0 is normal",
        heading="departure",
        column=Column(
            "Departure from normality (0 is normal), median of the blocks",
            median,
            ideal=0.0,
            ideal_name="a normal map",
            by_step=True,
            reading="Median over the blocks of how far the linear map I + J is from a normal one "
            "(Henrici): 0 where its eigenvectors are at right angles, at most 1.",
        ),
    ),
    Number(
        "asymmetry",
        "Frobenius norm of J - J^T over that of J + J^T",
        heading="asymmetry",
        column=Column("Asymmetry of J (0 is symmetric), median of the blocks", median),
    ),
    Number(
        "mean_u_dot_v",
        "mean of u_k . v_k over the leading triplets of J",
        BLOCK,
        lambda seen: seen.result.u_dot_v.mean(1),
        title="u · v",
        heading="u . v",
        form="+.3f",
        column=Column(
            "u · v of the leading directions, median of the blocks",
            median,
            "u_dot_v",
            ideal=0.0,
            by_step=True,
            reading="Median over the blocks of the cosine of what a block writes and what it reads "
            "along its leading directions: below 0 a block takes away what it acts on most.",
        ),
    ),
    Number(
        "product_participation",
        "participation ratio of the product of all M up to this block",
        BLOCK,
        lambda seen: participation_ratio(seen.result.product_values),
        title="participation ratio",
    ),
    Number(
        "product_effective_rank",
        "effective rank of the product of all M up to this block",
        BLOCK,
        lambda seen: effective_rank(seen.result.product_values),
        title="effective rank",
        heading="rank of product",
        form=".1f",
        column=Column(
            "Effective rank of the product of all blocks",
            last,
            "effective_rank",
            log=True,
            by_step=True,
            reading="Effective rank of the product of all blocks' linear maps: how many directions "
            "in which the first state can be moved still matter behind the last block.",
        ),
    ),
    Number(
        "blocks",
        "l, 1 to L",
        BLOCK,
        lambda seen: np.arange(1, seen.result.n_blocks + 1),
        in_table=False,
    ),
    *tokens(),
)

ABOUT = {
    "certificates": "of the singular values, by block",
}
"""What else tables and JSON have, by name."""
