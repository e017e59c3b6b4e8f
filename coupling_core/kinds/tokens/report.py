"""What is said of a comparison of tokens."""

from typing import Any

import numpy as np

from coupling_core.analysis.scores import definition_name
from coupling_core.analysis.token_scores import (
    PositionScores,
    by_distance,
    score_positions,
    weighted_mean,
    weights,
)
from coupling_core.base.arrays import arrays_of
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.base.units import cut
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines, print_table
from coupling_core.sources.tokens import visible

Compared = TokensResult | TokenMeansResult

SHOWN = 24
"""Characters of a token in the table."""


def summary(result: Compared, view: View) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    found = score_positions(result, view)
    return {
        "kind": result.request.kind,
        "token": result.token or None,
        "blocks": result.blocks if isinstance(result, TokensResult) else None,
        **reports.of_view(result, view),
        "positions": list(range(1, len(result.tokens) + 1)),
        "mean": found.mean().corrected,
        "coupling": found.coupling,
        "chance": found.chance,
        "corrected": found.corrected,
        "by_distance": arrays_of(by_distance(found)),
        "rank": result.rank,
        "certified": [[c and c.certified for c in row] for row in result.certificates],
    }


def show(result: Compared, view: View) -> None:
    """Print one result: what was compared, a line a token, a line a distance."""
    found = score_positions(result, view)
    floor = np.where(np.isnan(found.coupling) | found.itself, np.nan, found.chance)
    raw = np.where(found.itself, np.nan, found.coupling)
    mean = found.mean()
    without = ", without any Jacobian against itself" if found.itself.any() else ""
    print_lines(
        *reports.head(result),
        f"compared    {result.request.kind}, {result.measured}",
        f"score       {definition_name(view)}, K = {view.k}, {result.final_norm_words}",
        f"mean        chance-corrected {mean.corrected:z.4f}, c {mean.coupling:z.4f}, "
        f"chance floor {mean.chance:z.4f}{without}",
        *_reasons(result, view),
        "",
    )
    _show_tokens(result, found, raw, floor, weights(result, view))
    print_lines("", "By distance of the two tokens, chance-corrected:")
    _show_distances(found)


def _reasons(result: Compared, view: View) -> list[str]:
    """Why there are tokens without a score."""
    lines = []
    if not result.allowed.all():
        numbers = np.flatnonzero(~result.allowed) + 1
        lines.append(f"no score    tokens {numbers[0]} to {numbers[-1]}: forbidden by causality")
    distinct = len(set(result.blocks)) if isinstance(result, TokensResult) else result.block_count
    rank = result.rank[:distinct, result.allowed]
    if (rank == 0).any():
        lines.append(f"no score    {int((rank == 0).sum())} Jacobians are zero: out of sight")
    if (low := (rank > 0) & (rank < view.k)).any():
        least, most = rank[low].min(), rank[low].max()
        lines.append(
            f"no score    {int(low.sum())} Jacobians have a rank below K ({least} to {most})"
        )
    return lines


def _show_tokens(
    result: Compared,
    found: PositionScores,
    raw: np.ndarray,
    floor: np.ndarray,
    weight: np.ndarray,
) -> None:
    above = np.where(found.itself, np.nan, found.corrected)
    columns = [
        list(map(weighted_mean, values, weighs))
        for values, weighs in (
            (raw, weight),
            (floor, weight),
            (above, weight),
            (above.T, weight.T),
        )
    ]
    rows = [
        (str(i + 1), _short(text), *(_number(values[i]) for values in columns))
        for i, text in enumerate(result.tokens)
    ]
    titles = ("token", "text", "c", "chance", "corrected", "corrected as basis")
    print_table(titles, rows, right=True)


def _show_distances(found: PositionScores) -> None:
    by = by_distance(found)
    numbers = (by.mean, by.spread, by.low, by.high)
    rows = [
        (str(d), *(f"{values[i]:z.3f}" for values in numbers), str(by.pairs[i]))
        for i, d in enumerate(by.distance)
    ]
    print_table(("distance", "mean", "spread", "lowest", "highest", "pairs"), rows, right=True)


def _short(text: str) -> str:
    shown = visible(text)
    return cut(shown, SHOWN)


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:z.3f}"
