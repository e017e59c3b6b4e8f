"""The numbers of directions."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.directions import counts, gaps, tied, track_chance, viewed
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS, SIDES

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

_BY_BLOCK = ("rounding", "jacobian_norm", "rank", "next_singular_value")


def arrays(
    result: DirectionsResult, view: DirectionsView, k_view: int | None = None
) -> dict[str, np.ndarray]:
    """What a result of directions holds, by name, for the viewed blocks and directions.

    Args:
        result: the result.
        view: blocks, and how many directions.
        k_view: means nothing here.

    Returns:
        `u`, `v` (block d k), `singular_values`, `gap`, `tied` (block k), `rounding` (block side;
        degrees), `jacobian_norm`, `rank`, `next_singular_value`, `track_chance` (block), `A` (block
        basis k k, in its own units), `top`, `top_z`, `top_cosine` (readout block k sign place),
        `peakedness`, `beyond_chance` (readout block k), `floor`, `count` (readout block), `blocks`,
        `readouts`, `sides`, `certified`, `tokens`, `token_ids`.

    Raises:
        InputError: where the result lacks a block, or has fewer directions.
    """
    blocks, k = viewed(result, view)
    at = np.array(blocks) - 1
    A = result.matrices[np.ix_(at, at)][..., :k, :k].astype(np.float32)
    named = {name: getattr(result, name)[at] for name in _BY_BLOCK}
    top = {n: getattr(result, n)[:, at, :k] for n in ("top", "top_z", "top_cosine")}
    return (
        named
        | top
        | {
            "u": result.u[at, :, :k].astype(np.float32),  # few forms of files have float16
            "v": result.v[at, :, :k].astype(np.float32),
            "singular_values": result.singular_values[at, :k],
            "gap": gaps(result)[at, :k],
            "tied": tied(result)[at, :k],
            "track_chance": track_chance(result)[at],
            "A": A * result.singular_values[at, 0, None, None, None],
            "peakedness": result.peakedness[:, at, :k],
            "beyond_chance": result.beyond_chance[:, at, :k],
            "floor": result.floor[:, at],
            "count": counts(result, k)[:, at],
            "blocks": np.array(blocks),
            "readouts": np.array(READOUTS),
            "sides": np.array(SIDES),
            "certified": np.array([result.certificates[i].certified for i in at]),
            "tokens": np.array(result.tokens),
            "token_ids": result.token_ids,
        }
    )


def axes(result: DirectionsResult) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array."""
    named = ("readout", "block", "k", "sign", "place")
    return {
        **dict.fromkeys(("u", "v"), ("block", "d", "k")),
        **dict.fromkeys(("singular_values", "gap", "tied"), ("block", "k")),
        "rounding": ("block", "side"),
        **dict.fromkeys((*_BY_BLOCK[1:], "track_chance", "certified", "blocks"), ("block",)),
        "A": ("block", "basis", "u_k", "v_k"),
        **dict.fromkeys(("top", "top_z", "top_cosine"), named),
        **dict.fromkeys(("peakedness", "beyond_chance"), named[:3]),
        **dict.fromkeys(("floor", "count"), named[:2]),
        "readouts": ("readout",),
        "sides": ("side",),
        **dict.fromkeys(("tokens", "token_ids"), ("token",)),
    }


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


def row(result: DirectionsResult, view: DirectionsView) -> dict[str, float]:
    """Shares of readouts beyond chance over the viewed blocks; NaN where there is no readout."""
    blocks, k = viewed(result, view)
    shares = counts(result, k)[:, np.array(blocks) - 1].mean(1) / k
    return {
        f"{name}_beyond": float("nan") if name in result.missing else float(share)
        for name, share in zip(READOUTS, shares, strict=True)
    }
