"""How far what an edited model says is from what the model itself says, token by token.

By KL(p || q) of the next-token distributions, p of the model itself and q of the edited one (see
`divergence`). With z their logits, the loss of a text's next token t changes by

    KL + sum p delta - delta_t,      delta = z_q - z_p.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.engine.edits.divergence import Divergences
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.jacobians.unembedding import SAME, own_tail
from coupling_core.engine.matrix_products import FastLinear
from coupling_core.engine.out_of_memory import Chunks

Measured = Literal["tokens", "classes", "states"]
"""What an effect is taken of: the next-token distributions (of a masked model, each token's own),
the classes of a picture, or the last states where a model has no head."""

LOGITS = 2**24
"""Logits taken at a time: 64 MB in float32."""


@dataclass(frozen=True)
class Effect:
    """What an edit does, by token; of the classes of a picture, one number each.

    Args:
        divergence: KL in nats; without a head, the distance of the last states, relative to the
            norm of the model's own.
        loss: change of the loss of the text's next token, in nats; NaN where there is none.
        stays: 1 where the most likely next token, or class, stays, else 0; NaN without a head.
    """

    divergence: Float[Tensor, " position"]
    loss: Float[Tensor, " position"]
    stays: Float[Tensor, " position"]

    @property
    def is_sound(self) -> bool:
        """Whether the edited model gave numbers at all."""
        return bool(torch.isfinite(self.divergence).all())


class Effects:
    """Measures what states at the end of an edited model come to.

    Args:
        replays: of the model's blocks.
        with_norm: whether the final norm belongs to the last state, where there is no head.
    """

    def __init__(self, replays: Replays, *, with_norm: bool = True) -> None:
        self._replays = replays
        self._tail = tail = own_tail(replays.reader.runner, replays.reader.ids)
        norm = replays.reader.kind.final_norm
        self._norm = norm if with_norm and norm is not None else (lambda states: states)
        self.measured: Measured = self._kind()
        """What the effects are taken of."""
        self._targets = self._next_tokens()
        self._own = self.says(replays.states[-1:])
        at_once = 1 if tail.alone else max(1, LOGITS // self._own[0].numel())
        self._chunks = Chunks(min(at_once, replays.at_once))
        if self.measured != "states":
            self._divergences = Divergences(self._own[0])

    @property
    def at_once(self) -> int:
        """How many last states are best handed over together."""
        return self._chunks.size

    def unedited(self) -> Effect:
        """The effect of no edit: its logits are the model's own."""
        return self._compared(self._own)[0]

    def own_loss(self) -> Float[Tensor, " position"]:
        """The model's own loss of the text's next token, in nats; NaN where there is none."""
        found = torch.full_like(self._compared(self._own)[0].loss, torch.nan)
        if self._targets is not None:
            found[:-1] = self._divergences.surprise(self._targets)
        return found

    def of(self, states: Float[Tensor, "edit token d"]) -> Iterator[Effect]:
        """The effect of each edit, from the states behind its last block."""
        for _, found in self._chunks.of(lambda part: self._measured(states[part]), len(states)):
            yield from found

    def _measured(self, states: Float[Tensor, "edit token d"]) -> list[Effect]:
        return self._compared(self.says(states))

    def _kind(self) -> Measured:
        reader, own = self._replays.reader, self._tail.output
        if not reader.runner.reads_tokens:
            logits = getattr(own, "logits", None)
            return "classes" if isinstance(logits, Tensor) and logits.ndim == 2 else "states"
        logits = reader.runner.next_token(own)
        if logits is None or logits.shape[1] != self._replays.states.shape[1]:
            return "states"
        again = self._tail.of(self._replays.states[-1:]).logits
        return "tokens" if (again - logits).norm() <= SAME * logits.norm() else "states"

    def _next_tokens(self) -> Tensor | None:
        """The ids of tokens 2..n, where the model says what comes next; else None."""
        reader = self._replays.reader
        if self.measured != "tokens" or not reader.kind.causal or reader.runner.given:
            return None
        return reader.ids[0, 1:].to(algebra_device(reader.device))

    def says(self, states: Float[Tensor, "edit token d"]) -> Float[Tensor, "edit position v"]:
        """What is compared: logits, or the last states themselves."""
        with torch.no_grad(), FastLinear():
            if self.measured == "states":
                found = self._norm(states)
            else:
                found = self._tail.of(states).logits
                found = found[:, None] if self.measured == "classes" else found
        return found.to(algebra_device(found.device))

    def _compared(self, found: Float[Tensor, "edit position v"]) -> list[Effect]:
        if self.measured == "states":
            return [_distance(one, self._own[0]) for one in found]
        divergence, mean = self._divergences.of(found)
        stays = (found.argmax(-1) == self._divergences.top).double()
        loss = torch.full_like(divergence, torch.nan)
        if self._targets is not None:
            rows = torch.arange(len(self._targets), device=found.device)
            moved = found[:, rows, self._targets].double() - self._own[0, rows, self._targets]
            loss[:, :-1] = divergence[:, :-1] + mean[:, :-1] - moved
        return [Effect(*rows) for rows in zip(divergence, loss, stays, strict=True)]


def _distance(found: Float[Tensor, "token d"], own: Float[Tensor, "token d"]) -> Effect:
    found, own = found.double(), own.double()
    apart = (found - own).norm(dim=-1) / own.norm(dim=-1)
    none = torch.full_like(apart, torch.nan)
    return Effect(apart, none, none)
