"""Every score, one record each: all that is said, computed and offered of it is made from these.

With A = U_{l',K}^T J^l V_{l',K} (K x K), s the top K singular values of J^l and S = diag(s), a
score follows from two nested quantities that are stored for every K: the diagonal of A, and the
squared norm of what is off it. Its chance floor is the score of a basis that has nothing to do with
J: independent Haar-random K-frames, for which E norm_F(A - S)^2 = norm(s)^2 + K^2 norm_F(J)^2 / d^2
is exact.

Two bases can share their subspaces and not their pairs. Random frames are the chance level of the
first; that of the second is Q^T A R in place of A, with Q and R independent and Haar in O(K), which
keeps both subspaces: E norm_F(Q^T A R - S)^2 = norm_F(A)^2 + norm(s)^2. A score above it is paired.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float
from numpy.linalg import norm

Array = np.ndarray

if TYPE_CHECKING:
    DefinitionName = Literal["paper", "released", "page", "preprint", "alignment", "overlap"]
else:  # a record below is all that a new score needs to be measured
    DefinitionName = str

UNNAMED = ("paper", "released", "page", "preprint", "alignment")
"""The definitions, in this order, of a stored result of before results named theirs."""

UNNAMED_SAMPLED = ("released", "preprint")
"""Those of them whose chance floor such a result holds."""


@dataclass(frozen=True)
class Definition:
    """One score: 1 where A = S, and less the less two blocks are coupled.

    Args:
        name: what commands, links and files call it.
        label: what figures call it.
        formula: in LaTeX.
        origin: where it is from and how it differs, in Markdown.
        as_written: A (k k), s (k) and p to the score, as the formula reads: slow, an oracle.
        by_k: diagonal of A, squared norm off it, s (each `*pair k`, in float64) and p to the score
            for every K.
        floor: s (row k), norm_F(J) (row 1), d and p to the chance floor for every K; None where it
            has no closed form, and is sampled while the Jacobian is at hand.
        floor_words: what that floor is, in Markdown.
        rotated: diagonal, squared norm off it, s, p and E |q^T A r| of two random unit vectors
            (each `*pair k`) to the score when both bases are rotated within their subspaces, for
            every K; None where that leaves the score as it is.
        takes_entry: whether it needs E |q^T A r|, which follows from the stored corner of A.
        takes_p: whether the order p of a norm can be chosen.
    """

    name: DefinitionName
    label: str
    formula: str
    origin: str
    as_written: Callable[[Array, Array, float], np.floating]
    by_k: Callable[[Array, Array, Array, float], Array]
    floor: Callable[[Array, Array, int, float], Array] | None = None
    floor_words: str = "sampled with 8 random bases while the Jacobian is at hand"
    rotated: Callable[[Array, Array, Array, float, Array], Array] | None = None
    takes_entry: bool = False
    takes_p: bool = False


def norm_by_k(s: Float[Array, "*any k"], p: float) -> Float[Array, "*any k"]:
    """norm_p of the leading K entries, for every K; in units of s_1 lest a large p overflow."""
    top = s[..., :1]
    return top * np.cumsum((s / top) ** p, -1) ** (1 / p)


def _distance(diagonal: Array, off_diagonal: Array, s: Array) -> Array:
    """norm_F(A - S)."""
    return np.sqrt(off_diagonal + np.cumsum((diagonal - s) ** 2, -1))


def _by_chance(s: Array, jacobian_norm: Array, width: int) -> Array:
    """The root of E norm_F(A - S)^2."""
    k = np.arange(1, s.shape[1] + 1)
    return np.sqrt(np.cumsum(s**2, -1) + (k * jacobian_norm / width) ** 2)


def _energy(diagonal: Array, off_diagonal: Array) -> Array:
    """norm_F(A)^2."""
    return off_diagonal + np.cumsum(diagonal**2, -1)


def _by_rotation(diagonal: Array, off_diagonal: Array, s: Array) -> Array:
    """The root of E norm_F(Q^T A R - S)^2."""
    return np.sqrt(_energy(diagonal, off_diagonal) + np.cumsum(s**2, -1))


def _magnitudes_by_rotation(diagonal: Array, off_diagonal: Array, s: Array, entry: Array) -> Array:
    """The root of E norm_F(|Q^T A R| - S)^2."""
    squares = _energy(diagonal, off_diagonal) + np.cumsum(s**2, -1)
    return np.sqrt(squares - 2 * entry * np.cumsum(s, -1))


_ALL = (
    Definition(
        name="paper",
        label="paper, Eq. 9",
        formula=r"c = 1 - \frac{\lVert A - S \rVert_F}{\lVert s \rVert_p}, \quad p = 1",
        origin="the conference paper, Eq. 9; *p* can be changed.",
        as_written=lambda A, s, p: 1 - norm(A - np.diag(s)) / norm(s, p),
        by_k=lambda diagonal, off, s, p: 1 - _distance(diagonal, off, s) / norm_by_k(s, p),
        floor=lambda s, size, d, p: 1 - _by_chance(s, size, d) / norm_by_k(s, p),
        floor_words="the score at this value",
        rotated=lambda diagonal, off, s, p, entry: (
            1 - _by_rotation(diagonal, off, s) / norm_by_k(s, p)
        ),
        takes_p=True,
    ),
    Definition(
        name="released",
        label="released code",
        formula=r"c = 1 - \frac{\lVert\, |A| - S \,\rVert_F}{\lVert s \rVert_2}",
        origin="the authors' program, which takes magnitudes first.",
        as_written=lambda A, s, p: 1 - norm(np.abs(A) - np.diag(s)) / norm(s),
        by_k=lambda diagonal, off, s, p: 1 - _distance(np.abs(diagonal), off, s) / norm_by_k(s, 2),
        rotated=lambda diagonal, off, s, p, entry: (
            1 - _magnitudes_by_rotation(diagonal, off, s, entry) / norm_by_k(s, 2)
        ),
        takes_entry=True,
    ),
    Definition(
        name="page",
        label="project page",
        formula=r"c = 1 - \frac{\lVert A - S \rVert_F}{\lVert s \rVert_2}",
        origin="the project page, which divides by the Frobenius norm of $S$.",
        as_written=lambda A, s, p: 1 - norm(A - np.diag(s)) / norm(np.diag(s)),
        by_k=lambda diagonal, off, s, p: 1 - _distance(diagonal, off, s) / norm_by_k(s, 2),
        floor=lambda s, size, d, p: 1 - _by_chance(s, size, d) / norm_by_k(s, 2),
        floor_words="the score at this value",
        rotated=lambda diagonal, off, s, p, entry: (
            1 - _by_rotation(diagonal, off, s) / norm_by_k(s, 2)
        ),
    ),
    Definition(
        name="preprint",
        label="preprint, Eq. 14",
        formula=r"c = 1 - \frac{\lVert A - \operatorname{Diag} A \rVert_F}{\lVert A \rVert_F}",
        origin=(
            "after the preprint, Eq. 14, which has the whole of $A$ and the opposite sign; "
            "restricting it to the top *K* is ours."
        ),
        as_written=lambda A, s, p: 1 - norm(A - np.diag(np.diag(A))) / norm(A),
        by_k=lambda diagonal, off, s, p: 1 - np.sqrt(off / _energy(diagonal, off)),
        rotated=lambda diagonal, off, s, p, entry: np.broadcast_to(
            1 - np.sqrt(1 - 1 / np.arange(1, off.shape[-1] + 1)), off.shape
        ),
    ),
    Definition(
        name="alignment",
        label="alignment",
        formula=r"c = \frac{\operatorname{tr} A}{\lVert s \rVert_1}",
        origin=(
            "ours: 1 when coupled, 0 by chance, so that it compares across *K*, width and training."
        ),
        as_written=lambda A, s, p: np.trace(A) / np.sum(s),
        by_k=lambda diagonal, off, s, p: np.cumsum(diagonal, -1) / norm_by_k(s, 1),
        floor=lambda s, size, d, p: np.where(np.isnan(s), np.nan, 0.0),
        floor_words="0",
        rotated=lambda diagonal, off, s, p, entry: np.zeros_like(off),
    ),
    Definition(
        name="overlap",
        label="overlap",
        formula=r"c = \frac{\lVert A \rVert_F^2}{\lVert s \rVert_2^2}",
        origin=(
            "ours: 1 when both bases span the same subspaces, whichever their vectors are; it does "
            "not ask for pairs."
        ),
        as_written=lambda A, s, p: norm(A) ** 2 / norm(s) ** 2,
        by_k=lambda diagonal, off, s, p: _energy(diagonal, off) / np.cumsum(s**2, -1),
        floor=lambda s, size, d, p: (
            (np.arange(1, s.shape[1] + 1) * size / d) ** 2 / np.cumsum(s**2, -1)
        ),
        floor_words=r"$K^2 \lVert J \rVert_F^2 / (d^2 \lVert s \rVert_2^2)$",
    ),
)

DEFINITIONS: Mapping[DefinitionName, Definition] = {each.name: each for each in _ALL}
"""All of them by name, in the order in which they are offered."""


def sampled_definitions() -> tuple[DefinitionName, ...]:
    """The names of those whose chance floor has no closed form."""
    return tuple(name for name, each in DEFINITIONS.items() if each.floor is None)
