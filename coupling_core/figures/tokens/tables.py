"""The same numbers as the figures of tokens, as tables."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.scores import corrected, require_k
from coupling_core.analysis.token_scores import (
    by_distance,
    score_positions,
    score_positions_by_k,
)
from coupling_core.base.records import ROLES, View, resolve_token
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.figures.tokens.axes import label

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def grid_table(result: TokensResult | TokenMeansResult, view: View) -> "DataFrame":
    """Twin of the grid and of the mosaic: a row a pair of tokens of the whole prompt.

    Returns:
        columns token (of the Jacobian), other_token (of the basis), text, other_text, coupling,
        chance, corrected.
    """
    from pandas import DataFrame

    found = score_positions(result, view)
    n = len(result.tokens)
    texts = np.array(result.tokens, object)
    number = np.arange(1, n + 1)
    return DataFrame(
        {
            "token": np.repeat(number, n),
            "other_token": np.tile(number, n),
            "text": np.repeat(texts, n),
            "other_text": np.tile(texts, n),
            "coupling": found.coupling.ravel(),
            "chance": np.where(np.isnan(found.coupling), np.nan, found.chance).ravel(),
            "corrected": found.corrected.ravel(),
        }
    )


def distance_table(
    result: TokensResult | TokenMeansResult, view: View, *, corrected: bool = True
) -> "DataFrame":
    """Twin of the curve: columns distance, mean, deviation, low, high, count."""
    from pandas import DataFrame

    found = by_distance(score_positions(result, view), above_chance=corrected)
    return DataFrame(asdict(found))


def matrix_table(result: TokensResult, token: int, other: int, view: View) -> "DataFrame":
    """Twin of one matrix, in units of s_1 of its Jacobian: row u (or v), column v (or u)."""
    from pandas import DataFrame, RangeIndex

    require_k(result, view.k)
    token, other = (resolve_token(each, len(result.tokens)) for each in (token, other))
    side = min(view.k, result.k_view)
    stored = result.matrices[ROLES.index(view.role), token - 1, other - 1, :side, :side]
    index = RangeIndex(1, side + 1)
    return DataFrame(stored.astype(np.float32), index=index, columns=index)


def spectrum_table(result: TokensResult) -> "DataFrame":
    """Twin of the singular values: a row a block and token, with its rank."""
    from pandas import DataFrame, concat

    names = [f"s_{k + 1}" for k in range(result.k_max)]
    sides = []
    for side, block in enumerate(dict.fromkeys(result.blocks)):
        table = DataFrame(result.singular_values[side], columns=names)
        table.insert(0, "block", block)
        table.insert(1, "token", [label(i, text) for i, text in enumerate(result.tokens, 1)])
        table.insert(2, "rank", result.rank[side])
        sides.append(table)
    return concat(sides, ignore_index=True)


def score_by_k_table(result: TokensResult, token: int, other: int, view: View) -> "DataFrame":
    """Twin of the score against K: columns k, coupling, chance, corrected."""
    from pandas import DataFrame

    raw, floor = score_positions_by_k(result, token, other, view)
    k = np.arange(1, result.k_max + 1)
    return DataFrame({"k": k, "coupling": raw, "chance": floor, "corrected": corrected(raw, floor)})
