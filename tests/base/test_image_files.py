import io
import threading
import zlib

import numpy as np
import pytest
from PIL import Image

from coupling_core.base import images
from coupling_core.base.errors import InputError
from coupling_core.base.images import in_words, opened_image, read_image


def file(form: str, size: tuple[int, int] = (4, 3)) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", size, "red").save(held, form)
    return held.getvalue()


def said_to_be(width: int, height: int) -> bytes:
    """A PNG that says another size of itself, under a sum of its own."""
    data = bytearray(file("PNG"))
    data[16:24] = width.to_bytes(4) + height.to_bytes(4)
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4)
    return bytes(data)


def test_three_formats_are_read_and_a_picture_is_measured_before_it_is_decoded() -> None:
    for form in ("PNG", "JPEG", "WEBP"):
        assert "4 x 3 pixels" in in_words(read_image(file(form))), form
    with pytest.raises(InputError):
        read_image(file("GIF"))
    assert 5000 * 5000 == images.LARGEST_AREA
    with pytest.raises(InputError, match="5001 x 5000 pixels"):
        read_image(said_to_be(5001, 5000))


def test_pictures_are_decoded_one_at_a_time() -> None:
    seen: list[str] = []

    def read() -> None:
        with opened_image(file("PNG")):
            seen.append("second")

    with opened_image(file("PNG")):
        other = threading.Thread(target=read)
        other.start()
        other.join(0.1)
        seen.append("first")
    other.join()
    assert seen == ["first", "second"]


def test_pixels_come_back() -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    np.testing.assert_array_equal(images.to_pixels(images.from_pixels(pixels)), pixels)
