"""The numbers of a comparison of tokens: a row is the Jacobian's token, a column the basis'."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.numbers import Number, Seen, tokens
from coupling_core.base.results import TokenMeansResult
from coupling_core.kinds.scores import OF_VIEW, beside, corners, of_scores

PAIR = ("token", "other_token")
derive = score_positions
"""Of the scores of all pairs of tokens."""
Of = Callable[[Seen], Any]


def _is_mean(seen: Seen) -> bool:
    """Whether it is of all pairs of blocks."""
    return isinstance(seen.result, TokenMeansResult)


def _of_rows(name: str, what: str, dims: tuple[str, ...], of: Of | None) -> Iterable[Number]:
    """What there is of each of two blocks, or of every block."""
    yield Number(name, what, ("side", *dims), of, where=lambda seen: not _is_mean(seen))
    yield Number(name, what, ("block", *dims), of, where=_is_mean)


def _corners(seen: Seen, kept: np.ndarray) -> np.ndarray:
    return kept * seen.result.singular_values[0, :, 0, None, None, None]


def _certified(seen: Seen) -> np.ndarray:
    return np.array([[c and c.certified for c in row] for row in seen.result.certificates], bool)


NUMBERS = (
    *_of_rows(
        "singular_values",
        "singular values of the Jacobians, to K",
        ("token", "k"),
        lambda seen: seen.result.singular_values[..., : seen.view.k],
    ),
    *of_scores(PAIR, "all pairs of different Jacobians"),
    *beside("all pairs of different Jacobians", where=lambda seen: not _is_mean(seen)),
    Number(
        "positions",
        "numbers of the tokens, 1 to n",
        ("token",),
        lambda seen: np.arange(1, len(seen.result.tokens) + 1),
    ),
    *tokens(),
    *_of_rows("rank", "numerical rank", ("token",), None),
    *_of_rows("certified", "whether the SVD passed its certificate", ("token",), _certified),
    Number(
        "pairs",
        "how many pairs of blocks are averaged",
        PAIR,
        lambda seen: seen.result.pairs[..., list(seen.result.k_grid).index(seen.view.k)],
        where=_is_mean,
    ),
    Number(
        "blocks",
        "l and l'",
        ("side",),
        where=lambda seen: not _is_mean(seen),
    ),
    *corners(PAIR, _corners, where=lambda seen: not _is_mean(seen)),
)

ABOUT = OF_VIEW | {
    "token": "t, whose Jacobian it is, 1 to n; in JSON the token that is fixed, null where none is",
    "other_token": "t', whose singular vectors are the basis",
    "text": "text of t",
    "other_text": "text of t'",
    "kind": "self, fixed-input or fixed-output",
    "blocks": "l and l'; null in JSON where all pairs are averaged",
    "mean": "the chance-corrected score over all pairs that count",
    "by_distance": "the same by how many tokens apart they are",
}
"""What else tables and JSON have, by name."""
