"""What a list of singular values amounts to."""

import numpy as np
from jaxtyping import Float


def participation_ratio(s: Float[np.ndarray, "product d"]) -> Float[np.ndarray, " product"]:
    """How many directions carry a product: (sum s^2)^2 / sum s^4, from 1 to d.

    Args:
        s: singular values of each product, in any scale.
    """
    squares = np.asarray(s, np.float64) ** 2
    return squares.sum(-1) ** 2 / (squares**2).sum(-1)


def effective_rank(s: Float[np.ndarray, "product d"]) -> Float[np.ndarray, " product"]:
    """The same, less governed by the largest: exp(entropy of s^2 / sum s^2), from 1 to d.

    Args:
        s: singular values of each product, in any scale.
    """
    share = np.asarray(s, np.float64) ** 2
    share = share / share.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(share == 0, 0.0, share * np.log(share))
    return np.exp(-terms.sum(-1))
