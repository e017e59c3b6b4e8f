"""Images as prompts: a PNG as a data URI, so that a request holds the picture that it is about.

A request of an image is then what a request of a text is: what is asked, whole, and no path to a
file that may change.
"""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8

from coupling_core.base.errors import InputError
from coupling_core.base.reading import read_bytes
from coupling_core.base.units import size

if TYPE_CHECKING:  # slow to import, and texts do without
    from PIL.Image import Image

_PREFIX = "data:image/png;base64,"
LARGEST_SIDE = 1024
"""Pixels; a larger picture is made smaller. Models read 224 to 518."""
LARGEST_FILE = 50 * 10**6
"""Bytes."""
LARGEST_AREA = 25 * 10**6
"""Pixels of a file; its copies, turned and made smaller, take a few hundred megabytes."""
FORMATS = ("PNG", "JPEG", "WEBP")
"""Pillow tries any other that it knows, some by other programs, whatever a file is called."""

_MODES = ("L", "RGB")
SIXTEEN_BITS = "I;16"
"""How the names of the modes begin that have one such channel."""
_UNREADABLE = f"{_PREFIX} "
"""What no image begins with: base64 has no space."""
_one_at_a_time = Lock()


def is_image(prompt: Any) -> bool:
    """Whether a prompt is an image."""
    return isinstance(prompt, str) and prompt.startswith(_PREFIX)


@contextmanager
def opened_image(file: Path | bytes, formats: tuple[str, ...] = FORMATS) -> Iterator["Image"]:
    """A picture to be decoded: one at a time, and none that would fill the memory.

    Raises:
        OSError, ValueError: where it cannot be read or is too large; Pillow's decoders raise more.
    """
    from PIL import Image

    content = file if isinstance(file, bytes) else read_bytes(file, LARGEST_FILE)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"it has {len(content)} bytes")
    with _one_at_a_time, Image.open(BytesIO(content), formats=formats) as found:
        width, height = found.size
        if width * height > LARGEST_AREA:
            raise ValueError(f"it has {width} x {height} pixels")
        yield found


def read_image(file: Path | bytes) -> str:
    """A PNG, JPEG or WebP, by its path or its content, as a prompt; raises `InputError`.

    Grey pictures stay grey, everything else becomes RGB; turned as its camera held it, and with its
    longer side at most `LARGEST_SIDE`.
    """
    from PIL import ImageOps, UnidentifiedImageError

    name = "the file" if isinstance(file, bytes) else str(file)
    try:
        with opened_image(file) as found:
            shown = in_eight_bits(ImageOps.exif_transpose(found))
            shown.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
            return _prompt(shown)
    except FileNotFoundError as error:
        raise InputError(f"there is no file {name}: expected the path of an image") from error
    except Exception as error:  # decoders raise whatever their formats raise
        why = "its format is unknown" if isinstance(error, UnidentifiedImageError) else error
        raise InputError(
            f"{name} cannot be read as an image ({why}): expected a PNG, JPEG or WebP of at most "
            f"{LARGEST_AREA / 1e6:g} megapixels and {size(LARGEST_FILE)}"
        ) from error


def in_eight_bits(image: "Image") -> "Image":
    """A picture, grey or RGB, with 8 bits a channel; raises `ValueError` on 32 bits."""
    from PIL import Image

    if image.mode.startswith(SIXTEEN_BITS):  # Pillow would cut off what is above 255
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError("it has 32 bits a channel, and 8 or 16 are read")
    return image if image.mode in _MODES else image.convert("RGB")


def unreadable(why: str) -> str:
    """A prompt in the place of an image that cannot be read: whoever measures it is told why."""
    return _UNREADABLE + why


def from_pixels(pixels: UInt8[np.ndarray, "height width *channel"]) -> str:
    """Pixels, grey or RGB, as a prompt."""
    from PIL import Image

    return _prompt(Image.fromarray(pixels[..., 0] if pixels.shape[2:] == (1,) else pixels))


@lru_cache(maxsize=64)
def to_pixels(prompt: str) -> UInt8[np.ndarray, "height width channel"]:
    """The pixels of a prompt, with one channel (grey) or three; raises `InputError` of no image."""
    pixels = np.array(_opened(prompt))
    pixels.setflags(write=False)  # whoever asks next has the same
    return pixels[..., None] if pixels.ndim == 2 else pixels


def in_words(prompt: str) -> str:
    """What to call an image: its size, and the beginning of its hash; or that it cannot be read."""
    try:
        height, width, channels = to_pixels(prompt).shape
    except InputError as error:  # in a list of prompts or results, which others are in
        return str(error) if prompt.startswith(_UNREADABLE) else "image that cannot be read"
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

    if prompt.startswith(_UNREADABLE):
        raise InputError(prompt.removeprefix(_UNREADABLE))
    try:
        content = base64.b64decode(prompt.removeprefix(_PREFIX), validate=True)
        image = Image.open(BytesIO(content), formats=["PNG"])
        if max(image.size) > LARGEST_SIDE:
            raise ValueError(f"it has {image.size[0]} x {image.size[1]} pixels")
        image.load()
        return in_eight_bits(image)
    except Exception as error:  # the decoder raises whatever its format raises
        raise InputError(
            f"the prompt begins as an image does, and holds none ({error}): expected a PNG of at "
            f"most {LARGEST_SIDE} x {LARGEST_SIDE} pixels as a data URI, as `read_image` makes it"
        ) from error
