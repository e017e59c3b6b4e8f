"""The numbers of directions, of the viewed blocks and as many directions as are viewed."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
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
READOUT = "readout block k"
END = f"{READOUT} sign place"


@dataclass(frozen=True)
class Part:
    """Which of a result are viewed: indices of blocks, and how many directions."""

    result: DirectionsResult
    at: np.ndarray
    k: int


def derive(result: DirectionsResult, view: DirectionsView) -> Part:
    """Which blocks and directions are viewed."""
    blocks, k = viewed(result, view)
    return Part(result, np.array(blocks) - 1, k)


def _of(of: Callable[[Part], Any]) -> Callable[[Seen], Any]:
    return lambda seen: of(seen.derived)


def _viewed(
    name: str, what: str, dims: str, of: Callable[[DirectionsResult], Any] | None = None
) -> Number:
    """A number of the viewed blocks, and of directions of those that are viewed."""
    axes = tuple(dims.split())

    def cut(part: Part) -> np.ndarray:
        values = getattr(part.result, name) if of is None else of(part.result)
        shown = {"block": part.at, "k": np.arange(part.k)}
        for axis, dim in enumerate(axes):
            values = values.take(shown[dim], axis) if dim in shown else values
        return np.asarray(values)

    return Number(name, what, axes, _of(cut))


def _vectors(side: str, what: str) -> Number:
    """Singular vectors; few forms of files have float16."""
    return _viewed(side, what, "block d k", lambda of: getattr(of, side).astype(np.float32))


def _matrices(part: Part) -> np.ndarray:
    result, at, k = part.result, part.at, part.k
    kept = result.matrices[np.ix_(at, at)][..., :k, :k].astype(np.float32)
    return kept * result.singular_values[at, 0, None, None, None]


_SAYS_MORE = {
    "writes": "Directions written that say more than chance (share)",
    "reads": "Directions read that say more than chance (share)",
    "reads_embedding": "Directions read, by the embedding, that say more than chance (share)",
}


def _share(readout: int, name: str) -> Number:
    """The share of a readout's directions beyond chance, by block."""

    def share(part: Part) -> np.ndarray:
        found = counts(part.result, part.k)[readout, part.at] / part.k
        return found if name not in part.result.missing else np.full(len(found), np.nan)

    return Number(
        f"{name}_beyond",
        f"share of the directions whose readout {name} is beyond chance",
        ("block",),
        _of(share),
        in_files=False,
        heading=name.replace("_", " "),
        form=".0%",
        column=Column(
            _SAYS_MORE[name], mean, ideal=BY_CHANCE, ideal_name="chance, one in a hundred"
        ),
    )


NUMBERS = (
    _viewed("rounding", "degrees by which rounding turned u and v", "block side"),
    _viewed("jacobian_norm", "Frobenius norm of J", "block"),
    _viewed("rank", "numerical rank of J", "block"),
    _viewed("next_singular_value", "the first that is not kept", "block"),
    _viewed("top", "ids of the most extreme tokens", END),
    _viewed("top_z", "how many standard deviations out they are", END),
    _viewed("top_cosine", "their cosine with the direction", END),
    _vectors("u", "left singular vectors of J"),
    _vectors("v", "right singular vectors of J"),
    _viewed("singular_values", "singular values of J", "block k"),
    _viewed("gap", "s_k - s_(k+1), in units of s_1", "block k", gaps),
    _viewed(
        "tied",
        "whether it is so near a neighbour that the direction is not well defined",
        "block k",
        tied,
    ),
    _viewed("track_chance", "cosine that tracks of random directions have", "block", track_chance),
    Number(
        "A",
        "matrices A, in units of the Jacobian",
        ("block", "basis", "u_k", "v_k"),
        _of(_matrices),
    ),
    _viewed(
        "peakedness", "how far the readout stands out from that of a random direction", READOUT
    ),
    _viewed("beyond_chance", "whether it is above its floor", READOUT),
    _viewed("floor", "peakedness that one random direction in a hundred has", "readout block"),
    Number(
        "count",
        "how many directions are above it",
        ("readout", "block"),
        _of(lambda part: counts(part.result, part.k)[:, part.at]),
    ),
    *(_share(readout, name) for readout, name in enumerate(READOUTS)),
    Number("blocks", "l, those that are viewed", ("block",), _of(lambda part: part.at + 1)),
    Number("readouts", "what is read out, and by what", ("readout",), lambda _: READOUTS),
    Number("sides", "u and v", ("side",), lambda _: SIDES),
    Number(
        "certified",
        "whether the SVD of J passed its certificate",
        ("block",),
        _of(lambda part: [part.result.certificates[at].certified for at in part.at]),
    ),
    *tokens(),
)

ABOUT = {
    "component": "k of the direction, 1 for the leading one",
    "readout": "writes (u by the unembedding), reads (v by it) or reads_embedding (v by its own)",
    "singular_value": "s_k",
    "positive": "the tokens at that end",
    "negative": "the tokens at that end",
    "positive_z": "how far the first of them lies from the mean, in standard deviations",
    "negative_z": "the same at the other end",
    "kept": "how many directions are stored",
    "missing": "readouts that there are none of, and why",
    "directions": "the table, a row a direction and readout",
}
"""What else tables and JSON have, by name."""


def table(result: DirectionsResult, view: DirectionsView) -> "DataFrame":
    """A row a readout of a direction: what is at either end, and whether that is beyond chance."""
    from pandas import DataFrame

    part = derive(result, view)
    readouts = [at for at, name in enumerate(READOUTS) if name not in result.missing]
    rows = [*product(readouts, part.at, range(part.k))]
    r, b, k = np.array(rows, int).reshape(-1, 3).T
    columns: dict[str, Any] = {
        "block": b + 1,
        "component": k + 1,
        "readout": np.array(READOUTS)[r],
        "singular_value": result.singular_values[b, k].astype(np.float64),
        "gap": gaps(result)[b, k],
        "tied": tied(result)[b, k],
        "peakedness": result.peakedness[r, b, k].astype(np.float64),
        "floor": result.floor[r, b].astype(np.float64),
        "beyond_chance": result.beyond_chance[r, b, k],
    }
    for sign, end in enumerate(("positive", "negative")):
        columns[end] = [_words(result, ids) for ids in result.top[r, b, k, sign]]
        columns[f"{end}_z"] = result.top_z[r, b, k, sign, 0].astype(np.float64)
    return DataFrame(columns)


def _words(result: DirectionsResult, ids: np.ndarray) -> str:
    """The tokens at one end of a direction, the most extreme first."""
    return " ".join(repr(result.vocabulary[str(i)]) for i in ids if i >= 0)
