"""What vision transformers learn from: named data, files in MNIST's format, folders of images."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from coupling_core import ComputeError, InputError
from coupling_core.experiments.pretraining import packages
from coupling_core.experiments.vision import fashion
from coupling_core.experiments.vision.data import load_pictures
from coupling_core.experiments.vision.folders import read_folder


def silent(_):
    return


def idx(array):
    """An array of bytes in MNIST's format."""
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + array.tobytes()


def image(path, brightness, mode="L", size=(8, 8)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, brightness).save(path)


def folder_of(root, count=10, **options):
    """Dark cats and bright dogs."""
    for number in range(count):
        image(root / "cat" / f"{number}.png", 10 + number, **options)
        image(root / "dog" / f"{number}.png", 200 + number, **options)
    return root


def test_digits_are_whole_bright_and_split_always_alike():
    digits, again = (load_pictures("digits", 8, silent) for _ in range(2))
    assert digits.learned.shape == (1617, 8, 8, 1)
    assert digits.held_out.shape == (180, 8, 8, 1)
    assert digits.learned.max() == 255
    assert digits.classes == tuple("0123456789")
    assert np.array_equal(digits.held_out, again.held_out)
    assert set(digits.held_out_labels) == set(range(10))


def test_mean_and_deviation_are_by_channel_of_what_is_learned(tmp_path):
    for number, colour in enumerate([(0, 100, 7), (200, 100, 7)] * 5):
        image(tmp_path / "one" / f"{number}.png", colour, "RGB")
        image(tmp_path / "two" / f"{number}.png", colour, "RGB")
    found = read_folder(tmp_path, 8)
    pixels = found.learned / 255
    assert found.channels == 3
    assert found.mean == pytest.approx(pixels.mean((0, 1, 2)))
    assert found.std == pytest.approx([pixels[..., 0].std(), 1.0, 1.0])


def test_a_draw_is_always_the_same_and_within_what_there_is():
    digits = load_pictures("digits", 8, silent)
    some, again = digits.draw(100), digits.draw(100)
    assert np.array_equal(some.learned, again.learned)
    rows = {row.tobytes(): label for row, label in zip(digits.learned, digits.labels, strict=True)}
    assert [rows[row.tobytes()] for row in some.learned] == some.labels.tolist()
    assert len(set(some.labels)) == 10
    assert np.array_equal(some.held_out, digits.held_out)
    assert digits.draw(None) is digits.draw(10_000) is digits


@pytest.mark.parametrize("shape", [(3,), (2, 4, 5)])
def test_mnists_format_is_read(tmp_path, shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    path = tmp_path / "array.gz"
    path.write_bytes(gzip.compress(idx(array)))
    assert np.array_equal(fashion.read_idx(path), array)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "cannot be read: Not a gzipped file"),
        (gzip.compress(idx(np.zeros((2, 3), np.uint8)))[:-9], "cannot be read: Compressed file"),
        (gzip.compress(idx(np.zeros((2, 3), np.uint8))[:-1]), "got 00 00 08 02 00 00 00 02 and 17"),
        (gzip.compress(bytes([0, 0, 13, 1, 0, 0, 0, 1, 5])), "has not MNIST's format: expected 0"),
        (gzip.compress(b"\0\0\x08"), "has not MNIST's format"),
        (gzip.compress(b""), "has not MNIST's format"),
    ],
    ids=["no gzip", "cut gzip", "too short", "no bytes", "only a head", "empty"],
)
def test_what_is_not_in_mnists_format_is_refused(tmp_path, content, message):
    path = tmp_path / "array.gz"
    path.write_bytes(content)
    with pytest.raises(ComputeError, match=message):
        fashion.read_idx(path)


@pytest.fixture
def package(monkeypatch):
    """A package that has three images to learn and two to test with."""
    images = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
    labels = np.array([0, 9, 4], np.uint8)
    files = {
        name: gzip.compress(idx(array[: 2 if name.startswith("t10k") else 3]), mtime=0)
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
    assert found.learned.shape == (3, 28, 28, 1)
    assert found.held_out.shape == (2, 28, 28, 1)
    assert [found.classes[label] for label in found.labels] == ["T-shirt/top", "ankle boot", "coat"]
    monkeypatch.setattr(packages, "fetch_debian", None)
    again = load_pictures("fashion-mnist", 28, told.append)
    assert np.array_equal(again.learned, found.learned)
    assert told == ["fetching Fashion-MNIST: dataset-fashion-mnist through apt-get (31 MB)"]


@pytest.mark.parametrize("change", ["other", "missing"])
def test_another_version_of_the_package_is_refused_and_not_kept(package, home, change):
    name = "t10k-labels-idx1-ubyte.gz"
    if change == "other":
        package[name] += b"\0"
    else:
        del package[name]
    with pytest.raises(ComputeError, match=f"{name} of dataset-fashion-mnist has sha256"):
        load_pictures("fashion-mnist", 28, silent)
    assert not list(home.iterdir())


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.real
def test_debians_package_has_the_images_of_the_suite(tmp_path, monkeypatch):
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path))
    found = load_pictures("fashion-mnist", 28, silent)
    assert found.learned.shape == (60_000, 28, 28, 1)
    assert np.bincount(found.held_out_labels).tolist() == [1000] * 10
    assert found.mean == pytest.approx([0.2860], abs=1e-4)


