"""Images to learn from, by a name or from a folder."""

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.folders import expanded
from coupling_core.sources.prompts import fetching
from studies.vision.fashion import fashion_mnist
from studies.vision.folders import read_folder
from studies.vision.pictures import Pictures, hold_out
from studies.vision.plans import DATA

_HUB = MappingProxyType(
    {"cifar10": ("uoft-cs/cifar10", "img", "label"),
     "cifar100": ("uoft-cs/cifar100", "img", "fine_label")}
)  # fmt: skip
"""Data sets of the hub: repository, and the columns of images and labels."""


def load_pictures(data: str, size: int, say: Callable[[str], None]) -> Pictures:
    """What a name or a folder stands for.

    Images of a folder are resized to the size, in pixels along an edge; those of a name have one.
    """
    if data not in DATA and not expanded(data).is_dir():
        raise InputError(
            f"data {data!r}: expected one of {', '.join(DATA)}, or a folder with a folder of "
            "images for each class; there is no such folder"
        )
    if data not in DATA:
        return read_folder(expanded(data), size)
    found = _of_name(data, say)
    height, width = found.learned.shape[1:3]
    if (height, width) != (size, size):
        raise InputError(
            f"{data} has images of {height} x {width} pixels, and the plan is for {size} x {size}: "
            "choose the preset that is made for this data, or give the images as a folder, where "
            "they are resized"
        )
    return found


def _of_name(data: str, say: Callable[[str], None]) -> Pictures:
    if data == "digits":
        return _digits()
    if data == "fashion-mnist":
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
