"""What a model says of a text once blocks of it are left out: its loss, and how far that is off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coupling_core.base.edits import Removal
from coupling_core.base.errors import ComputeError, refuse
from coupling_core.engine.edits.effects import Effect, Effects
from coupling_core.engine.edits.obstacles import Obstacles
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.edits.running import run_edits
from coupling_core.engine.jacobians.decode import Reader
from coupling_core.engine.loading import class_name

ROWS = 256
"""Tokens that a block runs at once: enough for a product to be fast, and cheap to try out."""


@dataclass(frozen=True)
class Judged:
    """What removals do to one text.

    Args:
        loss: sum of the loss over its tokens from the second on, in nats.
        divergence: mean of KL(original || shortened) over its tokens, in nats.
    """

    loss: Float[np.ndarray, " removal"]
    divergence: Float[np.ndarray, " removal"]


class Text:
    """A text as a model reads it, to be read again by shorter ones.

    Args:
        reader: the model and the text.

    Raises:
        InputError: where the model tells no next token, or the text has none.
    """

    def __init__(self, reader: Reader) -> None:
        self._replays = Replays(reader, max(1, ROWS // max(1, reader.n_tokens)))
        self._effects = Effects(self._replays)
        own = self._effects.own_loss()[:-1]
        refuse(
            (
                not own.numel(),
                "a text of one token has no next token to be told: give longer ones",
            ),
            (
                not torch.isfinite(own).all(),
                f"{class_name(reader.runner.model)} has no loss of the next token, by which blocks "
                "are judged: expected a causal language model with its head",
            ),
        )
        self.own_loss = float(own.sum())
        """Sum of the model's own loss over the tokens from the second on, in nats."""
        self.predicted = own.numel()
        """How many tokens that is."""

    @property
    def states(self) -> Float[np.ndarray, "state token d"]:
        """x^0 .. x^L of the model as it is."""
        return self._replays.states.double().cpu().numpy()

    @property
    def nbytes(self) -> int:
        """About what it holds in memory."""
        n, d = self._replays.states[0].shape
        config: Any = self._replays.reader.runner.model.config
        vocabulary = getattr(config.get_text_config(), "vocab_size", 0)
        return 8 * n * (3 * vocabulary + 8 * d * (self._replays.n_blocks + 1))

    def obstacle(self) -> str:
        """Why a block cannot run on other states than its own; "" where all can."""
        obstacles, L = Obstacles(self._replays), self._replays.n_blocks
        tried = (Removal((1,)), Removal((2,), tied=True)) if L > 1 else ()
        return next((why for removal in tried if (why := obstacles.of(removal))), "")

    def judged(self, removals: Sequence[Removal]) -> Judged:
        """What removals do, as many together as memory allows."""
        found = np.full((2, len(removals)), np.nan)

        def keep(number: int, effect: Effect) -> None:
            if not effect.is_sound:
                gone = ", ".join(map(str, removals[number].blocks))
                raise ComputeError(
                    f"without the blocks {gone} the model gives no finite numbers: remove fewer"
                )
            change = effect.loss[:-1].double().sum()
            found[:, number] = self.own_loss + float(change), float(effect.divergence.mean())

        run_edits(self._replays, self._effects, removals, keep)
        return Judged(*found)


def text_loss(model: nn.Module, ids: Int[Tensor, "1 token"]) -> float:
    """Sum over the tokens from the second on of a model's loss, in nats, as it is called plainly.

    The model is in evaluation mode.
    """
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0, :-1].double()
    return float(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum"))
