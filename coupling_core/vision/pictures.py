"""What is learned: images and their labels, by a name or from a folder."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from jaxtyping import Int64, UInt8

from coupling_core.errors import ComputeError, InputError
from coupling_core.prompts import fetching
from coupling_core.vision.plans import DATA

HELD_OUT_EVERY = 10
"""Of what has no split of its own, every tenth image in a random order is never learned from."""

_HUB = MappingProxyType(
    {"cifar10": ("uoft-cs/cifar10", "img", "label"),
     "cifar100": ("uoft-cs/cifar100", "img", "fine_label")}
)  # fmt: skip
"""Data sets of the hub: repository, and the columns of images and labels."""


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
        """The same with fewer learned images: always the same ones, drawn from all.

        Args:
            count: how many; None, or more than there are, for all.
        """
        if count is None or count >= len(self.learned):
            return self
        kept = np.sort(np.random.default_rng(0).permutation(len(self.learned))[:count])
        return replace(self, learned=self.learned[kept], labels=self.labels[kept])


def load_pictures(data: str, size: int, say: Callable[[str], None]) -> Pictures:
    """What a name or a folder stands for.

    Args:
        data: one of `DATA`, or an image folder.
        size: pixels along an edge: those of a folder are resized to it, those of a name have one.
        say: told what takes long.

    Raises:
        InputError: where there is no such data, or its images have another size.
        ComputeError: where it cannot be fetched.
    """
    if data not in DATA and not Path(data).is_dir():
        raise InputError(
            f"data {data!r}: expected one of {', '.join(DATA)}, or a folder with a folder of "
            "images for each class; there is no such folder"
        )
    if data not in DATA:
        from coupling_core.vision.folders import read_folder

        return read_folder(Path(data), size)
    found = _of_name(data, say)
    height, width = found.learned.shape[1:3]
    if (height, width) != (size, size):
        raise InputError(
            f"{data} has images of {height} x {width} pixels, and the plan is for {size} x {size}: "
            "choose the preset that is made for this data, or give the images as a folder, where "
            "they are resized"
        )
    return found


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


def _of_name(data: str, say: Callable[[str], None]) -> Pictures:
    if data == "digits":
        return _digits()
    if data == "fashion-mnist":
        from coupling_core.vision.fashion import fashion_mnist

        return fashion_mnist(say)
    return _from_hub(data, say)


def _digits() -> Pictures:
    """1,797 written digits of 8 x 8 pixels, which scikit-learn brings."""
    from sklearn.datasets import load_digits

    found = load_digits()
    brightest = 16  # in this data
    images = np.round(found.images[..., None] * (255 / brightest)).astype(np.uint8)
    names = tuple(map(str, found.target_names))
    return hold_out("digits", images, found.target.astype(np.int64), names)


def _from_hub(data: str, say: Callable[[str], None]) -> Pictures:
    repo, image, label = _HUB[data]
    say(f"reading {data}: fetched from the hub the first time")
    with fetching.quiet():
        from datasets import load_dataset

        with fetching.plain_errors(repo, None):
            splits = load_dataset(repo)  # nosec B615  # its rows; no code of it is run
        try:
            arrays = [
                (np.stack(rows[image]), np.array(rows[label], dtype=np.int64))
                for rows in (splits[part].with_format("numpy") for part in ("train", "test"))
            ]
            names = tuple(splits["train"].features[label].names)
        except (KeyError, ValueError, AttributeError) as error:
            raise ComputeError(
                f"data set {repo} has not the form that it had: expected columns {image!r} and "
                f"{label!r} in splits train and test, and found {splits}"
            ) from error
    (learned, labels), (held_out, held_out_labels) = arrays
    return Pictures(data, learned, labels, held_out, held_out_labels, names)