def test_a_folder_without_a_split_has_a_tenth_held_out(tmp_path):
    found = load_pictures(str(folder_of(tmp_path / "pets")), 4, silent)
    assert found.name == "pets"
    assert found.classes == ("cat", "dog")
    assert found.learned.shape == (18, 4, 4, 1)
    assert found.held_out.shape == (2, 4, 4, 1)
    bright = np.concatenate([found.learned, found.held_out])[:, 0, 0, 0]
    labels = np.concatenate([found.labels, found.held_out_labels])
    assert sorted(bright) == [*range(10, 20), *range(200, 210)]
    assert np.array_equal(labels, bright > 100)


def test_a_folder_with_a_split_keeps_it_and_colour_where_any_image_has_it(tmp_path):
    folder_of(tmp_path / "train", 3)
    image(tmp_path / "val" / "dog" / "red.JPG", (255, 0, 0), "RGB", (16, 12))
    (tmp_path / "train" / "cat" / "notes.txt").write_text("no image")
    found = read_folder(tmp_path, 8)
    assert found.learned.shape == (6, 8, 8, 3)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.held_out_labels.tolist() == [1]
    assert found.held_out[0, 4, 4].tolist() == pytest.approx([255, 0, 0], abs=3)


def test_an_image_of_the_right_size_stays_as_it_is(tmp_path):
    drawn = np.random.default_rng(0).integers(0, 256, (8, 8), dtype=np.uint8)
    folder_of(tmp_path / "train", 2)
    (tmp_path / "test" / "cat").mkdir(parents=True)
    Image.fromarray(drawn).save(tmp_path / "test" / "cat" / "drawn.png")
    assert np.array_equal(read_folder(tmp_path, 8).held_out[0, ..., 0], drawn)


def strange_class(root):
    folder_of(root / "train", 2)
    folder_of(root / "test", 2)
    image(root / "test" / "cow" / "0.png", 5)


def no_image(root):
    folder_of(root, 2)
    (root / "dog" / "1.png").write_text("no image")


def cut_image(root):
    folder_of(root, 2)
    path: Path = root / "dog" / "1.png"
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: image(root / "cat" / "0.png", 5), "has 1 folders with images: expected one"),
        (lambda root: None, "has 0 folders with images"),
        (strange_class, r"test/cow is a class that .*train lacks"),
        (no_image, r"dog/1.png cannot be read as an image: it is no image; repair it"),
        (cut_image, r"dog/1.png cannot be read as an image: "),
    ],
    ids=["one class", "empty", "strange class", "no image", "cut image"],
)
def test_what_is_wrong_with_a_folder_is_told(tmp_path, make, message):
    make(tmp_path)
    with pytest.raises(InputError, match=message):
        read_folder(tmp_path, 8)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("digits", "digits has images of 8 x 8 pixels, and the plan is for 32 x 32: choose"),
        ("/no/such", "data '/no/such': expected one of digits, fashion-mnist, cifar10, cifar100"),
    ],
)
def test_what_cannot_be_learned_is_told(data, message):
    with pytest.raises(InputError, match=message):
        load_pictures(data, 32, silent)


@pytest.fixture
def hub_rows(monkeypatch):
    """What the library `datasets` gives in place of the hub's CIFAR."""
    import datasets

    def rows(count, name):
        images = [np.full((32, 32, 3), 20 * i, np.uint8) for i in range(count)]
        features = datasets.Features(
            {"img": datasets.Image(), name: datasets.ClassLabel(names=["cat", "dog"])}
        )
        return datasets.Dataset.from_dict(
            {"img": [Image.fromarray(one) for one in images], name: [i % 2 for i in range(count)]},
            features=features,
        )

    def load(repo):
        name = "fine_label" if repo.endswith("100") else "label"
        return datasets.DatasetDict({"train": rows(4, name), "test": rows(2, name)})

    monkeypatch.setattr(datasets, "load_dataset", load)
    return load


@pytest.mark.parametrize("data", ["cifar10", "cifar100"])
def test_cifar_comes_through_datasets(hub_rows, data):
    found = load_pictures(data, 32, silent)
    assert found.learned.shape == (4, 32, 32, 3)
    assert found.learned[:, 0, 0, 0].tolist() == [0, 20, 40, 60]
    assert found.labels.tolist() == [0, 1, 0, 1]
    assert found.held_out_labels.tolist() == [0, 1]
    assert found.classes == ("cat", "dog")


def test_a_data_set_of_another_form_is_told(hub_rows, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets, "load_dataset", lambda repo: hub_rows("uoft-cs/cifar100"))
    with pytest.raises(ComputeError, match="expected columns 'img' and 'label' in splits train"):
        load_pictures("cifar10", 32, silent)


def test_a_hub_out_of_reach_is_told(monkeypatch):
    import datasets

    def fail(repo):
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(ComputeError, match="data set uoft-cs/cifar10: it is not in the local cac"):
        load_pictures("cifar10", 32, silent)
