"""The same numbers as the figures of tokens, as tables."""

from typing import TYPE_CHECKING

from coupling_core.analysis.token_scores import (
    by_distance,
    score_positions,
)
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.figures.token_labels import numbered

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def distance_table(
    result: TokensResult | TokenMeansResult, view: View, *, corrected: bool = True
) -> "DataFrame":
    """Twin of the curve: columns distance, mean, spread, low, high, pairs."""
    return by_distance(score_positions(result, view), above_chance=corrected).to_pandas()


def spectrum_table(result: TokensResult) -> "DataFrame":
    """Twin of the singular values: a row a block and token, with its rank."""
    from pandas import DataFrame, concat

    names = [f"s_{k + 1}" for k in range(result.k_max)]
    sides = []
    for side, block in enumerate(dict.fromkeys(result.blocks)):
        table = DataFrame(result.singular_values[side], columns=names)
        table.insert(0, "block", block)
        table.insert(1, "token", [numbered(i, text) for i, text in enumerate(result.tokens, 1)])
        table.insert(2, "rank", result.rank[side])
        sides.append(table)
    return concat(sides, ignore_index=True)
