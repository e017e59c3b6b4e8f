"""How far what a model says at one token is from what it said, and of which tokens it says more.

With p of the model itself, q of the changed one, and delta the change of the logits:

    log q - log p = delta - log sum p e^delta = delta - mean - KL(p || q),   mean = sum p delta

which is 0 to the bit where the logits are the same (see `engine.edits.divergence`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from coupling_core.base.errors import InputError
from coupling_core.engine.edits.divergence import divergence_of
from coupling_core.engine.edits.effects import Effects, Measured
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.jacobians.unembedding import SAME, Tail, own_tail

TOP = 5
"""Tokens that are named of those that rise most, and of those that fall."""
AT_ONCE = 2**22
"""Logits taken at a time in float64: 32 MB for each of a few copies."""


@dataclass(frozen=True)
class Changes:
    """What changed states do to what a model says at one token, by sequence.

    Args:
        divergence: KL(own || changed) in nats; without a head, the distance of the last states at
            this token, relative to the norm of the model's own.
        ids: of the tokens (or classes) whose log-probability rises most (sign 0) and falls most;
            none without a head.
        change: of their log-probabilities, in nats.
    """

    divergence: Float[Tensor, " sequence"]
    ids: Int[Tensor, "sequence sign top"]
    change: Float[Tensor, "sequence sign top"]


class Outcomes:
    """Compares what states behind the last block come to with what the model itself said.

    Args:
        replays: of the model's blocks.
        token: at which it is asked, 1..n; of a picture whose classes are told apart, it has no
            part in it.
    """

    def __init__(self, replays: Replays, token: int) -> None:
        self._replays, self._token = replays, token
        self.measured: Measured = Effects(replays).measured
        """What is compared: next tokens, classes, or the last states themselves."""
        self._alone, self._say = self._ways()
        self._own = self.said(replays.states[-1:])[0]
        if self.measured != "states":
            self._log_p = self._own.double().log_softmax(-1)
            self._p = self._log_p.exp()

    def said(self, states: Float[Tensor, "sequence token d"]) -> Float[Tensor, "sequence v"]:
        """The logits at the token; without a head, the last states at it."""
        with torch.no_grad():
            if self.measured == "states":
                return states[:, self._token - 1]
            many = 1 if self._alone else max(1, AT_ONCE // self._per_sequence)
            return torch.cat([self._say(part) for part in states.split(many)])

    def of(self, states: Float[Tensor, "sequence token d"]) -> Changes:
        """What states behind the last block do."""
        return self.compared(self.said(states))

    def unchanged(self) -> Changes:
        """What no change does: nothing, to the bit."""
        return self.compared(self._own[None])

    def compared(self, said: Float[Tensor, "sequence v"]) -> Changes:
        """What is said, held against what the model itself said.

        Raises:
            InputError: where float32 has no number for it.
        """
        if not said.isfinite().all():
            raise InputError(
                "behind the changed states the model has numbers that float32 does not hold: give "
                "a smaller size"
            )
        if self.measured == "states":
            apart = (said.double() - self._own.double()).norm(dim=-1) / self._own.double().norm()
            none = said.new_zeros(len(said), 2, 0)
            return Changes(apart, none.long(), none.double())
        parts = said.split(max(1, AT_ONCE // said.shape[-1]))
        return joined([self._of_logits(part) for part in parts])

    def log_changes(
        self, said: Float[Tensor, "sequence v"]
    ) -> tuple[Float[Tensor, "sequence v"], Float[Tensor, " sequence"]]:
        """The change of every token's log-probability, and KL(own || changed)."""
        delta = said.double() - self._own.double()
        divergence, mean = divergence_of(self._log_p[None], self._p[None], delta[:, None])
        return delta - mean - divergence, divergence[:, 0]

    def _of_logits(self, said: Float[Tensor, "sequence v"]) -> Changes:
        change, divergence = self.log_changes(said)
        count = min(TOP, change.shape[1])
        ids = torch.stack([(sign * change).topk(count, 1).indices for sign in (1, -1)], 1)
        return Changes(divergence, ids, change.gather(1, ids.flatten(1)).reshape(ids.shape))

    @property
    def _per_sequence(self) -> int:
        """Logits that one sequence has while its tail runs."""
        n = self._replays.states.shape[1]
        vocabulary = self._tail.output.logits.shape[-1]
        return vocabulary if self._is_one_token else n * vocabulary

    def _ways(self) -> tuple[bool, Callable[[Tensor], Tensor]]:
        """Whether the tail takes one sequence at a time, and what it makes of some.

        It is run over the one token where that gives the same, since a head over a vocabulary takes
        as long as several blocks.
        """
        reader = self._replays.reader
        self._tail = whole = own_tail(reader.runner, reader.ids)
        self._is_one_token = False
        if self.measured != "tokens":
            return whole.alone, lambda states: _on(whole.of(states).logits)
        at = slice(self._token - 1, self._token)
        last = self._replays.states[-1:]
        one = own_tail(reader.runner, reader.ids[:, at])
        if not whole.alone and _same(one, last[:, at], whole.of(last).logits[:, at]):
            self._is_one_token = True
            return False, lambda states: _on(one.of(states[:, at]).logits[:, 0])
        return whole.alone, lambda states: _on(whole.of(states).logits[:, at.start])


def joined(parts: list[Changes]) -> Changes:
    """Changes one after the other."""
    return Changes(
        *(torch.cat(each) for each in zip(*(vars(p).values() for p in parts), strict=True))
    )


def _same(tail: Tail, states: Tensor, wanted: Tensor) -> bool:
    found = tail.of(states).logits
    return found.shape == wanted.shape and bool((found - wanted).norm() <= SAME * wanted.norm())


def _on(logits: Tensor) -> Tensor:
    return logits.to(algebra_device(logits.device))
