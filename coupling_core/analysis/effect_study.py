"""Coupling and the effects of edits of one model over many prompts, side by side.

What `coupling_effect` is computed from, and small enough to come with the program: means over the
tokens of a prompt, by block and by pair of blocks.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.coupling_effect import (
    CouplingEffect,
    PairEdit,
    correlated,
    require_same_prompt,
)
from coupling_core.analysis.effects import effect_maps
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.equality import SameContent
from coupling_core.base.records import EffectView, View
from coupling_core.base.results import DepthResult, WhatIfResult

Measured = tuple[DepthResult, WhatIfResult]
"""The coupling and the edits of one prompt."""
EVERY = EffectView()
"""Effects averaged over all tokens."""


@dataclass(frozen=True, eq=False)
class EffectStudy(SameContent):
    """Many prompts of one model; NaN where there is no number.

    Args:
        prompts: as they were measured.
        k: of the coupling.
        coupling: chance-corrected scores, by definition `paper`.
        interchange: KL in nats, mean over the tokens; symmetric.
        replace: the same; row: the slot, column: the block that runs there.
        skip: the same, of a block left out.
        repeat: of a block run twice.
        damp: of a block's residual map multiplied by a factor.
        true: relative change of the state where blocks l and l + 1 are interchanged, median over
            the tokens.
        predicted: the same to first order.
        cosine: of the angle between the two changes.
    """

    prompts: tuple[str, ...]
    k: int
    coupling: Float[np.ndarray, "prompt block block"]
    interchange: Float[np.ndarray, "prompt block block"]
    replace: Float[np.ndarray, "prompt block block"]
    skip: Float[np.ndarray, "prompt block"]
    repeat: Float[np.ndarray, "prompt block"]
    damp: Float[np.ndarray, "prompt factor block"]
    true: Float[np.ndarray, "prompt neighbour"]
    predicted: Float[np.ndarray, "prompt neighbour"]
    cosine: Float[np.ndarray, "prompt neighbour"]

    @property
    def n_blocks(self) -> int:
        """L."""
        return self.skip.shape[1]

    def correlated(self, edit: PairEdit, *, inner: bool = False) -> CouplingEffect:
        """How coupling goes with the effect of an edit; `inner` is of blocks 3..L-2 alone."""
        return correlated(self.coupling, getattr(self, edit), edit, "", self.k, inner=inner)


ARRAYS = tuple(field.name for field in fields(EffectStudy) if field.name not in ("prompts", "k"))
"""The numbers of a study, by name."""


def study_of(measured: Iterable[Measured], k: int, view: EffectView = EVERY) -> EffectStudy:
    """One model's results of each prompt together, effects averaged over a view's tokens."""
    pairs = list(measured)
    for depth, effects in pairs:
        require_same_prompt(depth, effects)
    rows = [_row(depth, effects, k, view) for depth, effects in pairs]
    named = {name: np.stack([row[name] for row in rows]).astype(np.float32) for name in ARRAYS}
    return EffectStudy(tuple(effects.prompt_text for _, effects in pairs), k, **named)


def _row(
    depth: DepthResult, effects: WhatIfResult, k: int, view: EffectView
) -> dict[str, np.ndarray]:
    exchanged = {
        name: _median(getattr(effects, f"exchange_{name}"))
        for name in ("true", "predicted", "cosine")
    }
    coupling = score_pairs(depth, View(k=k)).corrected
    return {"coupling": coupling, **effect_maps(effects, view).arrays, **exchanged}


def _median(values: Float[np.ndarray, "neighbour token"]) -> Float[np.ndarray, " neighbour"]:
    """Over the tokens that have a number."""
    known = np.isfinite(values).any(1)
    found = np.full(len(values), np.nan)
    found[known] = np.nanmedian(values[known], axis=1)
    return found
