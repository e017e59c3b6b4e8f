"""What if: what edits of a model's depth do to what it says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from coupling_core.base.edits import parse_edit
from coupling_core.base.errors import InputError
from coupling_core.base.figure_names import WhatifFigure
from coupling_core.base.results.base import Result
from coupling_core.base.units import counted, ranges


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WhatIfResult(Result[WhatifFigure]):
    """Edits of a model's depth, and their effects by token of one prompt.

    An outcome is what the model says at a token; of a picture whose classes are told apart there is
    one in all. What is not measured yet (a partial result), or cannot be, is NaN.

    Args:
        edits: as they are spelled (see `coupling_core.base.edits`).
        refused: why an edit has no effect that could be told, by its spelling.
        measured_of: `tokens` (the distributions over the next token; of a masked model, over each
            token), `classes` (of a picture) or `states` (a model without a head).
        divergence: KL(original || edited) in nats; of `states`, the distance of the last states
            relative to the norm of the original's.
        loss: change of the loss of the text's next token, in nats; NaN where there is none.
        stays: 1 where the most likely next token stays the most likely, else 0; NaN of `states`.
        own_loss: the original's loss of the text's next token, in nats.
        exchange_true: norm of the change of x^{l+1} when blocks l and l + 1 are interchanged, in
            units of norm(x^{l+1}).
        exchange_predicted: the same of what first order predicts, J^{l+1} f^l - J^l f^{l+1}.
        exchange_cosine: of the angle between the two changes.
        no_prediction: why there is none, by l.
    """

    edits: tuple[str, ...]
    refused: Mapping[str, str]
    measured_of: str
    divergence: Float[np.ndarray, "edit outcome"]
    loss: Float[np.ndarray, "edit outcome"]
    stays: Float[np.ndarray, "edit outcome"]
    own_loss: Float[np.ndarray, " outcome"]
    exchange_true: Float[np.ndarray, "neighbour token"]
    exchange_predicted: Float[np.ndarray, "neighbour token"]
    exchange_cosine: Float[np.ndarray, "neighbour token"]
    no_prediction: Mapping[str, str]

    axis_names: ClassVar = {"edit": "edits"}

    @property
    def complete(self) -> bool:
        """Whether every edit was run, or is refused."""
        missing = np.isnan(self.divergence).any(1)
        return all(self.edits[at] in self.refused for at in np.flatnonzero(missing))

    @property
    def measured(self) -> str:
        """That edits were measured, and over what."""
        return self._under_edits(counted(len(self.tokens), "token"))

    def measured_over(self, tokens: Sequence[int]) -> str:
        """The same, over some tokens alone."""
        which = "token" if len(tokens) == 1 else "tokens"
        return self._under_edits(f"{which} {ranges(sorted(tokens))} of {len(self.tokens)}")

    def _under_edits(self, over: str) -> str:
        return f"under {counted(len(self.edits), 'edit')} of its depth, over {over}"

    @property
    def unit(self) -> str:
        """What effects are measured in."""
        return "relative distance" if self.measured_of == "states" else "nats"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why edits cannot be run, each reason once."""
        return tuple(dict.fromkeys(self.refused.values()))

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        n, outcomes = len(self.tokens), self.divergence.shape[1]
        return {
            "an edit of it cannot be read": all(map(_is_edit, self.edits)),
            "it refuses an edit that it does not have": set(self.refused) <= set(self.edits),
            "it measures what no model gives": self.measured_of in ("tokens", "classes", "states"),
            "it has outcomes at no token": outcomes == (1 if self.measured_of == "classes" else n),
        }


def _is_edit(text: str) -> bool:
    try:
        return str(parse_edit(text)) == text
    except InputError:
        return False
