"""KL divergence of many next-token distributions from one, position by position.

With p of the model itself, q of an edited one, and z their logits,

    KL(p || q) = log sum p e^c - sum p c,      c = z_q - z_p - m,

whatever m is. With m the mean of z_q - z_p under p it is log1p(R + D) - R, where R = sum p c is no
more than the rounding of m, which so drops out to first order, and D = sum p (e^c - 1 - c) has no
term below 0: nothing cancels, in float32 either. What float32 leaves uncertain all the same (see
`LEAST`), and what overflows it, is computed again in float64, where the divergence of the same
logits is 0 to the bit.
"""

import torch
from jaxtyping import Float
from torch import Tensor

LEAST = 1e-3
"""Nats below which a divergence is taken in float64, where logits keep their mean change m; with it
the least grows as 1 + m^2. Above, float32 is good to 1e-5 of it: c then has a standard deviation of
0.04 and m/20 at least, against which rounding z_q - z_p to 6e-8 of it weighs a few millionths."""
TINIEST = 1e-30
"""A distribution with smaller probabilities is near the end of float32, and taken in float64."""
AT_ONCE = {"cpu": 2**18}
"""Logits taken at a time: 1 MB on a processor, which stays in its caches with what comes of it."""
MOST_AT_ONCE = 2**24
"""The same on a GPU."""
IN_FLOAT64 = 2**20
"""Logits taken at a time in float64: 8 MB for each of a few copies."""


class Divergences:
    """Divergences from the distributions of a model.

    Args:
        own: the model's logits.
    """

    def __init__(self, own: Float[Tensor, "position v"]) -> None:
        v = own.shape[-1]
        self._own = own
        self._total, self._p = own.new_empty(len(own), dtype=torch.float64), torch.empty_like(own)
        for rows in torch.arange(len(own), device=own.device).split(max(1, IN_FLOAT64 // v)):
            exact = own[rows].double()
            self._total[rows] = exact.logsumexp(-1)
            self._p[rows] = (exact - self._total[rows, None]).exp().to(own.dtype)
        self.top = own.argmax(-1)
        """The most likely outcome by position."""
        self._fast = (self._p.amin(-1) >= TINIEST) & (own.dtype == torch.float32)
        many = max(1, AT_ONCE.get(own.device.type, MOST_AT_ONCE) // v)
        self._room = own.new_empty(2, many, v if own.dtype == torch.float32 else 0)

    def surprise(self, outcomes: Tensor) -> Float[Tensor, " position"]:
        """-log p of one outcome at each of the first positions, in nats."""
        rows = torch.arange(len(outcomes), device=self._own.device)
        return self._total[: len(outcomes)] - self._own[rows, outcomes].double()

    def of(
        self, logits: Float[Tensor, "edit position v"]
    ) -> tuple[Float[Tensor, "edit position"], Float[Tensor, "edit position"]]:
        """KL(p || q) in nats, and the mean of the logits' change under p, in float64."""
        found, mean = (logits.new_zeros(logits.shape[:2], dtype=torch.float64) for _ in range(2))
        for position in self._fast.nonzero()[:, 0].tolist():
            for part, room in self._parts(len(logits)):
                found[part, position], mean[part, position] = self._in_float32(
                    logits[part, position], position, room
                )
        exact = ~(found >= LEAST * (1 + mean**2)) | found.isinf()
        rows = exact.nonzero()
        for some in rows.split(max(1, IN_FLOAT64 // logits.shape[-1])):
            at = tuple(some.T)
            found[at], mean[at] = self._in_float64(logits[at], some[:, 1])
        return found, mean

    def _parts(self, count: int) -> list[tuple[slice, Tensor]]:
        """Slices of so many edits, each with memory for what comes of it."""
        many = self._room.shape[1]
        starts = range(0, count, many)
        return [(slice(at, at + many), self._room[:, : min(many, count - at)]) for at in starts]

    def _in_float32(
        self, logits: Float[Tensor, "edit v"], position: int, room: Float[Tensor, "2 edit v"]
    ) -> tuple[Float[Tensor, " edit"], Float[Tensor, " edit"]]:
        p, (c, more) = self._p[position], room
        # By `sum`, which adds in pairs; a product with a vector adds one after the other.
        mean = torch.mul(torch.sub(logits, self._own[position], out=c), p, out=more).sum(-1)
        rest = torch.mul(c.sub_(mean[:, None]), p, out=more).sum(-1)
        above = torch.expm1(c, out=more).sub_(c).mul_(p).sum(-1)
        mean, rest, above = mean.double(), rest.double(), above.double()
        return (rest + above).log1p() - rest, mean + rest

    def _in_float64(
        self, logits: Float[Tensor, "row v"], positions: Tensor
    ) -> tuple[Float[Tensor, " row"], Float[Tensor, " row"]]:
        own = self._own[positions].double()
        log_p = own - self._total[positions, None]
        return divergence_of(log_p, log_p.exp(), logits.double() - own)


def divergence_of(
    log_p: Float[Tensor, "position v"],
    p: Float[Tensor, "position v"],
    delta: Float[Tensor, "*edit position v"],
) -> tuple[Float[Tensor, "*edit position"], Float[Tensor, "*edit position"]]:
    """KL(p || q) in nats, and the mean of the logits' change under p.

    Args:
        log_p: logarithms of p.
        p: the model's own distributions.
        delta: logits of q less those of p.
    """
    delta = torch.where((p == 0) & delta.isnan(), 0.0, delta)  # hidden in both
    mean = torch.where(p == 0, 0.0, p * delta).sum(-1)
    centred = delta - mean[..., None]
    found = (p * centred.expm1()).sum(-1).log1p()
    far = ~found.isfinite()
    if far.any():
        found = torch.where(far, torch.logsumexp(log_p + centred, -1), found)
    return found, mean
