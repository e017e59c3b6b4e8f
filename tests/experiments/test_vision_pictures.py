"""What vision transformers learn from: named data, files in MNIST's format, folders of images."""

import gzip
import hashlib

import numpy as np
import pytest
from PIL import Image

from coupling_core import ComputeError
from coupling_core.experiments.pretraining import packages
from coupling_core.experiments.vision import fashion
from coupling_core.experiments.vision.data import load_pictures
from coupling_core.experiments.vision.folders import read_folder


def idx(array):
    """An array of bytes in MNIST's format, compressed."""
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(head + array.tobytes(), mtime=0)


def image(path, brightness, mode="L", size=(8, 8)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, brightness).save(path)


def folder_of(root, count=10):
    """Dark cats and bright dogs."""
    for number in range(count):
        image(root / "cat" / f"{number}.png", 10 + number)
        image(root / "dog" / f"{number}.png", 200 + number)
    return root


def test_digits_are_whole_and_split_and_drawn_always_alike():
    digits = load_pictures("digits", 8, print)
    assert (digits.learned.shape, digits.held_out.shape) == ((1617, 8, 8, 1), (180, 8, 8, 1))
    assert digits.learned.max() == 255
    assert set(digits.held_out_labels) == set(range(10))
    some, other = digits.draw(100), digits.draw(100)
    assert np.array_equal(some.learned, other.learned)
    rows = {row.tobytes(): label for row, label in zip(digits.learned, digits.labels, strict=True)}
    assert [rows[row.tobytes()] for row in some.learned] == some.labels.tolist()
    assert len(set(some.labels)) == 10
    assert digits.draw(None) is digits.draw(10_000) is digits


@pytest.fixture
def package(monkeypatch):
    """A package that has three images to learn and two to test with."""
    images = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
    labels = np.array([0, 9, 4], np.uint8)
    files = {
        name: idx(array[: 2 if name.startswith("t10k") else 3])
        for name, array in zip(fashion._FILES, (images, labels, images, labels), strict=True)
    }

    def unpack(name, folder):
        place = folder / "usr/share/datasets/fashion-mnist"
        place.mkdir(parents=True)
        for file, content in files.items():
            (place / file).write_bytes(content)

    monkeypatch.setattr(packages, "fetch_debian", unpack)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(fashion, "_FILES", hashes)
    return files


def test_fashion_mnist_is_fetched_once(package, monkeypatch):
    told = []
    found = load_pictures("fashion-mnist", 28, told.append)
    assert np.array_equal(found.learned.ravel(), np.arange(3 * 28 * 28) % 256)
    assert found.held_out.shape == (2, 28, 28, 1)
    assert [found.classes[label] for label in found.labels] == ["T-shirt/top", "ankle boot", "coat"]
    monkeypatch.setattr(packages, "fetch_debian", None)
    again = load_pictures("fashion-mnist", 28, told.append)
    assert np.array_equal(again.learned, found.learned)
    assert len(told) == 1


def test_another_version_of_the_package_is_refused_and_not_kept(package, tmp_path):
    name = "t10k-labels-idx1-ubyte.gz"
    package[name] += b"\0"
    with pytest.raises(ComputeError, match=name):
        load_pictures("fashion-mnist", 28, print)
    assert not list((tmp_path / "home").iterdir())


@pytest.mark.slow  # asks Debian's archive
@pytest.mark.real
def test_debians_package_has_the_images_of_the_suite(tmp_path, monkeypatch):
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path))
    found = load_pictures("fashion-mnist", 28, print)
    assert found.learned.shape == (60_000, 28, 28, 1)  # its files are those of known digests


def test_a_folder_without_a_split_has_a_tenth_held_out(tmp_path):
    found = load_pictures(str(folder_of(tmp_path / "pets")), 4, print)
    assert (found.name, found.classes) == ("pets", ("cat", "dog"))
    assert (found.learned.shape, found.held_out.shape) == ((18, 4, 4, 1), (2, 4, 4, 1))
    bright = np.concatenate([found.learned, found.held_out])[:, 0, 0, 0]
    labels = np.concatenate([found.labels, found.held_out_labels])
    assert np.array_equal(labels, bright > 100)
    pixels = found.learned / 255
    assert [*found.mean, *found.std] == pytest.approx([pixels.mean(), pixels.std()])


def test_a_folder_with_a_split_keeps_it_and_colour_where_any_image_has_it(tmp_path):
    folder_of(tmp_path / "train", 3)
    image(tmp_path / "val" / "dog" / "red.JPG", (255, 0, 0), "RGB", (16, 12))
    (tmp_path / "train" / "cat" / "notes.txt").write_text("no image")
    image(tmp_path / "val" / "cat" / "grey.png", 77)
    found = read_folder(tmp_path, 8)
    assert found.learned.shape == (6, 8, 8, 3)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.held_out_labels.tolist() == [0, 1]
    assert (found.held_out[0] == 77).all()
    assert found.held_out[1, 4, 4].tolist() == pytest.approx([255, 0, 0], abs=3)


def test_pictures_of_16_bits_are_grey_and_all_are_turned_as_the_camera_held_them(tmp_path):
    folder_of(tmp_path, 1)
    exif, half = Image.Exif(), np.zeros((8, 8), np.uint16)
    exif[0x0112], half[:4] = 6, 65535  # bright above, and above belongs to the right
    Image.fromarray(half).save(tmp_path / "cat" / "0.png", exif=exif)
    found = read_folder(tmp_path, 8)
    pixels = np.concatenate([found.learned, found.held_out])
    assert pixels.shape == (2, 8, 8, 1)
    assert any((each[:, 4:] == 255).all() and not each[:, :3].any() for each in pixels)


def test_cifar_comes_through_datasets(monkeypatch):
    import datasets

    def load(repo):
        label = datasets.ClassLabel(names=["cat", "dog"])
        features = datasets.Features({"img": datasets.Image(), "fine_label": label})
        images = [Image.fromarray(np.full((32, 32, 3), 20 * i, np.uint8)) for i in range(4)]
        content = {"img": images, "fine_label": [0, 1, 0, 1]}
        rows = datasets.Dataset.from_dict(content, features=features)
        return datasets.DatasetDict({"train": rows, "test": rows})

    monkeypatch.setattr(datasets, "load_dataset", load)
    found = load_pictures("cifar100", 32, print)
    assert found.learned[:, 0, 0, 0].tolist() == [0, 20, 40, 60]
    assert (found.labels.tolist(), found.classes) == ([0, 1, 0, 1], ("cat", "dog"))
    with pytest.raises(ComputeError, match="label"):
        load_pictures("cifar10", 32, print)
