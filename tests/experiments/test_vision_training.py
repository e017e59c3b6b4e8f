"""Training vision transformers, on models that train in a second."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageClassification

from coupling_core import ComputeError, InputError
from coupling_core.experiments.vision import (
    PRESETS,
    SUITE,
    VisionPlan,
    grid,
    model,
    plan_runs,
    training,
)
from coupling_core.experiments.vision.data import load_pictures
from coupling_core.experiments.vision.model import Pixels
from coupling_core.experiments.vision.suite import ACCURACY, VisionRun
from coupling_core.sources import hub

pytestmark = pytest.mark.usefixtures("one_thread")

PLAN = VisionPlan(
    "vit-tiny", "digits", width=16, blocks=3, heads=2, patch=4, size=8, epochs=4, batch=32,
    learning_rate=1e-2, warmup=1, weight_decay=0.05, learned=160, drop_path=0.2, checkpoints=(0, 2),
)  # fmt: skip


@pytest.fixture(scope="module")
def digits():
    return load_pictures("digits", 8, lambda _: None)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def presets(monkeypatch):
    """Only one, which trains in no time."""
    preset = replace(PRESETS["digits"], plan=replace(PLAN, drop_path=0.0), rates=(0.0, 0.4))
    monkeypatch.setattr("coupling_core.experiments.vision.plans.PRESETS", {"digits": preset})
    return preset


def train(digits, plan=PLAN, stop_after=None, folder=None):
    """Train into the user's cache, or what is told; gives the rows that were told."""
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


def test_halves_of_blocks_are_dropped_in_training_only_and_more_of_the_last():
    layers = build(drop_path=0.6).beit.layers.requires_grad_(False)
    state = torch.randn(2000, 5, 16, generator=torch.Generator().manual_seed(0))
    for layer, rate in zip(layers, (0.0, 0.3, 0.6), strict=True):
        torch.manual_seed(0)
        added = layer(state) - state
        skipped = (added.abs().amax((1, 2)) == 0).double().mean()
        assert float(skipped) == pytest.approx(rate**2, abs=0.03)  # both halves
        layer.eval()
        whole = layer(state)
        assert torch.equal(whole, layer(state))
        assert float(((whole - state).abs().amax((1, 2)) == 0).double().mean()) == 0


def test_a_run_learns_and_keeps_what_it_is_told_to(digits, home):
    plan = replace(PLAN, epochs=8, evaluated_every=3)
    rows = train(digits, plan)
    assert [row.epoch for row in rows] == list(range(9))
    assert rows[0].held_out == pytest.approx(np.log(10), rel=0.1)
    assert rows[-1].held_out < rows[0].held_out - 0.3
    assert rows[-1].learned_accuracy > 0.4
    assert hub.cache.names(plan.repo) == ["main", "epoch0", "epoch2"]
    folder = hub.cache.repository(plan.repo)
    kept_files = {ACCURACY, "files.json", "recipe.json", "refs", "snapshots"}
    assert {path.name for path in folder.iterdir()} == kept_files
    with (folder / ACCURACY).open() as file:
        kept = list(csv.DictReader(file))
    assert [row["accuracy"] != "" for row in kept] == [at in (0, 3, 6, 8) for at in range(9)]
    made = json.loads((folder / "recipe.json").read_text())
    assert made["plan"]["drop_path"] == 0.2
    assert (made["learned"], made["held_out"]) == (160, 180)
    run = VisionRun(plan.repo, 0.2, 0)
    assert run.here()
    assert run.accuracy() == pytest.approx(rows[-1].accuracy, abs=1e-5)
    assert run.learned_accuracy() == pytest.approx(rows[-1].learned_accuracy, abs=1e-5)
    with pytest.raises(ComputeError, match="another recipe"):
        training.is_finished(folder, replace(plan, weight_decay=0.1))


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(digits, tmp_path):
    """To the bit, with all that is drawn at random: order, blocks that are dropped, mixing."""
    plan = replace(PLAN, mixup=0.8)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    rows = train(digits, plan, folder=whole)
    with pytest.raises(KeyboardInterrupt):
        train(digits, plan, stop_after=2, folder=stopped)
    assert not (stopped / "recipe.json").exists()
    others = replace(digits, labels=digits.labels[::-1].copy())
    for images, recipe in ((others, plan), (digits, replace(plan, weight_decay=0.1))):
        with pytest.raises(ComputeError):
            train(images, recipe, folder=stopped)
    rest = train(digits, plan, folder=stopped)
    assert rest == rows[2:]
    assert (stopped / ACCURACY).read_text() == (whole / ACCURACY).read_text()
    assert (stopped / "refs/main").read_text() == (whole / "refs/main").read_text()


