"""The numbers of directions, of the viewed blocks and as many directions as are viewed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.analysis.directions import counts, gaps, tied, track_chance, viewed
from coupling_core.base.numbers import Column, Number, Seen, mean, tokens
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS, SIDES

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

BY_CHANCE = 0.01
"""The share of readouts that chance alone puts beyond its floor."""
BLOCK, K, READOUT = ("block",), ("block", "k"), ("readout", "block", "k")
END = (*READOUT, "sign", "place")


@dataclass(frozen=True)
class Part:
    """Which of a result are viewed: indices of blocks, and how many directions."""

    result: DirectionsResult
    at: np.ndarray
    k: int


def derive(result: DirectionsResult, view: DirectionsView) -> Part:
    """Which blocks and directions are viewed.

    Raises:
        InputError: where the result lacks a block, or has fewer directions.
    """
    blocks, k = viewed(result, view)
    return Part(result, np.array(blocks) - 1, k)


def _of(of: Callable[[Part], Any]) -> Callable[[Seen], Any]:
    return lambda seen: of(seen.derived)


def _stored(name: str, readout: bool = False) -> Callable[[Seen], Any]:
    """A stored array of the viewed blocks; where it is of readouts, of the viewed directions."""
    if readout:
        return _of(lambda part: getattr(part.result, name)[:, part.at, : part.k])
    return _of(lambda part: getattr(part.result, name)[part.at])


def _vectors(name: str) -> Callable[[Seen], Any]:
    """Singular vectors; few forms of files have float16."""
    return _of(lambda part: getattr(part.result, name)[part.at, :, : part.k].astype(np.float32))


def _matrices(part: Part) -> np.ndarray:
    result, at, k = part.result, part.at, part.k
    kept = result.matrices[np.ix_(at, at)][..., :k, :k].astype(np.float32)
    return kept * result.singular_values[at, 0, None, None, None]


_TITLES = {
    "writes": "Directions written that say more than chance (share)",
    "reads": "Directions read that say more than chance (share)",
    "reads_embedding": "Directions read, by the embedding, that say more than chance (share)",
}


def _shares() -> Iterable[Number]:
    """The shares of readouts beyond chance over the viewed blocks, of each readout."""

    def share(readout: int, name: str) -> Callable[[Seen], Any]:
        def of(part: Part) -> np.ndarray:
            share = counts(part.result, part.k)[readout, part.at] / part.k
            return share if name not in part.result.missing else np.full(len(share), np.nan)

        return _of(of)

    for readout, name in enumerate(READOUTS):
        yield Number(
            f"{name}_beyond",
            f"share of the directions whose readout {name} is beyond chance",
            BLOCK,
            share(readout, name),
            in_files=False,
            column=Column(
                _TITLES[name], mean, ideal=BY_CHANCE, ideal_name="chance, one in a hundred"
            ),
        )


NUMBERS = (
    Number(
        "rounding",
        "degrees by which rounding turned u and v",
        ("block", "side"),
        _stored("rounding"),
    ),
    Number("jacobian_norm", "Frobenius norm of J", BLOCK, _stored("jacobian_norm")),
    Number("rank", "numerical rank of J", BLOCK, _stored("rank")),
    Number(
        "next_singular_value", "the first that is not kept", BLOCK, _stored("next_singular_value")
    ),
    Number("top", "ids of the most extreme tokens", END, _stored("top", readout=True)),
    Number(
        "top_z", "how many standard deviations out they are", END, _stored("top_z", readout=True)
    ),
    Number(
        "top_cosine", "their cosine with the direction", END, _stored("top_cosine", readout=True)
    ),
    Number("u", "left singular vectors of J", ("block", "d", "k"), _vectors("u")),
    Number("v", "right singular vectors of J", ("block", "d", "k"), _vectors("v")),
    Number(
        "singular_values",
        "singular values of J",
        K,
        _of(lambda part: part.result.singular_values[part.at, : part.k]),
    ),
    Number(
        "gap",
        "s_k - s_(k+1), in units of s_1",
        K,
        _of(lambda part: gaps(part.result)[part.at, : part.k]),
    ),
    Number(
        "tied",
        "whether it is so near a neighbour that the direction is not well defined",
        K,
        _of(lambda part: tied(part.result)[part.at, : part.k]),
    ),
    Number(
        "track_chance",
        "cosine that tracks of random directions have",
        BLOCK,
        _of(lambda part: track_chance(part.result)[part.at]),
    ),
    Number(
        "A",
        "matrices A, in units of the Jacobian",
        ("block", "basis", "u_k", "v_k"),
        _of(_matrices),
    ),
    Number(
        "peakedness",
        "how far the readout stands out from that of a random direction",
        READOUT,
        _stored("peakedness", readout=True),
    ),
    Number(
        "beyond_chance",
        "whether it is above its floor",
        READOUT,
        _stored("beyond_chance", readout=True),
    ),
    Number(
        "floor",
        "peakedness that one random direction in a hundred has",
        READOUT[:2],
        _of(lambda part: part.result.floor[:, part.at]),
    ),
    Number(
        "count",
        "how many directions are above it",
        READOUT[:2],
        _of(lambda part: counts(part.result, part.k)[:, part.at]),
    ),
    *_shares(),
    Number("blocks", "l, those that are viewed", BLOCK, _of(lambda part: part.at + 1)),
    Number("readouts", "what is read out, and by what", ("readout",), lambda _: READOUTS),
    Number("sides", "u and v", ("side",), lambda _: SIDES),
    Number(
        "certified",
        "whether the SVD of J passed its certificate",
        BLOCK,
        _of(lambda part: [part.result.certificates[at].certified for at in part.at]),
    ),
    *tokens(),
)

ABOUT = {
    "block": "l, 1 to L",
    "component": "k of the direction, 1 for the leading one",
    "readout": "writes (u by the unembedding), reads (v by it) or reads_embedding (v by its own)",
    "singular_value": "s_k",
    "positive": "the tokens at that end",
    "negative": "the tokens at that end",
    "positive_z": "how far the first of them lies from the mean, in standard deviations",
    "negative_z": "the same at the other end",
    "token": "the one measured, 1 to n",
    "kept": "how many directions are stored",
    "share": "the numbers of prompts and sweeps, by name",
    "missing": "readouts that there are none of, and why",
    "directions": "the table, a row a direction and readout",
}
"""What else tables and JSON have, by name."""


def table(result: DirectionsResult, view: DirectionsView) -> "DataFrame":
    """A row a readout of a direction: what is at either end, and whether that is beyond chance.

    Raises:
        InputError: where the result lacks a block, or has fewer directions.
    """
    from pandas import DataFrame

    blocks, k = viewed(result, view)
    gap, ties, beyond = gaps(result), tied(result), result.beyond_chance
    rows = [
        {
            "block": block,
            "component": component + 1,
            "readout": name,
            "singular_value": float(result.singular_values[block - 1, component]),
            "gap": float(gap[block - 1, component]),
            "tied": bool(ties[block - 1, component]),
            "peakedness": float(result.peakedness[readout, block - 1, component]),
            "floor": float(result.floor[readout, block - 1]),
            "beyond_chance": bool(beyond[readout, block - 1, component]),
            "positive": words(result, readout, block, component, 0),
            "positive_z": float(result.top_z[readout, block - 1, component, 0, 0]),
            "negative": words(result, readout, block, component, 1),
            "negative_z": float(result.top_z[readout, block - 1, component, 1, 0]),
        }
        for readout, name in enumerate(READOUTS)
        if name not in result.missing
        for block in blocks
        for component in range(k)
    ]
    columns = [
        "block", "component", "readout", "singular_value", "gap", "tied", "peakedness", "floor",
        "beyond_chance", "positive", "positive_z", "negative", "negative_z",
    ]  # fmt: skip
    return DataFrame(rows, columns=columns)


def words(result: DirectionsResult, readout: int, block: int, component: int, sign: int) -> str:
    """The tokens at one end of a direction, the most extreme first."""
    ids = result.top[readout, block - 1, component, sign]
    return " ".join(repr(result.vocabulary[str(i)]) for i in ids if i >= 0)
