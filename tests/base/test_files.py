"""Files: replaced as a whole, and read to a bound; and those of pictures."""

import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from coupling_core.base import images, writing
from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded, give_home
from coupling_core.base.images import in_words, opened_image, read_image
from coupling_core.base.reading import read_bytes
from coupling_core.base.textfiles import MOST_COLUMNS, csv_rows, read_text

OLD, NEW = "old " * 5000, "new"


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "file"
    path.write_text(OLD)
    return path


def test_what_fails_half_way_leaves_the_old_one_alone(old):
    def fail():
        with writing.replacing(old) as new:
            new.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert old.read_text() == OLD
    assert list(old.parent.iterdir()) == [old]


def test_a_link_stays_one_and_what_it_leads_to_is_written_where_that_is_a_file(old):
    link, pipe = old.with_name("link"), old.with_name("pipe")
    link.symlink_to(old.name)
    old.chmod(0o600)
    writing.write_whole(link, b"new")
    assert (link.is_symlink(), old.read_text()) == (True, "new")
    assert old.stat().st_mode & 0o777 == 0o600
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no file"):
        writing.write_whole(pipe, b"new")


def test_a_note_makes_its_folder_and_says_whether_it_was_written(old):
    inside = old.parent / "new" / "note"
    assert writing.write_quietly(inside, "noted")
    assert inside.read_text() == "noted"
    assert not writing.write_quietly(old / "note", "noted")


def test_who_reads_a_file_while_it_is_replaced_has_the_old_one(old):
    for write in (lambda text: writing.write_whole(old, text.encode()),
                  lambda text: writing.write_quietly(old, text)):  # fmt: skip
        old.write_text(OLD)
        with old.open("rb", buffering=0) as reader:
            first = reader.read(100)
            write(NEW)
            assert (first + reader.read()).decode() == OLD
        assert old.read_text() == NEW
        assert list(old.parent.iterdir()) == [old]


def test_who_has_no_home_is_given_one(tmp_path, monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    give_home()
    assert Path.home() == tmp_path / f"coupling-explorer-{os.getuid()}"
    assert expanded("~/x") == Path.home() / "x"


def test_a_file_is_read_to_its_bound(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(OSError, match="at most"):
        read_bytes(path, 4)


def test_ends_of_lines_are_alike(tmp_path):
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "x").write_bytes(f"\ufeffa{end}b".encode())
        assert read_text(tmp_path / "x") == "a\nb"


def test_a_table_has_few_columns(tmp_path):
    (tmp_path / "x.csv").write_text("prompt" + ",x" * MOST_COLUMNS + "\n" + "a\n" * 10)
    with pytest.raises(InputError, match=r"1,000 .*1,001"):
        list(csv_rows(read_text(tmp_path / "x.csv"), tmp_path / "x.csv", ("prompt",)))


def picture(form):
    held = io.BytesIO()
    Image.new("RGB", (4, 3), "red").save(held, form)
    return held.getvalue()


def test_three_formats_are_read_and_no_other(tmp_path):
    for form in ("PNG", "JPEG", "WEBP"):
        assert "4 x 3 pixels" in in_words(read_image(picture(form))), form
    for file in (picture("GIF"), bytes(images.LARGEST_FILE + 1), tmp_path / "none.png"):
        with pytest.raises(InputError) as told:
            read_image(file)
        assert " object at " not in str(told.value)


def test_every_mode_has_the_brightness_that_it_shows_or_is_refused():
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None].repeat(2, 0)
    of_16_bits, of_8_bits = Image.fromarray(ramp), Image.fromarray((ramp >> 8).astype(np.uint8))
    of_another = Image.frombytes("I;16B", of_8_bits.size, ramp.astype(">u2").tobytes())
    modes = ("L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr")
    for shown in (of_16_bits, of_another, *map(of_8_bits.convert, modes)):
        found = np.asarray(images.in_eight_bits(shown))
        assert found.mean() == pytest.approx(127.5, abs=1), shown.mode
    held = io.BytesIO()
    of_16_bits.save(held, "PNG")
    assert images.to_pixels(read_image(held.getvalue())).mean() == pytest.approx(127.5)
    for mode in ("I", "F"):
        with pytest.raises(ValueError, match="32 bits"):
            images.in_eight_bits(of_8_bits.convert(mode))


def test_pictures_are_decoded_one_at_a_time():
    seen = []

    def read():
        with opened_image(picture("PNG")):
            seen.append("second")

    with opened_image(picture("PNG")):
        other = threading.Thread(target=read)
        other.start()
        other.join(0.1)
        seen.append("first")
    other.join()
    assert seen == ["first", "second"]


def test_pixels_come_back():
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    np.testing.assert_array_equal(images.to_pixels(images.from_pixels(pixels)), pixels)