def test_a_checkpoint_loads_by_itself_and_gives_the_same_logits(digits, home):
    rows = train(digits)
    images = [Image.fromarray(one[..., 0]) for one in digits.held_out]
    for revision, epoch in (("main", 4), ("epoch2", 2), ("epoch0", 0)):
        folder = hub.cache.snapshot(PLAN.repo, hub.cache.refs(PLAN.repo)[revision])
        loaded = AutoModelForImageClassification.from_pretrained(folder, dtype=torch.float32)
        processor = AutoImageProcessor.from_pretrained(folder)
        own = build().eval()
        own.load_state_dict(loaded.state_dict())
        pixels = Pixels(digits.draw(PLAN.learned), torch.device("cpu"))(digits.held_out)
        with torch.inference_mode():
            logits = loaded(**processor(images, return_tensors="pt")).logits
            torch.testing.assert_close(logits, own(pixel_values=pixels).logits, atol=1e-5, rtol=0)
        accuracy = (logits.argmax(1).numpy() == digits.held_out_labels).mean()
        assert accuracy == pytest.approx(rows[epoch].accuracy, abs=0.02)  # half precision
        assert loaded.config.id2label[3] == "3"
        assert loaded.config.drop_path_rate == 0.2


def test_mixing_makes_soft_targets_and_images_between_two():
    targets = torch.eye(4)
    images = torch.arange(4.0).view(4, 1, 1, 1).expand(4, 1, 2, 2)
    plan = replace(PLAN, mixup=0.8)
    mixed, soft = training.mix(images, targets, plan, step=7)
    part = float(soft[0, 0])
    assert 0 < part < 1
    expected = part * torch.eye(4) + (1 - part) * torch.eye(4).flip(0)
    torch.testing.assert_close(soft, expected)
    torch.testing.assert_close(mixed[:, 0, 0, 0], expected @ torch.arange(4.0))
    again, other = (training.mix(images, targets, plan, step)[1] for step in (7, 8))
    assert torch.equal(again, soft)
    assert not torch.equal(other, soft)
    assert training.mix(images, targets, PLAN, 7)[0] is images


def test_a_loss_that_is_no_number_ends_a_run_and_not_the_others(home, presets):
    wild, tame = plan_runs("digits", rates=(0.0, 0.4))
    wild = replace(wild, learning_rate=1e30)
    with pytest.raises(ComputeError, match="1 of 2"):
        grid.train_all([wild, tame], lambda *_: None, lambda _: None, "cpu")
    assert VisionRun(tame.repo, 0.4, 0).here()


def test_presets_make_grids_and_their_changes_other_repositories(tmp_path):
    runs = plan_runs("cifar10", rates=(0.1, 0.2, 0.1), seeds=(0, 3))
    grid_of = [(run.drop_path, run.seed) for run in runs]
    assert grid_of == [(0.1, 0), (0.2, 0), (0.1, 3), (0.2, 3)]
    assert runs[0].repo == "coupling-explorer/vit-cifar10-rate0.1-seed0"
    (one,) = plan_runs("cifar10", str(tmp_path / "my pets"), (0.0,), (0,), 50, 0.2, 24)
    assert (one.epochs, one.warmup, one.weight_decay, one.blocks) == (50, 3, 0.2, 24)
    assert one.repo == "coupling-explorer/vit-cifar10-my-pets-epochs50-wd0.2-blocks24-rate0-seed0"
    (same,) = plan_runs("cifar10", "cifar10", (0.0,), epochs=500, blocks=12)
    assert same == plan_runs("cifar10", rates=(0.0,))[0]


