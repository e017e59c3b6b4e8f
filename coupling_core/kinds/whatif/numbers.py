"""The numbers of a measurement of edits."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.effects import effect_maps, mean_effects
from coupling_core.base.edits import DAMPED, parse_edit
from coupling_core.base.numbers import Column, Number, median, tokens
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

BLOCK, PAIR = ("block",), ("slot", "block")
derive = effect_maps
"""Of the effects as curves by block and maps over pairs."""


def _between(values: np.ndarray) -> float:
    """The median over blocks, or over pairs of different ones."""
    return median(values if values.ndim == 1 else values[~np.eye(len(values), dtype=bool)])


def _effect(name: str, what: str, dims: tuple[str, ...], title: str) -> Number:
    """The mean effect of an edit of each block or pair, and its median."""
    column = Column(title, _between, f"{name}_kl", ideal=0.0, ideal_name="no effect")
    return Number(name, f"mean effect of {what}", dims, column=column)


NUMBERS = (
    _effect("skip", "skipping a block", BLOCK, "Median effect of skipping a block (nats)"),
    Number("repeat", "mean effect of running a block twice", BLOCK),
    Number("damp", "mean effect of multiplying what a block adds by a factor", ("factor", "block")),
    _effect(
        "replace",
        "running a block in the slot of another; NaN where it cannot be",
        PAIR,
        "Median effect of a block in place of another (nats)",
    ),
    _effect(
        "interchange",
        "interchanging two blocks; NaN where they cannot be",
        PAIR,
        "Median effect of interchanging two blocks (nats)",
    ),
    Number("divergence", "KL of the next-token distribution from the model's own, in nats"),
    Number("loss", "how much the loss on the next token rises, in nats"),
    Number("stays", "whether the likeliest next token stays the same"),
    Number("own_loss", "the model's own loss on the next token, in nats"),
    Number("exchange_true", "how far exchanging neighbours moves the state"),
    Number("exchange_predicted", "how far first order says that it does"),
    Number("exchange_cosine", "cosine of the two changes"),
    Number("edits", "the edits as they are written", ("edit",)),
    Number("blocks", "l, 1 to L", BLOCK, lambda seen: np.arange(1, seen.result.n_blocks + 1)),
    Number(
        "factors", "what is multiplied by where a block is damped", ("factor",), lambda _: DAMPED
    ),
    *tokens(),
)

ABOUT = {
    "edit": "the edit as it is written: skip(1), interchange(2,3)",
    "verb": "what it does: skip, repeat, damp, replace or interchange",
    "slot": "the place in depth that it changes: the first of its blocks",
    "block": "the other one that it names: which runs in the slot, or is exchanged with it",
    "factor": "of damp: what the block adds is multiplied by it",
    "refused": "why the edit could not be run; empty where it could",
    "measured_of": "of what the effect is measured: tokens, classes or states",
    "unit": "of the effect",
    "averaged_over": "the tokens over which it is averaged",
    "no_prediction": "which neighbours first order says nothing of, and why",
}
"""What else tables and JSON have, by name."""


def table(result: WhatIfResult, view: EffectView) -> "DataFrame":
    """What each edit does, on average over the tokens of the view: a row an edit."""
    from pandas import DataFrame

    edits = [parse_edit(text) for text in result.edits]
    means = {name: mean_effects(result, view, name) for name in ("divergence", "loss", "stays")}
    return DataFrame(
        {
            "edit": result.edits,
            "verb": [edit.verb for edit in edits],
            "slot": [edit.blocks[0] for edit in edits],
            "block": [edit.blocks[-1] for edit in edits],
            "factor": [edit.factor if edit.verb == "damp" else np.nan for edit in edits],
            **means,
            "refused": [result.refused.get(text, "") for text in result.edits],
        }
    )
