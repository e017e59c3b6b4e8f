"""Which blocks go, by each ranking: made on texts that judge none of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.pruning import rankings
from coupling_core.analysis.pruning.rankings import Ranking
from coupling_core.analysis.scores import nan_mean
from coupling_core.base.edits import Removal
from coupling_core.base.results import DepthResult
from coupling_core.experiments.pruning.readings import Readings

Told = Callable[[str], None]
"""Told what is done, after each text that was read."""


@dataclass(frozen=True)
class Ranked:
    """The sets of blocks that a ranking removes.

    Args:
        sets: blocks by how many of them go, ascending; several of `random`, and one of any other.
        by_block: the numbers of single blocks that they rest on; none of `angle`, `last`, `random`.
    """

    sets: Mapping[int, Sequence[tuple[int, ...]]]
    by_block: tuple[float, ...] = ()


@dataclass
class Ranker:
    """Ranks a model's blocks.

    Args:
        readings: the texts to rank on, as the model reads them.
        depth: measures the coupling of the blocks at the last token of one of the texts.
        n_blocks: L.
        removed: how many blocks go.
        told: after each text that was read for a ranking.
    """

    readings: Readings
    depth: Callable[[int], DepthResult]
    n_blocks: int
    removed: Sequence[int]
    told: Told = field(default=lambda _: None)

    def ranked(self, by: Ranking) -> Ranked:
        """The sets of one ranking."""
        return {
            "coupling": self._coupling,
            "influence": self._influence,
            "angle": self._angle,
            "kl": self._kl,
            "last": lambda: self._first(range(self.n_blocks - 1, 0, -1)),
            "random": self._random,
        }[by]()

    def _first(self, order: Sequence[int], by_block: Sequence[float] = ()) -> Ranked:
        """The first blocks of an order."""
        sets = {n: (tuple(sorted(order[:n])),) for n in self.removed}
        return Ranked(sets, tuple(by_block))

    def _coupling(self) -> Ranked:
        found = []
        for number in range(len(self.readings)):
            result = self.depth(number)
            scores = result.scores().corrected
            found.append(rankings.neighbour_coupling(np.asarray(scores, np.float64)))
            self.told("coupling")
        mean = nan_mean(np.stack(found), 0)
        return self._first(rankings.first_of(mean, largest=True), mean.tolist())

    def _influence(self) -> Ranked:
        cosines = []
        for number in range(len(self.readings)):
            cosines.append(rankings.block_cosines(self.readings[number].states))
            self.told("Block Influence")
        influence = 1 - np.concatenate(cosines, 1).mean(1)
        return self._first(rankings.first_of(influence, largest=False), influence.tolist())

    def _angle(self) -> Ranked:
        total: Float[np.ndarray, "state state"] = np.zeros((self.n_blocks + 1,) * 2)
        for number in range(len(self.readings)):
            total += rankings.angular_distances(self.readings[number].states[:, -1])
            self.told("angular distance")
        mean = total / len(self.readings)
        return Ranked({n: (rankings.nearest_range(mean, n),) for n in self.removed})

    def _kl(self) -> Ranked:
        order: list[int] = []
        alone: tuple[float, ...] = ()
        for _ in range(max(self.removed)):
            left = [block for block in range(1, self.n_blocks + 1) if block not in order]
            cost = self._divergence([tuple(sorted((*order, block))) for block in left])
            alone = alone or tuple(cost.tolist())
            order.append(left[int(np.argmin(cost))])
        return self._first(order, alone)

    def _divergence(self, sets: Sequence[tuple[int, ...]]) -> Float[np.ndarray, " set"]:
        """Mean over all tokens of KL(original || shortened) in nats."""
        removals = [Removal(blocks) for blocks in sets]
        total, tokens = np.zeros(len(removals)), 0
        for number in range(len(self.readings)):
            mean, count = self.readings.divergences(number, removals)
            total += mean * count
            tokens += count
            self.told("KL of skipping")
        return total / tokens

    def _random(self) -> Ranked:
        orders = rankings.random_orders(self.n_blocks)
        return Ranked({n: [tuple(sorted(order[:n])) for order in orders] for n in self.removed})


def rounds(by: Sequence[Ranking], removed: Sequence[int], texts: int) -> int:
    """How often a text is read for rankings: what `told` is called."""
    once = sum(name in by for name in ("coupling", "influence", "angle"))
    return texts * (once + ("kl" in by) * max(removed))
