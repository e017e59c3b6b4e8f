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


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_three_formats_are_read(form: str) -> None:
    assert "image of 4 x 3 pixels" in in_words(read_image(file(form)))


@pytest.mark.parametrize("form", ["GIF", "TIFF", "BMP", "EPS", "PPM", "PCX"])
def test_no_other_is(form: str) -> None:
    with pytest.raises(InputError, match="cannot identify image file"):
        read_image(file(form))


def test_a_picture_is_measured_before_it_is_decoded() -> None:
    assert 5000 * 5000 == images.LARGEST_AREA
    with pytest.raises(InputError, match=r"it has 5001 x 5000 pixels\): .* at most 25 megapixels"):
        read_image(said_to_be(5001, 5000))


def test_a_file_is_measured_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "LARGEST_FILE", 10)
    with pytest.raises(InputError, match=r"it has [0-9]+ bytes"):
        read_image(file("PNG"))


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


def test_a_prompt_that_holds_no_image_has_words_all_the_same() -> None:
    assert in_words("data:image/png;base64,AAAA") == "image that cannot be read"


def test_pixels_come_back() -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    np.testing.assert_array_equal(images.to_pixels(images.from_pixels(pixels)), pixels)
