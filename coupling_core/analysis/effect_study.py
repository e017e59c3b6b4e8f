"""Coupling and effects of edits of two blocks over many prompts: small enough to ship."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.coupling_effect import (
    INNER,
    LEAST_BLOCKS,
    CouplingEffect,
    PairEdit,
    correlated,
    require_same_prompt,
)
from coupling_core.analysis.effects import effect_maps
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import EffectView, View
from coupling_core.base.results import DepthResult, WhatIfResult

ARRAYS = ("coupling", "interchange", "replace")
"""The numbers of a study, by name."""


@dataclass(frozen=True)
class EffectStudy:
    """Chance-corrected scores at `k` and mean effects in nats of many prompts; NaN is no number.

    The rows of `replace` are slots, its columns the blocks that run there.
    """

    prompts: tuple[str, ...]
    k: int
    coupling: Float[np.ndarray, "prompt block block"]
    interchange: Float[np.ndarray, "prompt block block"]
    replace: Float[np.ndarray, "prompt block block"]

    def correlated(self, edit: PairEdit, *, inner: bool = False) -> CouplingEffect:
        """How coupling goes with the effect of an edit; `inner` is of blocks 3..L-2 alone."""
        return correlated(self.coupling, getattr(self, edit), edit, inner=inner, k=self.k)

    def correlations(self, edit: PairEdit) -> tuple[CouplingEffect, ...]:
        """The same over all blocks, and over the inner ones if there are enough."""
        has_inner = self.coupling.shape[1] - 2 * INNER >= LEAST_BLOCKS
        return tuple(self.correlated(edit, inner=of) for of in (False, True)[: 1 + has_inner])


def study_of(
    measured: Iterable[tuple[DepthResult, WhatIfResult]], k: int, view: EffectView | None = None
) -> EffectStudy:
    """The coupling and the edits of one model's prompts, effects averaged over a view's tokens."""
    prompts, rows = [], []
    for depth, effects in measured:
        require_same_prompt(depth, effects)
        maps, scores = effect_maps(effects, view), score_pairs(depth, View(k=k))
        prompts.append(effects.prompt_text)
        rows.append((scores.corrected, maps.interchange, maps.replace))
    named = (np.stack(arrays).astype(np.float32) for arrays in zip(*rows, strict=True))
    return EffectStudy(tuple(prompts), k, *named)
