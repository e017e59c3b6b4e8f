"""Which blocks go first: by numbers of single blocks, of ranges of blocks, or at random.

    coupling     the blocks most coupled with the blocks next to them: mean of the chance-corrected
                 scores c(l, l'), c(l', l) over l' = l - 1 and l + 1
    influence    those of least Block Influence, 1 - mean over tokens of cos(x^{l-1}, x^l)
                 (Men et al., ShortGPT, 2024)
    angle        the n blocks a + 1..a + n in a row of least angular distance
                 arccos(cos(x^a, x^{a+n})) / pi at the last token (Gromov et
                 al., 2024)
    kl           greedily: the block without which KL(original || shortened) is least, then the next
                 block, measured anew in the model that the others have left
    last         from the end, but never the very last block: L - 1, L - 2, ...
    random       drawn, all blocks alike

All of them are made on texts other than those on which they are judged.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.scores import nan_mean

Ranking = Literal["coupling", "influence", "angle", "kl", "last", "random"]
RANKINGS: tuple[Ranking, ...] = get_args(Ranking)
NAMES: dict[Ranking, str] = {
    "coupling": "most coupled with neighbours",
    "influence": "least Block Influence",
    "angle": "range of least angular distance",
    "kl": "least KL when skipped, greedily",
    "last": "last blocks but one",
    "random": "random",
}
"""What each is called."""
DRAWS = 20
"""Random orders of the blocks: a ranking that beats 19 of them is better than chance at 5 %."""


def neighbour_coupling(corrected: Float[np.ndarray, "block block"]) -> Float[np.ndarray, " block"]:
    """Means of the scores c(l, l') and c(l', l) over l' = l - 1 and l + 1 that are known."""
    block = np.arange(len(corrected))
    scores = np.where(abs(np.subtract.outer(block, block)) == 1, corrected, np.nan)
    return nan_mean(np.hstack([scores, scores.T]), 1)


def block_cosines(states: Float[np.ndarray, "state token d"]) -> Float[np.ndarray, "block token"]:
    """Cosine of what goes into each block and what comes out of it, by token."""
    before, after = states[:-1], states[1:]
    return (before * after).sum(-1) / (
        np.linalg.norm(before, axis=-1) * np.linalg.norm(after, axis=-1)
    )


def angular_distances(state: Float[np.ndarray, "state d"]) -> Float[np.ndarray, "state state"]:
    """Angles between the states x^0 .. x^L of one token, in units of pi (Gromov et al., Eq. 1)."""
    unit = state / np.linalg.norm(state, axis=-1, keepdims=True)
    return np.arccos(np.clip(unit @ unit.T, -1, 1)) / np.pi


def first_of(numbers: Float[np.ndarray, " block"], *, largest: bool) -> tuple[int, ...]:
    """Blocks (1..L) in the order in which they go; those without a number are last, ties by l."""
    key = np.where(np.isfinite(numbers), -numbers if largest else numbers, np.inf)
    return tuple(int(block) + 1 for block in np.argsort(key, kind="stable"))


def nearest_range(distances: Float[np.ndarray, "state state"], n: int) -> tuple[int, ...]:
    """The n blocks in a row between whose ends states turn least."""
    start = int(np.argmin(np.diagonal(distances, n)))
    return tuple(range(start + 1, start + n + 1))


def random_orders(n_blocks: int) -> list[tuple[int, ...]]:
    """Orders of all blocks, drawn alike."""
    generator = np.random.default_rng(0)
    return [tuple((generator.permutation(n_blocks) + 1).tolist()) for _ in range(DRAWS)]


def split(count: int) -> tuple[Sequence[int], Sequence[int]]:
    """Which texts (from 0) rank the blocks, and which judge the rankings: of three, one and two."""
    every = range(count)
    return every[::3], [number for number in every if number % 3]
