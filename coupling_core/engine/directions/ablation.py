"""A subspace taken out of the state that a block reads, in one block or in several.

    x^{l-1}_t - V V^T x^{l-1}_t

for many frames at once: a sequence each. Where several blocks have a frame, each is taken out of
the state as it then is. A frame without a column takes out nothing: it is what the model itself
said, to the bit.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.engine.directions.outcome import Changes, Outcomes, joined
from coupling_core.engine.directions.steering import taken
from coupling_core.engine.edits.replays import Replays

Frames = Mapping[int, Float[Tensor, "frame d k"]]
"""By block (1..L), orthonormal columns; as many frames for each."""


def ablate(replays: Replays, outcomes: Outcomes, token: int, frames: Frames) -> Changes:
    """What taking out frames does.

    Args:
        replays: of the model's blocks.
        outcomes: what is asked of the last states.
        token: at which they are taken out, 1..n.
        frames: frame i of every block is taken out in sequence i.
    """
    count = len(next(iter(frames.values())))
    if all(frame.shape[-1] == 0 for frame in frames.values()):
        return taken(outcomes.unchanged(), torch.zeros(count, dtype=torch.long))
    found = []
    for start in range(0, count, replays.at_once):
        part = {b: frame[start : start + replays.at_once] for b, frame in frames.items()}
        found.append(outcomes.of(_run(replays, token, part)))
    return joined(found)


def removed(
    x: Float[Tensor, "frame d"], frames: Float[Tensor, "frame d k"]
) -> Float[Tensor, "frame d"]:
    """States without their components along frames, in float64 until the last step."""
    V, exact = frames.double(), x.double()
    within = torch.einsum("fdk,fd->fk", V, exact)
    return (exact - torch.einsum("fdk,fk->fd", V, within)).to(x)


def random_frames(
    count: int, d: int, k: int, generator: torch.Generator
) -> Float[Tensor, "count d k"]:
    """Frames drawn evenly."""
    drawn = torch.randn(count, d, k, generator=generator, dtype=torch.float64)
    return torch.linalg.qr(drawn).Q


def _run(replays: Replays, token: int, frames: Frames) -> Float[Tensor, "frame token d"]:
    first, count = min(frames), len(next(iter(frames.values())))
    x = replays.states[first - 1]
    states = x.expand(count, *x.shape).clone()
    for block in range(first, replays.n_blocks + 1):
        if block in frames:
            states[:, token - 1] = removed(states[:, token - 1], frames[block])
        states = replays.run(block, states)
    return states
