"""What is learned: images and their labels."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64, UInt8

HELD_OUT_EVERY = 10
"""Of what has no split of its own, every tenth image in a random order is never learned from."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images and their labels.

    Args:
        name: as people ask for it.
        learned: images that are trained on, one brightness a channel.
        labels: of these; each is the number of a class.
        held_out: images that are not.
        held_out_labels: of those.
        classes: their names.
    """

    name: str
    learned: UInt8[np.ndarray, "learned height width channel"]
    labels: Int64[np.ndarray, " learned"]
    held_out: UInt8[np.ndarray, "held_out height width channel"]
    held_out_labels: Int64[np.ndarray, " held_out"]
    classes: tuple[str, ...]

    @property
    def channels(self) -> int:
        """1 of grey images, 3 of those in colour."""
        return self.learned.shape[3]

    @property
    def mean(self) -> list[float]:
        """By channel, of all learned images, where white is 1."""
        return [float(x) / 255 for x in self.learned.mean((0, 1, 2), dtype=np.float64)]

    @property
    def std(self) -> list[float]:
        """By channel, as `mean`; 1 where all are alike."""
        return [float(x) / 255 or 1.0 for x in self.learned.std((0, 1, 2), dtype=np.float64)]

    def digest(self) -> str:
        """A hash of images and labels, which tells whether a run goes on with what it began."""
        found = hashlib.sha256(repr(self.classes).encode())
        for array in (self.learned, self.labels, self.held_out, self.held_out_labels):
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def draw(self, count: int | None) -> "Pictures":
        """The same with fewer learned images: always the same ones, drawn from all."""
        if count is None or count >= len(self.learned):
            return self
        kept = np.sort(np.random.default_rng(0).permutation(len(self.learned))[:count])
        return replace(self, learned=self.learned[kept], labels=self.labels[kept])


def hold_out(
    name: str,
    images: UInt8[np.ndarray, "image height width channel"],
    labels: Int64[np.ndarray, " image"],
    classes: tuple[str, ...],
) -> Pictures:
    """Split what has no split of its own: always alike."""
    order = np.random.default_rng(0).permutation(len(images))
    out = order[::HELD_OUT_EVERY]
    kept = np.delete(order, np.arange(0, len(order), HELD_OUT_EVERY))
    return Pictures(name, images[kept], labels[kept], images[out], labels[out], classes)
