"""How long a measurement will take, said before it begins where that grows with a square."""

from coupling_core.base.units import about
from coupling_core.cli.terminal import say
from coupling_core.measuring.measure import find_stored
from coupling_core.sources.resolved import Resolved
from coupling_core.store.disk import Store

SHORT = 20.0
"""Seconds that need no word."""


def forewarn(asked: Resolved, store: Store) -> None:
    """Say about how long the mean over all pairs of blocks takes a processor, if not stored."""
    if find_stored(asked, store) is not None:
        return
    from coupling_core.measuring.cost import machine_rates, predict_seconds  # torch
    from coupling_core.measuring.probe import probe

    found = probe(asked)
    if found.refusal or not found.blocks:
        return
    seconds = predict_seconds(asked.request, found, asked.n_tokens, machine_rates())
    if seconds is not None and seconds > SHORT:
        say(
            f"all pairs of {found.blocks} blocks and of {asked.n_tokens} tokens take "
            f"{about(seconds)} on this processor: it grows with the square of both, and --block "
            "takes one pair of blocks"
        )
