"""Images as prompts: a PNG as a data URI, so that a request holds the picture that it is about.

A request of an image is then what a request of a text is: what is asked, whole, and no path to a
file that may change.
"""

import base64
import binascii
import hashlib
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8

from coupling_core.base.errors import InputError

if TYPE_CHECKING:  # slow to import, and texts do without
    from PIL.Image import Image

_PREFIX = "data:image/png;base64,"
LARGEST_SIDE = 1024
"""Pixels; a larger picture is made smaller. Models read 224 to 518."""
_MODES = ("L", "RGB")


def is_image(prompt: Any) -> bool:
    """Whether a prompt is an image."""
    return isinstance(prompt, str) and prompt.startswith(_PREFIX)


def read_image(file: Path | bytes) -> str:
    """An image file of any common format as a prompt.

    Grey pictures stay grey, everything else becomes RGB; turned as its camera held it, and with its
    longer side at most `LARGEST_SIDE`.

    Args:
        file: its path, or its content.

    Raises:
        InputError: where it cannot be read as an image.
    """
    from PIL import Image, ImageOps

    name = "the file" if isinstance(file, bytes) else str(file)
    try:
        with Image.open(BytesIO(file) if isinstance(file, bytes) else file) as found:
            shown: Image.Image = ImageOps.exif_transpose(found)
            shown = shown if shown.mode in _MODES else shown.convert("RGB")
            shown.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    except Exception as error:  # decoders raise whatever their formats raise
        raise InputError(
            f"{name} cannot be read as an image ({error}): expected PNG, JPEG, WebP or another "
            "common format"
        ) from error
    return _prompt(shown)


def from_pixels(pixels: UInt8[np.ndarray, "height width *channel"]) -> str:
    """Pixels, grey or RGB, as a prompt."""
    from PIL import Image

    return _prompt(Image.fromarray(pixels[..., 0] if pixels.shape[2:] == (1,) else pixels))


@lru_cache(maxsize=64)
def to_pixels(prompt: str) -> UInt8[np.ndarray, "height width channel"]:
    """The pixels of a prompt: one channel where it is grey, three where it is not.

    Raises:
        InputError: where it holds no image.
    """
    pixels = np.array(_opened(prompt))
    pixels.setflags(write=False)  # whoever asks next has the same
    return pixels[..., None] if pixels.ndim == 2 else pixels


def in_words(prompt: str) -> str:
    """What to call an image: its size, and the beginning of its hash."""
    height, width, channels = to_pixels(prompt).shape
    kind = "grey" if channels == 1 else "colour"
    return f"{kind} image of {width} x {height} pixels ({_hash(prompt)})"


def shown(prompt: str) -> str:
    """A prompt for people: a text as it is, an image in words."""
    return in_words(prompt) if is_image(prompt) else prompt


def _hash(prompt: str) -> str:
    return hashlib.sha256(to_pixels(prompt).tobytes()).hexdigest()[:8]


def _prompt(image: "Image") -> str:
    held = BytesIO()
    image.save(held, "PNG", optimize=True)
    return _PREFIX + base64.b64encode(held.getvalue()).decode()


def _opened(prompt: str) -> "Image":
    from PIL import Image

    try:
        content = base64.b64decode(prompt.removeprefix(_PREFIX), validate=True)
        image = Image.open(BytesIO(content), formats=["PNG"])
        if max(image.size) > LARGEST_SIDE:
            raise ValueError(f"it has {image.size[0]} x {image.size[1]} pixels")
        image.load()
    except (
        OSError,
        ValueError,
        SyntaxError,
        binascii.Error,
        Image.DecompressionBombError,
    ) as error:
        raise InputError(
            f"the prompt begins as an image does, and holds none ({error}): expected a PNG of at "
            f"most {LARGEST_SIDE} x {LARGEST_SIDE} pixels as a data URI, as `read_image` makes it"
        ) from error
    return image if image.mode in _MODES else image.convert("RGB")
