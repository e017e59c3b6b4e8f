"""What is tried with directions, and what comes of it: added to states, taken out, read."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.base.notebook import Plottable, Table, Tabular, in_a_line
from coupling_core.base.records import DirectionsView
from coupling_core.base.results.directions import DirectionsResult
from coupling_core.base.units import counted, percent, ranges

RANDOM = 20
"""Random directions, or frames, beside those that are asked about."""

UNFAIR = 3
"""Frames that hold so many times as much of a state as random ones are not compared fairly."""

UNITS = {"tokens": "KL, nats", "classes": "KL, nats", "states": "relative distance"}
"""Of a divergence, by what is compared."""


@dataclass(frozen=True, repr=False)
class Steering(Plottable[str]):
    """What directions do, each at each size; the only figure is "steering".

    Its table has a row a direction and size: direction (its name), size, divergence, chance_median
    and chance_largest (the divergence of the random directions), rises and falls (tokens whose
    log-probability rises and falls most), rise and fall (the largest change of each, in nats).

    Args:
        block: l, of whose output or input they are directions.
        side: "u", added to its output, or "v", to its input.
        tokens: at which they are added, 1..n.
        names: what the directions are called.
        sizes: e, in units of the state's norm.
        measured_of: `tokens`, `classes` or `states` (a model without a head).
        divergence: KL(own || steered) in nats at the token; of `states`, the relative distance of
            the last states.
        by_chance: the same of random directions at the same sizes.
        rises: texts of the tokens (or classes) whose log-probability rises most.
        falls: of those whose log-probability falls most.
        rise: their changes, in nats.
        fall: their changes, in nats.
        result: the directions, with their model and prompt.
    """

    figures: ClassVar = {"steering": "directions.steering"}

    block: int
    side: str
    tokens: tuple[int, ...]
    names: tuple[str, ...]
    sizes: tuple[float, ...]
    measured_of: str
    divergence: Float[np.ndarray, "m size"]
    by_chance: Float[np.ndarray, "random size"]
    rises: tuple[tuple[tuple[str, ...], ...], ...] = field(repr=False)
    falls: tuple[tuple[tuple[str, ...], ...], ...] = field(repr=False)
    rise: Float[np.ndarray, "m size top"] = field(repr=False)
    fall: Float[np.ndarray, "m size top"] = field(repr=False)
    result: DirectionsResult = field(repr=False, compare=False)

    def __repr__(self) -> str:
        directions = counted(len(self.names), "direction")
        return in_a_line(
            self,
            self.result.whose,
            f"{directions} at {counted(len(self.sizes), 'size')} at {self.where}",
            f"up to {self.divergence.max():.3g} ({UNITS[self.measured_of]})",
            f"random ones up to {self.by_chance.max():.3g}",
        )

    @property
    def where(self) -> str:
        """To what they are added, in words."""
        n = len(self.tokens)
        at = f"token{'s' * (n > 1)} {', '.join(map(str, self.tokens))}"
        return f"the {'output' if self.side == 'u' else 'input'} of block {self.block} at {at}"

    @property
    def verdict(self) -> str:
        """Which directions do more than random ones, and at which sizes."""
        beyond = self.divergence > self.by_chance.max(0)
        at = (", ".join(f"{e:g}" for e in np.array(self.sizes)[row]) for row in beyond)
        does = [f"{name} at {each}" for name, each in zip(self.names, at, strict=True) if each]
        random = f"each of {len(self.by_chance)} random directions ({UNITS[self.measured_of]})"
        if not does:
            return f"No direction does more than {random} at any size that was tried."
        rest = "; no other does at any size that was tried" * (len(does) < len(self.names))
        return f"More than {random} is done by {', by '.join(does)} of the state's norm{rest}."

    def _table(self) -> Table:
        rows = [
            {
                "direction": name,
                "size": size,
                "divergence": float(self.divergence[i, e]),
                **_chance(self.by_chance[:, e]),
                "rises": _changed(self.rises[i][e], self.rise[i, e]),
                "rise": _first(self.rise[i, e]),
                "falls": _changed(self.falls[i][e], self.fall[i, e]),
                "fall": _first(self.fall[i, e]),
            }
            for i, name in enumerate(self.names)
            for e, size in enumerate(self.sizes)
        ]
        about = {"block": self.block, "side": self.side, "tokens": list(self.tokens)}
        return rows, self.result.attributes() | about

    @property
    def _drawn_of(self) -> tuple[DirectionsResult, DirectionsView]:
        return self.result, DirectionsView(None, None)


@dataclass(frozen=True, repr=False)
class Ablation(Tabular):
    """What it does that frames are taken out of what blocks read.

    Its table has one row: blocks (a text such as "9-16"), token, k, divergence, chance_median and
    chance_largest (the divergence of random frames), part, and part_by_chance (k / d).

    Args:
        blocks: in which.
        token: at which, 1..n; the states of the others stay as they are.
        k: how many columns each frame has.
        width: d, width of the residual stream.
        measured_of: as in `Steering`.
        divergence: KL(own || ablated) in nats at the token; of `states`, the relative distance.
        by_chance: the same of random frames of as many columns in the same blocks.
        part: of the squared length of the model's own states before these blocks, how much lies in
            the frames, mean over the blocks: what holds much of a state does much when it is gone,
            whatever it says. Random frames hold k / d of it.
        result: the directions, with their model and prompt.
    """

    blocks: tuple[int, ...]
    token: int
    k: int
    width: int
    measured_of: str
    divergence: float
    by_chance: Float[np.ndarray, " random"]
    part: float
    result: DirectionsResult = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return in_a_line(
            self,
            self.result.whose,
            f"{counted(self.k, 'direction')} out of {self._where}",
            f"{self.divergence:.3g} ({UNITS[self.measured_of]})",
            f"by random frames {np.median(self.by_chance):.3g} in the median",
        )

    @property
    def _where(self) -> str:
        each = "each of blocks" if len(self.blocks) > 1 else "block"
        return f"{each} {ranges(self.blocks)} at token {self.token}"

    @property
    def verdict(self) -> str:
        """What taking them away does, and whether random frames do as much by a fair comparison."""
        larger, n = int((self.by_chance >= self.divergence).sum()), len(self.by_chance)
        does = (
            f"Taking {self.k} directions out of the input of {self._where} changes what the model "
            f"says by {self.divergence:.3g} ({UNITS[self.measured_of]}). Random frames of as many "
            f"do so by {np.median(self.by_chance):.3g} in the median, and {larger or 'none'} of "
            f"{n} by as much or more."
        )
        held = (
            f"hold {percent(self.part, 1)} of the squared length of these blocks' states, where a "
            f"random frame holds {percent(self.k / self.width, 1)}."
        )
        if not larger and self.part > UNFAIR * self.k / self.width:
            return (
                f"{does} But the comparison is not fair: they {held} Taking away so much of a "
                "state changes what the model says, whatever the directions mean."
            )
        return f"{does} They {held}"

    def _table(self) -> Table:
        row = {
            "blocks": ranges(self.blocks),
            "token": self.token,
            "k": self.k,
            "divergence": self.divergence,
            **_chance(self.by_chance),
            "part": self.part,
            "part_by_chance": self.k / self.width,
        }
        return [row], self.result.attributes() | {"measured_of": self.measured_of}


@dataclass(frozen=True, repr=False)
class Readings(Tabular):
    """What directions are read as, and whether that is more than chance.

    Its table has a row a direction: direction (1..m), peakedness, floor, beyond_chance, towards and
    away (texts of the tokens at either end).

    Args:
        readout: `writes`, `reads` (both by the unembedding) or `reads_embedding`.
        peakedness: mean of the largest abs(z) over the vocabulary.
        floor: the peakedness that one in a hundred random directions exceeds.
        towards: the tokens at the positive end, most extreme first.
        away: those at the negative end.
        result: of the model that reads them.
    """

    readout: str
    peakedness: Float[np.ndarray, " m"]
    floor: float
    towards: tuple[tuple[str, ...], ...]
    away: tuple[tuple[str, ...], ...]
    result: DirectionsResult = field(repr=False, compare=False)

    def __repr__(self) -> str:
        many = f"{int(self.beyond_chance.sum())} of {counted(len(self.peakedness), 'readout')}"
        what = f"{many} ({self.readout}) beyond chance"
        return in_a_line(self, self.result.whose, what)

    @property
    def beyond_chance(self) -> Bool[np.ndarray, " m"]:
        """Whether each readout is more peaked than those of 99 in 100 random directions."""
        return self.peakedness > self.floor

    @property
    def verdict(self) -> str:
        """How many readouts are more than chance, and what these name first."""
        beyond = np.flatnonzero(self.beyond_chance)
        first = "; ".join(f"{i + 1} {' '.join(map(repr, self.towards[i][:3]))}" for i in beyond[:3])
        named = f" They begin with: {first}." if beyond.size else ""
        return (
            f"{beyond.size} of {len(self.peakedness)} directions have a readout "
            f"({self.readout.replace('_', ' by the ')}) that is more peaked than those of 99 of "
            f"100 random directions; the tokens of the others mean nothing.{named}"
        )

    def _table(self) -> Table:
        columns = {
            "direction": range(1, len(self.peakedness) + 1),
            "peakedness": self.peakedness,
            "floor": self.floor,
            "beyond_chance": self.beyond_chance,
            "towards": [" ".join(map(repr, texts)) for texts in self.towards],
            "away": [" ".join(map(repr, texts)) for texts in self.away],
        }
        return columns, self.result.attributes() | {"readout": self.readout}


def _chance(divergence: Float[np.ndarray, " random"]) -> dict[str, float]:
    return {
        "chance_median": float(np.median(divergence)),
        "chance_largest": float(divergence.max()),
    }


def _changed(texts: tuple[str, ...], changes: Float[np.ndarray, " top"]) -> str:
    """Those that did change; none does by a direction of size 0."""
    return " ".join(repr(text) for text, by in zip(texts, changes, strict=True) if by)


def _first(values: Float[np.ndarray, " top"]) -> float:
    return float(values[0]) if len(values) else float("nan")
