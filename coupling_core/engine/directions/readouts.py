"""Directions read by the rows of a matrix, and whether that says more than chance.

The rows w_i, scaled and centred over the vocabulary, have the cosines c_i = w_i . u / norm(w_i)
with a unit direction u, and z_i = (c_i - mean c) / std c. Peakedness is the mean of the 10 largest
abs(z). Its null are random unit directions; a readout that is no more peaked than 99 of 100 of
them says no more than chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

PEAK = 10
"""Tokens that make up the peakedness; of fewer than 100, one in ten of them."""
TOP = 5
"""Tokens that are named at either end."""
NULL = 500
"""Random directions that make up the null."""
LEVEL = 0.99
SEED = 0
ROWS = 2**24
"""Entries of the rows that are taken at a time: 64 MB in float32."""
COSINES = 2**25
"""Cosines at a time: 128 MB."""


@dataclass(frozen=True)
class Readout:
    """What directions are read as.

    Args:
        ids: the rows at either end, most extreme first; sign 0 is the positive end.
        z: how far their cosines lie from the mean, in standard deviations.
        cosine: their cosines with the direction.
        peakedness: mean of the largest abs(z).
    """

    ids: Int[Tensor, "m sign top"]
    z: Float[Tensor, "m sign top"]
    cosine: Float[Tensor, "m sign top"]
    peakedness: Float[Tensor, " m"]


class Rows:
    """The rows of a matrix, scaled, and centred over all of them.

    Args:
        weight: as it is stored, in any precision and anywhere.
        scale: of each entry; None is 1.
        device: where to compute.
    """

    def __init__(
        self,
        weight: Float[Tensor, "v d"],
        scale: Float[Tensor, " d"] | None = None,
        device: torch.device | None = None,
    ) -> None:
        self._weight, self.device = weight, device or weight.device
        self._scale = scale
        total = sum(part.sum(0, dtype=torch.float64) for part in self._parts())
        self._mean = (torch.as_tensor(total) / len(weight)).float()

    def __len__(self) -> int:
        return len(self._weight)

    def cosines(self, directions: Float[Tensor, "m d"]) -> Float[Tensor, "m v"]:
        """Of each direction, which has length 1, with each row; 0 with a row that is the mean."""
        found = []
        for part in self._parts():
            rows = part - self._mean
            length = rows.norm(dim=1, keepdim=True)
            found.append(directions @ torch.where(length > 0, rows / length, 0.0).T)
        return torch.cat(found, 1)

    def _parts(self) -> Iterator[Float[Tensor, "row d"]]:
        for part in self._weight.split(max(1, ROWS // self._weight.shape[1])):
            rows = part.to(self.device, torch.float32)
            yield rows if self._scale is None else rows * self._scale


def read_out(rows: Rows, directions: Float[Tensor, "m d"]) -> Readout:
    """What each direction is read as, both ends of it.

    Args:
        rows: of the unembedding, or of the embedding.
        directions: unit vectors.
    """
    parts = directions.split(max(1, COSINES // len(rows)))
    found = [_of(rows.cosines(part)) for part in parts]
    return Readout(*(torch.cat(each) for each in zip(*found, strict=True)))


def readout_floor(rows: Rows, d: int, count: int = NULL) -> float:
    """The peakedness that one in a hundred random directions exceeds."""
    generator = torch.Generator().manual_seed(SEED)
    found = read_out(rows, random_units(count, d, generator).to(rows.device))
    return float(torch.quantile(found.peakedness.double(), LEVEL))


def random_units(count: int, d: int, generator: torch.Generator) -> Float[Tensor, "count d"]:
    """Directions drawn evenly from the sphere."""
    drawn = torch.randn(count, d, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(drawn, dim=1).float()


def _of(cosines: Float[Tensor, "m v"]) -> tuple[Tensor, ...]:
    count = cosines.shape[1]
    deviation, mean = torch.std_mean(cosines, 1, correction=0, keepdim=True)
    z = (cosines - mean) / deviation  # NaN for no direction at all
    ids = torch.stack([(sign * z).topk(min(TOP, count), 1).indices for sign in (1, -1)], 1)
    named = (x.gather(1, ids.flatten(1)).reshape(ids.shape) for x in (z, cosines))
    peak = z.abs().topk(min(PEAK, -(-count // PEAK)), 1).values.mean(1)
    return ids, *named, peak
