"""How long pruning takes, estimated before it begins."""

from collections.abc import Sequence

from coupling_core.analysis.pruning.rankings import DRAWS, Ranking
from coupling_core.measuring.forecast import Probe

TRIED = 3.0
"""How many shortened models' worth of work it takes to read a text and try out its replays."""
OF_PEAK = 0.6
"""Of the rate of a large matrix product, what blocks reach on short texts."""


def shortened_models(
    by: Sequence[Ranking], removed: Sequence[int], n_blocks: int
) -> tuple[int, int]:
    """How many shortened models each text to rank on is read by, and each text to judge on."""
    greedy = sum(n_blocks - n for n in range(max(removed))) if "kl" in by else 0
    sets = sum(DRAWS if name == "random" else 2 for name in by)
    return greedy, sets * len(removed)


def seconds(
    found: Probe,
    by: Sequence[Ranking],
    removed: Sequence[int],
    tokens: tuple[int, int],
    rate: float,
) -> float:
    """Seconds of computing on a processor, without measuring the coupling.

    Args:
        found: what the model is; its blocks are known.
        by: the rankings.
        removed: how many blocks go.
        tokens: of all texts to rank on, and of all texts to judge on.
        rate: floating-point operations a second of a large product.
    """
    ranking, judging = shortened_models(by, removed, found.blocks or 1)
    read = tokens[0] * (ranking + TRIED) + tokens[1] * (judging + TRIED)
    return 2.0 * found.parameters * read / (OF_PEAK * rate)
