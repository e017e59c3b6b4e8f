"""Which windows of the text a step sees: told by the step alone, so that a run can be resumed."""

import numpy as np
import torch
from jaxtyping import Int64, UInt16

HELD_OUT_WINDOWS = 128


def batch(
    text: UInt16[np.ndarray, " corpus"], step: int, size: int, context: int, seed: int
) -> Int64[torch.Tensor, "sequence token"]:
    """The sequences of a step (numbered from 0): each window of the text once an epoch."""
    windows = len(text) // context
    at = [divmod(i, windows) for i in range(step * size, (step + 1) * size)]
    orders = {epoch: order(seed, epoch, windows).tolist() for epoch in {epoch for epoch, _ in at}}
    starts = [orders[epoch][i] * context for epoch, i in at]
    return _stack(text, starts, context)


def order(seed: int, epoch: int, count: int) -> Int64[np.ndarray, " count"]:
    """The order in which an epoch sees what is learned."""
    return np.random.default_rng((seed, epoch)).permutation(count)


def held_out(
    text: UInt16[np.ndarray, " corpus"], context: int, windows: int = HELD_OUT_WINDOWS
) -> Int64[torch.Tensor, "sequence token"]:
    """Windows that lie evenly over a text."""
    starts = np.linspace(0, len(text) - context, windows).astype(int).tolist()
    return _stack(text, starts, context)


def _stack(text: np.ndarray, starts: list[int], context: int) -> torch.Tensor:
    rows = [text[start : start + context].astype(np.int64) for start in starts]
    return torch.from_numpy(np.stack(rows))
