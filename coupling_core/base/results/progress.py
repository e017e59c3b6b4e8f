"""Where a running measurement stands."""

from dataclasses import dataclass
from typing import Literal

from coupling_core.base.results.base import Result

BEGINNING = ("downloading", "converting", "loading")
"""Stages before the model is there."""
Stage = Literal[
    "downloading", "converting", "loading", "tracing", "blocks", "tokens", "rows", "edits",
    "products", "noise", "training", "saving",
]  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """Where a running measurement stands.

    Args:
        stage: what is being done.
        done: finished blocks, tokens, edits, products, ways of noise, steps; while downloading,
            bytes that arrived.
        total: of them in all, 0 while that is not known.
        partial: the result so far, NaN where it is not finished; None before there is any.
        note: what people should know before this step begins; told once.
    """

    stage: Stage
    done: int = 0
    total: int = 0
    partial: Result | None = None
    note: str = ""
