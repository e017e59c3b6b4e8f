"""`coupling tokens`: the coupling between the tokens of one prompt."""

from itertools import count
from typing import Annotated, Any

import numpy as np
import typer

from coupling_core.analysis.locality import by_distance
from coupling_core.analysis.token_scores import require_kept, score_positions
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import arrays_of
from coupling_core.base.records import TOKEN_K_VIEW, TokenKind, View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.base.results.scores import weighted_mean
from coupling_core.base.units import cut, ranges
from coupling_core.cli import options, reports
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import print_lines, print_table
from coupling_core.kinds.tokens.views import FIGURES
from coupling_core.sources.tokens import visible


def command(
    *,
    asked: options.Differentiating,
    kind: Annotated[
        TokenKind,
        typer.Option(
            help="self: each token with itself. fixed-input: one input token, every output. "
            "fixed-output: every input, one output token."
        ),
    ] = "self",
    block: Annotated[
        int | None,
        typer.Option(help="l, of the Jacobian; the mean over all pairs of blocks by default."),
    ] = None,
    other_block: Annotated[
        int | None, typer.Option(help="l', of the basis; the same by default.")
    ] = None,
    token: Annotated[
        int | None,
        typer.Option(
            help="The fixed one, 1..n or -1 for the last; by default, the first as input, the "
            "last as output."
        ),
    ] = None,
    scores: options.Scores,
    k_view: Annotated[int | None, options.k_view_option(TOKEN_K_VIEW)] = None,
    figure: str = "grid",
    output: options.Output,
) -> None:
    """Measure how far the Jacobians of two blocks share a basis across the tokens of a prompt."""
    if block is None:
        require_kept(scores.view())
        if why := FIGURES[figure].lacks(None):
            raise InputError(f"the figure {figure} {why}")
    ask = asked.request(
        kind, token=token, k=scores.k, k_view=k_view, block=block, other_block=other_block
    )
    shown = Shown(
        "tokens",
        asked.many,
        figure,
        {"corrected": scores.corrected},
        lambda result: scores.view(result.default_k),
        dots=scores.drawn,
    )
    answer(asked, ask, shown, output)


Compared = TokensResult | TokenMeansResult

SHOWN = 24
"""Characters of a token in the table."""


def summary(result: Compared, view: View) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    found = score_positions(result, view)
    return {
        **reports.of_view(result, view),
        "kind": result.request.kind,
        "token": result.token or None,
        "blocks": result.blocks if isinstance(result, TokensResult) else None,
        "positions": list(range(1, len(result.tokens) + 1)),
        "mean": found.mean().corrected,
        "coupling": found.coupling,
        "chance": found.chance,
        "corrected": found.corrected,
        "by_distance": arrays_of(by_distance(found)),
        "rank": result.rank,
        "certified": [[c and c.certified for c in row] for row in result.certificates],
    }


def facts(result: Compared, view: View) -> dict[str, object]:
    """What was compared, and why some tokens have no score."""
    distinct = len(set(result.blocks)) if isinstance(result, TokensResult) else result.block_count
    rank = result.rank[:distinct, result.allowed]
    zero, low = (rank == 0).sum(), ((rank > 0) & (rank < view.k)).sum()
    forbidden = ranges((np.flatnonzero(~result.allowed) + 1).tolist())
    return {
        "compared": f"{result.request.kind}, {result.measured}",
        "no score": [
            f"tokens {forbidden}: forbidden by causality" if forbidden else "",
            f"{zero} Jacobians are zero: out of sight" if zero else "",
            f"{low} Jacobians have a rank below K" if low else "",
        ],
    }


def tables(result: Compared, view: View) -> None:
    """Print a line a token, and a line a distance."""
    found = score_positions(result, view)
    above, weight = found.corrected, np.where(np.isnan(found.coupling), 0, found.weights)
    pairs = (
        (found.coupling, weight),
        (found.chance, weight),
        (above, weight),
        (above.T, weight.T),
    )
    means = [list(map(weighted_mean, *pair)) for pair in pairs]
    texts = (cut(visible(text), SHOWN) for text in result.tokens)
    names = ("c", "chance", "corrected", "corrected as basis")
    titles = {"token": "d", "text": "", **dict.fromkeys(names, "z.3f")}
    print_table(titles, zip(count(1), texts, *means, strict=False))
    print_lines("", "By distance of the two tokens, chance-corrected:")
    by = by_distance(found)
    titles = {"distance": "d", **dict.fromkeys(("mean", "spread", "lowest", "highest"), "z.3f")}
    numbers = by.distance, by.mean, by.spread, by.low, by.high, by.pairs
    print_table(titles | {"pairs": "d"}, zip(*numbers, strict=True))
