"""Many cotangents of one output, pulled back together."""

import warnings
from collections.abc import Sequence
from threading import Lock

import torch
from torch import Tensor


class _WithoutWarning:
    """Leaves out that attention's kernels have no batch of gradients; only checks go through them.

    `warnings.catch_warnings` is of the whole process: of two threads, the first that leaves it
    would give the other its warnings back. So all that are inside share one.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._held = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._held = warnings.catch_warnings()
                self._held.__enter__()
                warnings.filterwarnings("ignore", "There is a performance drop", UserWarning)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._held.__exit__(None, None, None)


_without_warning = _WithoutWarning()


def batched_gradients(
    output: Tensor, leaves: Sequence[Tensor], cotangents: Tensor
) -> list[Tensor | None]:
    """Pull cotangents back to each leaf; the graph is kept.

    By `torch.vmap`: what `is_grads_batched` goes through knows no batch of a LayerNorm's gradients,
    and takes them one by one, which on a GPU is ten times as long as all the products.

    Args:
        output: of any shape.
        leaves: what it was computed from.
        cotangents: (row *shape of the output).

    Returns:
        for each leaf (row *shape of the leaf); None where the output does not depend on it.
    """
    reached: list[bool] = []

    def back(one: Tensor) -> tuple[Tensor, ...]:
        found = torch.autograd.grad(output, leaves, one, retain_graph=True, allow_unused=True)
        reached[:] = [part is not None for part in found]
        return tuple(part for part in found if part is not None)

    with _without_warning:
        found = iter(torch.vmap(back)(cotangents))
    return [next(found) if there else None for there in reached]


def gradients_by(output: Tensor, leaf: Tensor, cotangents: Tensor) -> Tensor:
    """The same for one leaf: (row *shape of the leaf), 0 where the output does not depend on it."""
    (found,) = batched_gradients(output, [leaf], cotangents)
    return cotangents.new_zeros(len(cotangents), *leaf.shape) if found is None else found
