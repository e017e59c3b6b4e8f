"""Jacobians of attention between its first linear maps and its last, whose heads do not mix.

Attention takes queries, keys and values, p numbers in all, to the m numbers that its last linear
map takes. Each of those depends on the numbers of its own head alone, so that C = dm/dp is zero
nearly everywhere:

    entries of heads that share nothing are pulled back by one cotangent
    dm/dz = C W is a small product a head, with W the first linear maps

What belongs together is found once from all of C, and kept for blocks of the same shape. A random
cotangent goes back with the others every time, and tells where a block is not like that.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from coupling_core.engine.jacobians.gradients import batched_gradients
from coupling_core.engine.out_of_memory import Chunks

OVERLAP = 0.5
"""Entries of one head depend on mostly the same numbers; of heads that share keys, on a third."""

TOLERANCE = 1e-4
"""How far a random cotangent may come back from what the heads tell, relative to its norm."""

CHUNK = 1024
"""Cotangents or directions taken at a time: enough to fill the products, few enough for memory."""

LARGEST = 2**26
"""Most entries of C to look at, 256 MB in float32; where it has more, others take over."""


@dataclass(frozen=True)
class First:
    """One of the linear maps that attention begins with.

    Args:
        output: what it gave, a leaf.
        weight: its matrix.
    """

    output: Tensor
    weight: Float[Tensor, "d_out d"]


@dataclass(frozen=True)
class _Layout:
    """Which entries make up a head.

    Args:
        rows: of m.
        columns: of p, on which those depend.
        cotangent: by which each entry of m is pulled back.
    """

    rows: Int[Tensor, "head d_head"]
    columns: Int[Tensor, "head share"]
    cotangent: Int[Tensor, "head d_head"]

    @cached_property
    def order(self) -> Int[Tensor, " m"] | None:
        """Where m's entries lie among those of the first head, the second, ..; None for in turn."""
        rows = self.rows.flatten()
        return None if (rows[1:] > rows[:-1]).all() else rows.argsort()


_layouts: dict[Hashable, _Layout | None] = {}
"""By module and sizes; None where those are not made of heads."""


def by_heads(
    m: Tensor, z: Tensor, firsts: list[First], kind: Hashable
) -> Float[Tensor, "d_m d"] | None:
    """Jacobian of what the heads give, m, by what they are made from, z.

    Args:
        m: a function of what the first maps gave.
        z: one vector.
        firsts: linear maps of z.
        kind: the same for modules that are likely to be alike.

    Returns:
        None where m depends on z by more than the first maps, is not made of heads, or is too large
        to find out.
    """
    leaves = [first.output for first in firsts]
    if not leaves or not m.requires_grad or _depends(m, z):
        return None
    sizes = [leaf.numel() for leaf in leaves]
    if m.numel() * sum(sizes) > LARGEST:
        return None
    key = kind, m.device, m.numel(), *sizes
    layout = _layouts.get(key)
    C = _blocks(m, leaves, layout) if layout else None
    if C is None and (layout or key not in _layouts):
        layout = _layouts[key] = _find(m, leaves)
        C = _blocks(m, leaves, layout) if layout else None
    if layout is None or C is None:
        return None
    W = torch.cat([first.weight for first in firsts])
    share = W.index_select(0, layout.columns.flatten()).reshape(*layout.columns.shape, -1)
    mixed = (C @ share).flatten(0, 1)
    return mixed if layout.order is None else mixed.index_select(0, layout.order)


def _depends(m: Tensor, z: Tensor) -> bool:
    return torch.autograd.grad(m.sum(), z, retain_graph=True, allow_unused=True)[0] is not None


def _find(m: Tensor, leaves: list[Tensor]) -> _Layout | None:
    """Look at which entries of C are not zero."""
    C = _pull_back(m, leaves, torch.eye(m.numel(), dtype=m.dtype, device=m.device))
    support = (C != 0).float()
    common = support @ support.T
    size = support.sum(1)
    alike = common > OVERLAP * (size[:, None] + size - common)
    first, counts = alike.int().argmax(1).unique(return_counts=True)
    rows = alike[first].nonzero()[:, 1]
    if len(counts.unique()) != 1 or len(rows) != m.numel():
        return None
    rows = rows.reshape(len(first), -1)
    used = support[rows].amax(1)  # (head, p)
    if len(used.sum(1).unique()) != 1 or not used.any():
        return None
    columns = used.nonzero()[:, 1].reshape(len(first), -1)
    colour = _colours((used @ used.T > 0).tolist())
    cotangent = torch.tensor(colour)[:, None] * rows.shape[1] + torch.arange(rows.shape[1])
    if int(cotangent.max()) + 2 > m.numel():
        return None  # nothing would be saved
    return _Layout(rows, columns, cotangent.to(m.device))


def _colours(meets: list[list[bool]]) -> list[int]:
    """Numbers for the heads, which differ where two heads meet."""
    colours: list[int] = []
    for met in meets:
        taken = {colour for colour, shares in zip(colours, met, strict=False) if shares}
        colours.append(min(set(range(len(meets))) - taken))
    return colours


def _blocks(
    m: Tensor, leaves: list[Tensor], layout: _Layout
) -> Float[Tensor, "head d_head share"] | None:
    """What of C is not zero; None where a random cotangent shows that there is more."""
    rows, columns, cotangent = layout.rows, layout.columns, layout.cotangent
    seeds = m.new_zeros(int(cotangent.max()) + 2, m.numel())
    seeds[cotangent, rows] = 1
    generator = torch.Generator().manual_seed(0)
    seeds[-1] = torch.randn(m.numel(), generator=generator, dtype=torch.float64).to(m)
    pulled = _pull_back(m, leaves, seeds)
    C = pulled[cotangent[:, :, None], columns[:, None]]
    expected = pulled[-1]
    own = torch.zeros_like(expected)
    own.index_add_(0, columns.flatten(), (seeds[-1][rows][:, None] @ C).flatten())
    is_all = (own - expected).norm() <= TOLERANCE * expected.norm()
    return C if is_all else None


def _pull_back(
    m: Tensor, leaves: list[Tensor], cotangents: Float[Tensor, "row d_m"]
) -> Float[Tensor, "row p"]:
    chunks = Chunks(CHUNK).of(lambda rows: _chunk(m, leaves, cotangents[rows]), len(cotangents))
    return torch.cat([found for _, found in chunks])


def _chunk(
    m: Tensor, leaves: list[Tensor], cotangents: Float[Tensor, "row d_m"]
) -> Float[Tensor, "row p"]:
    found = batched_gradients(m, leaves, cotangents.reshape(-1, *m.shape))
    rows = [
        cotangents.new_zeros(len(cotangents), leaf.numel()) if part is None else part.flatten(1)
        for part, leaf in zip(found, leaves, strict=True)
    ]
    return torch.cat(rows, 1)