@pytest.mark.slow
def test_the_command_trains_a_grid_and_goes_on_with_what_was_killed(run, home, presets, digits):
    finished, killed = plan_runs("digits")
    train(digits, finished)
    with pytest.raises(KeyboardInterrupt):
        train(digits, killed, stop_after=2)
    before = (hub.cache.trained_here(finished.repo) / "recipe.json").stat().st_mtime_ns
    third = ("--rate", "0", "--rate", "0.4", "--rate", "0.2")
    arguments = ("vision", "train", *third, "--workers", "2", "--threads", "1", "--device", "cpu")
    status, out, error = run(*arguments)
    assert status == 0, error
    assert (hub.cache.trained_here(finished.repo) / "recipe.json").stat().st_mtime_ns == before
    assert "3 of 3 runs" in error
    assert re.search(r"vit-tiny-rate0\.4-seed0 +0\.4 +0 +[0-9.]+ % +[0-9.]+ % +here", out)
    whole = home / "whole"
    train(digits, killed, folder=whole)
    assert hub.cache.refs(killed.repo)["main"] == (whole / "refs/main").read_text()


@pytest.mark.full
def test_the_command_trains_on_a_folder(run, home, tmp_path):
    draw = np.random.default_rng(0)
    for part, number in [("train", i) for i in range(6)] + [("test", 0)]:
        for name, low in (("cat", 0), ("dog", 128)):
            path = tmp_path / "pets" / part / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(draw.integers(low, low + 128, (40, 30, 3), np.uint8)).save(path)
    options = "--preset cifar10 --data pets --rate 0 --epochs 1 --blocks 2 --threads 1".split()
    status, out, error = run("vision", "train", *options)
    assert status == 0, error
    repo = "coupling-explorer/vit-cifar10-pets-epochs1-blocks2-rate0-seed0"
    assert re.findall(r"coupling-explorer/\S+", out) == [repo]
    folder = hub.cache.snapshot(repo, hub.cache.refs(repo)["main"])
    config = json.loads((folder / "config.json").read_text())
    assert config["id2label"] == {"0": "cat", "1": "dog"}
    assert (config["num_hidden_layers"], config["hidden_size"]) == (2, 192)


def test_the_command_refuses_and_stops_in_order(run, home, presets, monkeypatch):
    for options in (["--data", "nowhere"], ["--device", "abacus"]):
        status, _, error = run("vision", "train", *options)
        assert (status, len(error.strip().splitlines())) == (2, 1)
    monkeypatch.setattr(training, "train", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run("vision", "train")[0] == 130
    monkeypatch.setattr(grid.hardware, "choose_device", lambda _: None)
    with pytest.raises(InputError, match="2 workers"):  # which would share one GPU
        grid.train_all(plan_runs(), lambda *_: None, lambda _: None, "cuda:0", workers=2)


def test_shipped_runs_are_those_of_the_preset_and_learned_by_heart_without_dropping(run):
    for shipped in SUITE.runs:
        folder = hub.cache.repository(shipped.repo)
        made = json.loads((folder / "recipe.json").read_text())
        (plan,) = plan_runs(SUITE.preset, rates=[shipped.rate], seeds=[shipped.seed])
        assert training.is_finished(folder, plan), shipped
        assert made["learned"] == plan.learned
        assert hub.cache.names(shipped.repo) == ["main", "epoch0"]
        assert 0.7 < shipped.accuracy() < shipped.learned_accuracy()
        assert shipped.rate > 0 or shipped.learned_accuracy() > 0.99
    weights = (hub.cache.SHIPPED / "suites").glob("*--vit-*/**/*.safetensors")
    assert sum(path.stat().st_size for path in weights) < 15e6
    status, out, _ = run("vision", "list", "--json")
    assert status == 0
    assert {(one["rate"], one["seed"]) for one in json.loads(out)} == {
        (one.rate, one.seed) for one in SUITE.runs
    }


@pytest.mark.full
def test_what_the_app_reads_of_a_suite_needs_no_torch():
    program = (
        "import sys; from coupling_core.experiments.vision import SUITE; SUITE.runs[0].accuracy(); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
