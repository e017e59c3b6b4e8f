"""The paths of all tokens through depth, measured: states, entropies, linearised errors."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.engine.jacobians.decode import Reader, decode
from coupling_core.engine.jacobians.linearised_path import LinearisedErrors, linearised_errors
from coupling_core.engine.jacobians.unembedding import logit_entropy


@dataclass(frozen=True)
class Paths:
    """One forward pass over a prompt.

    Args:
        states: x^0 .. x^L, the last one normed where the final norm belongs to the last block.
        entropy: of the logits that each state would give, in nats; all NaN without a head.
        no_entropy: why there is none; empty where there is.
        final_norm: the norm that belongs to the last block, where it does.
    """

    states: Float[Tensor, "state token d"]
    entropy: Float[Tensor, "state token"]
    no_entropy: str
    final_norm: nn.Module | None


def walk(reader: Reader, *, final_norm: bool = True) -> Paths:
    """Run a prompt through the model and keep every state.

    The entropies do not depend on the final norm: they norm the raw state once in any case.
    """
    raw = raw_states(reader)
    entropy, reason = logit_entropy(reader.runner, reader.ids, raw)
    norm = reader.kind.final_norm if final_norm else None
    return Paths(normed(raw, norm), entropy, reason, norm)


def raw_states(reader: Reader) -> Float[Tensor, "state token d"]:
    """x^0 .. x^L as the blocks gave them, none of them normed."""
    calls = reader.whole
    return torch.stack([calls[0].hidden[0], *(call.output[0] for call in calls)])


def normed(
    raw: Float[Tensor, "state token d"], final_norm: nn.Module | None
) -> Float[Tensor, "state token d"]:
    """The states of Eq. 7: the last one with the final norm in it, where there is one."""
    if final_norm is None:
        return raw
    with torch.no_grad():
        return torch.cat([raw[:-1], final_norm(raw[-1:])])


def linearise(
    reader: Reader, final_norm: nn.Module | None
) -> Iterator[tuple[int, LinearisedErrors]]:
    """Linearised errors token by token (1..n)."""
    every = range(1, reader.n_blocks + 1)
    for captures in decode(reader, every, range(1, reader.n_tokens + 1)):
        yield captures[0].token, linearised_errors(captures, final_norm)
