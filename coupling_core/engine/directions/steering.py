"""A direction added to a state, and the rest of the model run on.

    x_t + e norm(x_t) u

for many directions and sizes at once: a sequence each, which the later blocks run together. A size
of 0 is not run: it is what the model itself said, to the bit.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from coupling_core.engine.directions.outcome import Changes, Outcomes, joined
from coupling_core.engine.edits.replays import Replays


def steer(
    replays: Replays,
    outcomes: Outcomes,
    state: int,
    tokens: Sequence[int],
    directions: Float[Tensor, "m d"],
    sizes: Sequence[float],
) -> Changes:
    """What directions do, each at each size.

    Args:
        replays: of the model's blocks.
        outcomes: what is asked of the last states.
        state: l of the state x^l to which they are added, 0..L.
        tokens: at which, 1..n.
        directions: of length 1.
        sizes: e, in units of the state's own norm; any sign.

    Returns:
        the changes, the sizes of the first direction first.
    """
    which = torch.arange(len(directions)).repeat_interleave(len(sizes))
    size = torch.tensor(sizes, dtype=torch.float64).repeat(len(directions))
    some = size.nonzero()[:, 0]
    found = [outcomes.unchanged()]
    for part in some.split(max(1, replays.at_once)):
        shift = size[part, None].to(directions) * directions[which[part].to(directions.device)]
        found.append(outcomes.of(rest(replays, state, steered(replays, state, tokens, shift))))
    every = joined(found)
    at = torch.zeros(len(size), dtype=torch.long)
    at[some] = torch.arange(1, 1 + len(some))
    return taken(every, at)


def steered(
    replays: Replays, state: int, tokens: Sequence[int], shift: Float[Tensor, "sequence d"]
) -> Float[Tensor, "sequence token d"]:
    """The state with shifts in units of its own norm."""
    x = replays.states[state]
    found = x.expand(len(shift), *x.shape).clone()
    for token in tokens:
        own = x[token - 1]
        found[:, token - 1] = own + own.norm() * shift.to(own)
    return found


def rest(
    replays: Replays, state: int, states: Float[Tensor, "sequence token d"]
) -> Float[Tensor, "sequence token d"]:
    """What the blocks behind a state make of others in its place."""
    for block in range(state + 1, replays.n_blocks + 1):
        states = replays.run(block, states)
    return states


def taken(changes: Changes, at: Int[Tensor, " sequence"]) -> Changes:
    """Some of the sequences, in this order."""
    return Changes(*(each[at.to(each.device)] for each in vars(changes).values()))
