"""What edits of a model's depth do, by block and by pair of blocks, averaged over tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from coupling_core.base.drawing import Drawing, plot
from coupling_core.base.edits import DAMPED, parse_edit
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import Plottable, Table, in_a_line
from coupling_core.base.records import EffectView, resolve_token
from coupling_core.base.results import WhatIfResult
from coupling_core.base.units import counted, ranges

Number = Literal["divergence", "loss", "stays"]


@dataclass(frozen=True, repr=False)
class EffectMaps(Plottable[str]):
    """One number of all edits of a measurement; NaN where an edit cannot be run, or was not yet.

    Its table has a row an edit: edit (as it is spelled), verb, slot, block, factor, the number, and
    refused (why there is none).

    Args:
        skip: by block.
        repeat: by block.
        damp: by factor (those of `DAMPED`) and block.
        replace: row: the slot; column: the block that runs there. 0 where that is its own.
        interchange: of two blocks; symmetric, 0 on the diagonal.
        result: the measurement.
        view: over which tokens they are averaged.
        number: which of its numbers they are.
    """

    skip: Float[np.ndarray, " block"]
    repeat: Float[np.ndarray, " block"]
    damp: Float[np.ndarray, "factor block"]
    replace: Float[np.ndarray, "slot block"]
    interchange: Float[np.ndarray, "slot block"]
    result: WhatIfResult = field(repr=False, compare=False)
    view: EffectView = field(repr=False)
    number: Number

    def __repr__(self) -> str:
        ends = tokens = ""
        if np.isfinite(self.skip).any():
            at = (int(np.nanargmin(self.skip)), int(np.nanargmax(self.skip)))
            least, most = (f"{self.skip[i]:.3g} (block {i + 1})" for i in at)
            ends = f"{self.number} where a block is skipped {least} to {most}"
        if self.view.tokens:
            tokens = f"tokens {ranges((positions(self.result, self.view) + 1).tolist())}"
        return in_a_line(self, self.result.whose, counted(len(self.skip), "block"), tokens, ends)

    @property
    def arrays(self) -> Mapping[str, Float[np.ndarray, "*any"]]:
        """The maps and curves by name."""
        names = ("skip", "repeat", "damp", "replace", "interchange")
        return {name: getattr(self, name) for name in names}

    @property
    def verdict(self) -> str:
        """Which block is missed least and most, and what it costs to exchange two."""
        return self.result.verdict_in(self.view, self.number)

    def _table(self) -> Table:
        whole = self.result.part("numbers").table(self.result, self.view)
        columns = ["edit", "verb", "slot", "block", "factor", self.number, "refused"]
        return whole[columns], self.result.attributes()

    def plot(self, figure: str = "", **options: Any) -> Drawing:
        """A map over pairs of blocks, "interchange" or "replace", or the curves by block, "blocks".

        "" is the first; options are of the figure. `InputError` on another name, or where these are
        not divergences.
        """
        if self.number != "divergence":
            raise InputError(
                f"figures are drawn of the divergence, and these maps are of {self.number}: leave "
                "number= out, or take to_pandas()"
            )
        return plot(self.result, self.view, figure, **options)


def effect_maps(
    result: WhatIfResult, view: EffectView | None = None, number: Number = "divergence"
) -> EffectMaps:
    """The effects of all edits as curves by block and maps over pairs.

    Args:
        result: may be partial.
        view: over which tokens they are averaged; None is all.
        number: KL in nats (or the distance of the last states), the change of the text's loss, or
            the share of tokens whose most likely next token stays.

    Raises:
        InputError: where the prompt has no such token.
    """
    view = EffectView() if view is None else view
    L, means = result.n_blocks, mean_effects(result, view, number)
    shapes = {"skip": (L,), "repeat": (L,), "damp": (len(DAMPED), L)}
    shapes |= {"replace": (L, L), "interchange": (L, L)}
    arrays = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    own = 1.0 if number == "stays" else 0.0
    np.fill_diagonal(arrays["replace"], own)
    np.fill_diagonal(arrays["interchange"], own)
    for text, mean in zip(result.edits, means, strict=True):
        edit = parse_edit(text)
        factor = (DAMPED.index(edit.factor),) if edit.verb == "damp" else ()
        at = (*factor, *(block - 1 for block in edit.blocks))
        arrays[edit.verb][at] = mean
        if edit.verb == "interchange":
            arrays["interchange"][at[::-1]] = mean
    return EffectMaps(**arrays, result=result, view=view, number=number)


def mean_effects(
    result: WhatIfResult, view: EffectView, number: Number = "divergence"
) -> Float[np.ndarray, " edit"]:
    """One number of each edit, averaged over the tokens of the view.

    The text's last token has no next one, and so no loss: it is left out of that mean.
    """
    values = getattr(result, number)[:, positions(result, view)].astype(np.float64)
    if number == "loss":
        values = values[:, ~np.isnan(result.own_loss[positions(result, view)])]
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    return values.mean(1)


def positions(result: WhatIfResult, view: EffectView) -> Int[np.ndarray, " position"]:
    """Indices of the positions that a view averages over; of a picture's classes, the only one."""
    numbers = [resolve_token(token, len(result.tokens)) - 1 for token in view.tokens or ()]
    if not numbers or result.measured_of == "classes":
        return np.arange(result.divergence.shape[1])
    return np.array(numbers)
