"""Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017): from a package of Debian and of Ubuntu.

60,000 grey images of 28 x 28 pixels to learn from, 10,000 to test with, of ten kinds of clothing.
The package is fetched and unpacked, and nothing of it is installed or run.
"""

import gzip
import hashlib
import math
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from coupling_core.base.errors import ComputeError
from coupling_core.base.folders import user_cache
from studies.pretraining import packages
from studies.vision.pictures import Pictures

CLASSES = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
    "ankle boot",
)  # fmt: skip

_PACKAGE = "dataset-fashion-mnist"
_INSIDE = "usr/share/datasets/fashion-mnist"
_FILES = {
    "train-images-idx3-ubyte.gz": (
        "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7"
    ),
    "train-labels-idx1-ubyte.gz": (
        "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056"
    ),
    "t10k-images-idx3-ubyte.gz": "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
    "t10k-labels-idx1-ubyte.gz": "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
}
"""SHA-256 of each: who gets others trains on other images."""


def fashion_mnist(say: Callable[[str], None]) -> Pictures:
    """The images, fetched once and then kept in the user's cache."""
    folder = user_cache() / "fashion-mnist"
    if not folder.is_dir():
        say("fetching Fashion-MNIST: dataset-fashion-mnist through apt-get (31 MB)")
        fetch(folder)
    learned, labels, held_out, held_out_labels = (read_idx(folder / name) for name in _FILES)
    return Pictures(
        "fashion-mnist",
        learned[..., None],
        labels.astype(np.int64),
        held_out[..., None],
        held_out_labels.astype(np.int64),
        CLASSES,
    )


def fetch(folder: Path) -> None:
    """Fetch the four files into a folder that is not there yet, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        place, kept = Path(name), Path(name) / "kept"
        packages.fetch_debian(_PACKAGE, place)
        kept.mkdir()
        for file in _FILES:
            require_file(place / _INSIDE / file)
            shutil.move(place / _INSIDE / file, kept)
        kept.replace(folder)


def require_file(path: Path) -> None:
    """Make sure that this is the file that the suite was trained on."""
    found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no such file"
    if found != (expected := _FILES[path.name]):
        raise ComputeError(
            f"{path.name} of {_PACKAGE} has sha256 {found[:12]}… instead of {expected[:12]}…, "
            "because the registry gave another version: fetch that of Debian 12, "
            "0.0~git20200523, and try again"
        )


def read_idx(path: Path) -> UInt8[np.ndarray, "..."]:
    """The array in a gzipped file of bytes in MNIST's format.

    Two zeros, 8 for unsigned bytes, the number of axes, the length of each in four bytes that begin
    with the highest, then the values.
    """
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ComputeError(
            f"{path} cannot be read: {error}; remove its folder, and it is fetched again"
        ) from error
    axes = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    start = 4 + 4 * axes
    shape = np.frombuffer(content[4:start], ">u4").tolist() if axes else []
    if not axes or len(shape) != axes or len(content) != start + math.prod(shape):
        raise ComputeError(
            f"{path} has not MNIST's format: expected 0 0 8, the axes and their lengths, then as "
            f"many bytes as these say, and got {content[:8].hex(' ')} and {len(content):,} bytes "
            "in all; remove its folder, and it is fetched again"
        )
    # A copy, since torch warns of what cannot be written to.
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()
