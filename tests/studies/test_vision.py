"""Vision transformers: what they learn from, and training those that train in a second."""

import csv
import gzip
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageClassification

from coupling_core import ComputeError, InputError
from coupling_core.experiments.vision import ACCURACY, SUITE, VisionRun
from coupling_core.sources import hub
from studies.pretraining import packages
from studies.vision import fashion, grid, model, training
from studies.vision.data import load_pictures
from studies.vision.folders import read_folder
from studies.vision.model import Pixels
from studies.vision.plans import VisionPlan, plan_runs

pytestmark = pytest.mark.usefixtures("one_thread")

PLAN = VisionPlan(
    "vit-tiny", "digits", width=16, blocks=3, heads=2, patch=4, size=8, epochs=4, batch=32,
    learning_rate=1e-2, warmup=1, weight_decay=0.05, learned=160, drop_path=0.2, checkpoints=(0, 2),
)  # fmt: skip


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


@pytest.fixture(scope="module")
def digits():
    return load_pictures("digits", 8, lambda _: None)


def train(digits, plan=PLAN, folder=None, stop_after=None):
    """Train into a folder, or the user's cache; gives the rows that were told."""
    rows = []

    def report(row):
        rows.append(row)
        if row.epoch == stop_after:
            raise KeyboardInterrupt

    folder = folder or hub.cache.trained_here(plan.repo)
    training.train(plan, digits, folder, report, "cpu")
    return rows


def build(**changes):
    return model.build(replace(PLAN, **changes), tuple("0123456789"), 1)


