"""Captions and alternative texts of the figures of tokens."""

import numpy as np

from coupling_core.analysis.token_scores import (
    ByDistance,
)
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.base.units import counted, rounded
from coupling_core.figures import style
from coupling_core.figures.words import spectrum_words, subject

Compared = TokensResult | TokenMeansResult


def spectrum_alt(result: TokensResult, view: View) -> str:
    """What the singular values look like, in numbers."""
    s = result.singular_values[0]
    text = (
        f"Singular values of the Jacobians of block {result.blocks[0]} at "
        f"{counted(int(result.allowed.sum()), 'token')}, {subject(result)}, by index on a log "
        "axis, a line a token."
    )
    if np.isnan(s).all():
        return text + " None is measured yet."
    return text + spectrum_words(s, view.k)


def spectrum_caption(result: TokensResult, lines: int) -> str:
    """How the singular values are read, and of how many tokens."""
    every = int(result.allowed.sum())
    some = f" {lines} of {every} tokens are drawn." if lines < every else ""
    return (
        f"Singular values of block {result.blocks[0]}'s Jacobian at each token, largest first. A "
        "line that ends has reached its rank: what comes from another token passes through the "
        "attention heads only." + some
    )


def distance_alt(result: Compared, view: View, found: ByDistance, is_corrected: bool) -> str:
    """What the curve shows, with its ends."""
    text = (
        f"Mean {style.score_name(is_corrected).lower()} ({style.score_terms(view)}) of two tokens "
        f"against their distance, {subject(result)}, with one standard deviation and the lowest "
        "and the highest."
    )
    if not found.distance.size:
        return text + " No pair has a score yet."
    first, last = rounded(found.mean[0]), rounded(found.mean[-1])
    near, far = found.distance[0], found.distance[-1]
    return f"{text} It is {first} at distance {near} and {last} at distance {far}."


def distance_caption(is_corrected: bool) -> str:
    """How the curve is read."""
    zero = " 0 is what an unrelated basis gives." if is_corrected else ""
    return (
        "The whole prompt: mean score of all pairs of tokens that lie so far apart. The band is "
        f"one standard deviation, the dashed lines the lowest and the highest pair.{zero} Far "
        "distances have few pairs."
    )