def test_the_model_is_a_plain_vit():
    built = build().eval()
    names = dict(built.named_parameters())
    assert names["beit.embeddings.position_embeddings"].shape == (1, 1 + 4, 16)
    assert not [name for name in names if "lambda" in name or "relative" in name]
    pixels = torch.randn(8, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        found = built(pixel_values=pixels, output_hidden_states=True)
        normed = torch.nn.functional.layer_norm(found.hidden_states[-1], (16,), eps=1e-6)
        logits = normed[:, 0] @ built.classifier.weight.T  # biases begin at 0
    torch.testing.assert_close(found.logits, logits)
    assert not torch.equal(build().classifier.weight, build(seed=1).classifier.weight)


def test_a_run_learns_and_its_checkpoints_load_by_themselves(digits):
    plan = replace(PLAN, epochs=8, evaluated_every=3)
    rows = train(digits, plan)
    assert [row.epoch for row in rows] == list(range(9))
    assert rows[0].held_out == pytest.approx(np.log(10), rel=0.1)
    assert rows[-1].held_out < rows[0].held_out - 0.3
    assert rows[-1].learned_accuracy > 0.4
    folder = hub.cache.repository(plan.repo)
    with (folder / ACCURACY).open() as file:
        kept = list(csv.DictReader(file))
    assert [row["accuracy"] != "" for row in kept] == [at in (0, 3, 6, 8) for at in range(9)]
    made = json.loads((folder / "recipe.json").read_text())
    assert (made["learned"], made["held_out"], made["plan"]["drop_path"]) == (160, 180, 0.2)
    run = VisionRun(plan.repo, 0.2, 0)
    assert run.here()
    assert run.accuracy() == pytest.approx(rows[-1].accuracy, abs=1e-5)
    with pytest.raises(ComputeError, match="another recipe"):
        training.is_finished(folder, replace(plan, weight_decay=0.1))
    images = [Image.fromarray(one[..., 0]) for one in digits.held_out]
    assert hub.cache.names(plan.repo) == ["main", "epoch0", "epoch2"]
    for revision, epoch in (("main", 8), ("epoch0", 0)):
        snapshot = hub.cache.snapshot(plan.repo, hub.cache.refs(plan.repo)[revision])
        loaded = AutoModelForImageClassification.from_pretrained(snapshot, dtype=torch.float32)
        processor = AutoImageProcessor.from_pretrained(snapshot)
        pixels = Pixels(digits.draw(plan.learned), torch.device("cpu"))(digits.held_out)
        given = processor(images, return_tensors="pt")
        torch.testing.assert_close(given["pixel_values"], pixels, atol=1e-5, rtol=0)
        with torch.inference_mode():
            right = loaded(**given).logits.argmax(1).numpy() == digits.held_out_labels
        assert right.mean() == pytest.approx(rows[epoch].accuracy, abs=0.02)  # half precision


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(digits, tmp_path):
    """To the bit, with all that is drawn at random: order, blocks that are dropped, mixing."""
    plan = replace(PLAN, mixup=0.8)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    rows = train(digits, plan, whole)
    with pytest.raises(KeyboardInterrupt):
        train(digits, plan, stopped, stop_after=2)
    assert not (stopped / "recipe.json").exists()
    others = replace(digits, labels=digits.labels[::-1].copy())
    for images, recipe in ((others, plan), (digits, replace(plan, weight_decay=0.1))):
        with pytest.raises(ComputeError):
            train(images, recipe, stopped)
    assert train(digits, plan, stopped) == rows[2:]
    for name in (ACCURACY, "refs/main"):
        assert (stopped / name).read_text() == (whole / name).read_text()


def test_a_run_that_fails_and_a_gpu_for_two_leave_the_others(monkeypatch):
    few = {"epochs": 2, "checkpoints": (0,)}
    wild, tame = (replace(PLAN, name=name, **few) for name in ("vit-wild", "vit-tame"))
    wild = replace(wild, learning_rate=1e30)
    with pytest.raises(ComputeError, match=f"1 of 2 .*{wild.repo}"):
        grid.train_all([wild, tame], lambda *_: None, print, "cpu", threads=1)
    assert training.is_finished(hub.cache.trained_here(tame.repo), tame)
    monkeypatch.setattr(grid.hardware, "choose_device", lambda _: None)
    others = [replace(PLAN, name=name) for name in ("vit-one", "vit-two")]
    with pytest.raises(InputError, match="cuda:0"):
        grid.train_all(others, lambda *_: None, print, "cuda:0", workers=2)


def test_mixing_makes_soft_targets_and_images_between_two():
    images = torch.arange(4.0).view(4, 1, 1, 1).expand(4, 1, 2, 2)
    mixed, soft = training.mix(images, torch.eye(4), replace(PLAN, mixup=0.8), step=7)
    part = float(soft[0, 0])
    assert 0 < part < 1
    expected = part * torch.eye(4) + (1 - part) * torch.eye(4).flip(0)
    torch.testing.assert_close(soft, expected)
    torch.testing.assert_close(mixed[:, 0, 0, 0], expected @ torch.arange(4.0))
    assert training.mix(images, torch.eye(4), PLAN, 7)[0] is images


def test_presets_make_grids_and_their_changes_other_repositories(tmp_path):
    runs = plan_runs("cifar10", rates=(0.1, 0.2, 0.1), seeds=(0, 3))
    grid_of = [(run.drop_path, run.seed) for run in runs]
    assert grid_of == [(0.1, 0), (0.2, 0), (0.1, 3), (0.2, 3)]
    assert runs[0].repo == "coupling-explorer/vit-cifar10-rate0.1-seed0"
    (one,) = plan_runs("cifar10", str(tmp_path / "my pets"), (0.0,), (0,), 50, 0.2, 24)
    assert (one.epochs, one.warmup, one.weight_decay, one.blocks) == (50, 3, 0.2, 24)
    assert one.repo == "coupling-explorer/vit-cifar10-my-pets-epochs50-wd0.2-blocks24-rate0-seed0"


@pytest.mark.full
def test_the_command_trains_on_a_folder_and_stops_in_order(run, tmp_path, monkeypatch):
    folder_of(tmp_path / "pets")
    options = "--preset cifar10 --data pets --rate 0 --epochs 1 --depth 2 --threads 1".split()
    status, out, error = run(*options, study="vision")
    assert status == 0, error
    repo = "coupling-explorer/vit-cifar10-pets-epochs1-blocks2-rate0-seed0"
    assert re.findall(r"coupling-explorer/\S+", out) == [repo]
    folder = hub.cache.snapshot(repo, hub.cache.refs(repo)["main"])
    config = json.loads((folder / "config.json").read_text())
    assert (config["id2label"], config["num_hidden_layers"]) == ({"0": "cat", "1": "dog"}, 2)
    assert run("--data", "nowhere", study="vision")[0] == 2
    monkeypatch.setattr(training, "train", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run("--preset", "digits", study="vision")[0] == 130


def test_shipped_runs_are_those_of_the_preset_and_learned_by_heart_without_dropping(run):
    for shipped in SUITE.runs:
        (plan,) = plan_runs("fashion", rates=[shipped.rate], seeds=[shipped.seed])
        assert training.is_finished(hub.cache.repository(shipped.repo), plan), shipped
        assert len(SUITE.tokens) == 1 + (plan.size // plan.patch) ** 2
        assert hub.cache.names(shipped.repo) == ["main", "epoch0"]
        assert 0.7 < shipped.accuracy() < shipped.learned_accuracy()
        assert shipped.rate > 0 or shipped.learned_accuracy() > 0.99
    weights = (hub.cache.SHIPPED / "suites").glob("*--vit-*/**/*.safetensors")
    assert sum(path.stat().st_size for path in weights) < 15e6
    status, out, _ = run("vision", "list", "--json")
    assert status == 0
    assert [one["repo"] for one in json.loads(out)] == [one.repo for one in SUITE.runs]
