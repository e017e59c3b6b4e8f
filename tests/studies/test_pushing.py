"""Runs that are pushed: what is measured of them, what is told of them, in planted worlds."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import GPTNeoXConfig

from coupling_core.analysis.scores import Interval
from coupling_core.base.folders import ROOT
from coupling_core.experiments import pushing
from coupling_core.experiments.pretraining.corpus import Corpus
from coupling_core.experiments.pushing import Difference, OutcomesOfPictures, difference, planned
from studies.pretraining.plans import PLANS
from studies.pushing import __main__ as running
from studies.pushing import language as of_language
from studies.pushing import pictures as of_pictures
from studies.pushing.at_scale import main
from studies.pushing.outcomes import calibration, measure_outcomes
from studies.pushing.page import page, verdict
from studies.pushing.plans import LANGUAGE, VISION
from studies.pushing.training import train
from studies.vision.pictures import Pictures
from studies.vision.plans import PRESETS

pytestmark = pytest.mark.usefixtures("one_thread")

PLANTED = OutcomesOfPictures(
    step=600, loss=4.0, calibration=0.02, skipping=0.5, corrected=0.15, alignment=0.1, chance=0.6,
    locality=0.1, line_shape=2.5, accuracy=0.7,
)  # fmt: skip
MOVED = ("loss", "calibration", "skipping", "line_shape", "corrected", "accuracy")
PUSHED = {"raise": {"corrected": 0.2}, "lower": {"corrected": -0.1}}
ANSWERS = HELPS, MISSED, NO_USE, COSTS, NEITHER = (
    "coupling helps",
    "less of it is not missed",
    "more of it is of no use",
    "whatever it pushes to",
    "without making them good",
)


def world(noise=0.001, **of):
    """Runs whose arms differ from the control by what is told, and by noise of the seed."""
    rng = np.random.default_rng(0)
    made = {arm.name: {} for arm in LANGUAGE.arms}
    for seed in pushing.SEEDS:
        shared = rng.normal()
        for arm in LANGUAGE.arms:
            told, drawn = of.get(arm.name, {}), noise * rng.normal(size=6)
            own = {
                name: getattr(PLANTED, name) + told.get(name, 0.0) + shared + one
                for name, one in zip(MOVED, drawn, strict=True)
            }
            made[arm.name][seed] = [replace(PLANTED, **own)]
    return made


def pushed(raised, lowered, noise=0.001):
    """Runs of which coupling moved, and the loss by so much."""
    losses = {"raise": {"loss": raised}, "lower": {"loss": lowered}}
    return world(noise, **{arm: PUSHED[arm] | losses[arm] for arm in PUSHED})


def answers(runs, study=LANGUAGE):
    """Those that stand on the page of these runs."""
    return [answer for answer in ANSWERS if answer in page(runs, study)]


def test_a_model_that_is_right_as_often_as_it_says_has_no_calibration_error():
    sure = np.repeat([0.2, 0.6, 0.9], 1000)
    right = np.concatenate([np.arange(1000) < 1000 * p for p in (0.2, 0.6, 0.9)])
    assert calibration(sure, right, bins=3) == pytest.approx(0)
    assert calibration(np.full(1000, 0.9), np.arange(1000) < 500) >= 0.4
    assert calibration(np.full(1000, 1.0), np.zeros(1000, bool)) == pytest.approx(1)


def test_holm_is_that_of_the_textbook():
    nothing = Interval(0, 0, 0, 0, 5)
    found = pushing.holm(
        [Difference("raise", "loss", nothing, p) for p in (0.01, 0.04, 0.03, 0.005)]
    )
    assert [one.adjusted for one in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [one.is_shown for one in found] == [True, False, False, True]


def test_differences_are_taken_seed_by_seed():
    found = difference(world(**{"raise": {"loss": 0.05}}), "raise", "loss")
    assert found.interval.mean == pytest.approx(0.05, abs=0.003)
    assert found.interval.low > 0.04  # the seeds themselves lie a whole unit apart
    assert difference(world(), "lower", "loss").interval.low < 0


def test_the_answer_is_that_of_the_world():
    for raised, lowered, answer in (
        (-0.1, 0.1, HELPS), (-0.1, 0.0, MISSED), (0.0, 0.1, NO_USE), (0.1, 0.1, COSTS),
        (0.0, 0.0, NEITHER), (0.1, -0.1, NEITHER),
    ):  # fmt: skip
        assert answers(pushed(raised, lowered)) == [answer]
    assert answers(pushed(-0.1, 0.1), VISION) == [HELPS]


def test_no_answer_is_given_where_there_is_none():
    """Where a difference that matters may be there, or coupling did not move, or runs lack."""
    for raised in (0.0, -0.3, 0.3):
        assert answers(pushed(raised, 0.0, noise=0.02), VISION) == []
    assert answers(world(**{"raise": {"loss": -1.0}, "lower": {"corrected": -0.1}})) == []
    lacking = world(**PUSHED)
    for arm in ("lower", "longer"):
        del lacking[arm][5]
    assert "23 runs" in page(lacking, LANGUAGE)
    assert answers(lacking) == []


def test_no_difference_is_called_one_where_there_is_none():
    assert not any(one.is_shown for one in planned(world(noise=0.3, **PUSHED)))
    quiet = planned(world(noise=0.003, **PUSHED))
    losses = {one.arm: one for one in quiet if one.outcome == "loss"}
    assert verdict(losses["raise"]) == "too small to matter"


def test_the_committed_pages_are_those_of_the_committed_runs():
    for study in (LANGUAGE, VISION):
        assert (ROOT / "docs" / study.page).read_text() == page(
            pushing.read_runs(study.folder), study
        )


def test_accuracy_is_tested_and_told_of_pictures_alone():
    runs = world(**PUSHED | {"raise": {"corrected": 0.2, "accuracy": 0.05}})
    of_text, of_pictures = (planned(runs, study.tested) for study in (LANGUAGE, VISION))
    assert (len(of_text), len(of_pictures)) == (8, 10)
    (found,) = (one for one in of_pictures if (one.arm, one.outcome) == ("raise", "accuracy"))
    assert found.interval.mean == pytest.approx(0.05, abs=0.003)
    assert verdict(found) == "more"
    assert ["accuracy" in page(runs, study) for study in (LANGUAGE, VISION)] == [False, True]


@pytest.fixture
def tasks(monkeypatch):
    """What each study learns, in little."""
    rng = np.random.default_rng(1)
    small = {"mini-64": replace(PLANS["mini-64"], blocks=3, batch=4)}
    sizes = {"PLANS": small, "COUNT": 2, "WINDOWS": 16, "CONTEXT": 32, "LENGTH": 32}
    for name, value in sizes.items():
        monkeypatch.setattr(of_language, name, value)
    plan = replace(PRESETS["fashion"].plan, blocks=3)
    monkeypatch.setattr(of_pictures, "PRESETS", {"fashion": replace(PRESETS["fashion"], plan=plan)})
    monkeypatch.setattr(of_pictures, "COUNT", 2)
    text = [rng.integers(0, 1024, n).astype(np.uint16) for n in (20_000, 10_000)]
    images = [rng.integers(0, 256, (n, 28, 28, 1)).astype(np.uint8) for n in (200, 60)]
    labels = [rng.integers(0, 10, n) for n in (200, 60)]
    told = (images[0], labels[0], images[1], labels[1], tuple("0123456789"))
    return {
        "language": lambda: of_language.language(Corpus(*text, Path("unread"))),
        "vision": lambda: of_pictures.vision(Pictures("noise", *told)),
    }


def flat(model):
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()


@pytest.mark.full
def test_runs_of_a_seed_differ_in_the_penalty_alone(tasks):
    task, ends = tasks["language"](), {}
    arms = {arm.name: replace(arm, steps=2) for arm in task.study.arms[:3]}
    for name, arm in (arms | {"weightless": replace(arms["raise"], weight=0.0)}).items():
        train(task, arm, 1, lambda _, model, name=name: ends.update({name: flat(model)}))
    assert torch.equal(ends["weightless"], ends["control"])
    assert not torch.equal(ends["raise"], ends["control"])
    assert not torch.equal(ends["raise"], ends["lower"])


@pytest.mark.full
@pytest.mark.parametrize("name", ["language", "vision"])
def test_what_is_measured_is_what_it_is_called_and_leaves_the_model_alone(tasks, name):
    task = tasks[name]()
    model = task.begin(task.study.arms[0], 1).model
    before, held_out = flat(model), task.held_out
    found = measure_outcomes(model, 0, held_out)
    assert torch.equal(flat(model), before)
    assert model.training
    with torch.no_grad():
        read = {"language": "input_ids", "vision": "pixel_values"}[name]
        logits = model.eval()(**{read: held_out.given}).logits
    logits = logits[:, :-1] if name == "language" else logits  # each token tells the next
    own = torch.nn.functional.cross_entropy(logits.flatten(0, -2), held_out.wanted.flatten())
    assert found.loss == pytest.approx(float(own), abs=1e-4)
    for name, part in model.named_modules():
        if name.endswith(("attention.dense", "mlp.dense_4h_to_h", "attention.o_proj", "mlp.fc2")):
            torch.nn.init.zeros_(part.weight)
            torch.nn.init.zeros_(part.bias)
    with torch.no_grad():  # leaving out a block that adds nothing costs nothing
        loss = held_out.predictions(model, held_out.few_every)[0]
        assert held_out.without(model, 2) == pytest.approx(loss, abs=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("name", ["language", "vision"])
def test_a_run_is_written_once_it_has_ended(name, tasks, tmp_path, monkeypatch):
    task = tasks[name]()
    arm, of = replace(task.study.arms[1], steps=2), task.held_out.record
    study = replace(task.study, folder=tmp_path, looks=(0.5, 1.0), arms=(arm,))
    task = replace(task, study=study)
    planted = {one.name: getattr(PLANTED, one.name) for one in fields(of)}
    expected = [of(**planted | {"step": step}) for step in (1, 2)]
    made, pages = iter(expected), []
    for part, value in (
        ("measure_outcomes", lambda *_: next(made)), ("SEEDS", (1, 2, 3)), (name, lambda _: task),
        ("corpus", lambda _: None), ("load_pictures", lambda *_: None), ("write", pages.append),
        (name.upper(), study),
    ):  # fmt: skip
        monkeypatch.setattr(running, part, value)
    files = [pushing.path_of(tmp_path, arm.name, seed) for seed in (1, 2, 3)]
    files[0].touch()
    by_another = files[1].with_suffix(".begun")
    by_another.touch()
    running.pushing(name == "vision")
    assert pages == [study]
    assert pushing.read_run(files[2]) == expected
    assert sorted(tmp_path.iterdir()) == sorted([files[0], by_another, files[2]])
    by_another.unlink()
    with pytest.raises(StopIteration):
        running.pushing(name == "vision")
    assert sorted(tmp_path.iterdir()) == [files[0], files[2]]


@pytest.fixture
def folder(tmp_path):
    """A model's config, and token ids that it learns."""
    GPTNeoXConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=32, bos_token_id=0, eos_token_id=0,
    ).save_pretrained(tmp_path / "model")  # fmt: skip
    rng = np.random.default_rng(0)
    for name in ("learned", "held_out"):
        np.save(tmp_path / f"{name}.npy", rng.integers(0, 64, 16 * 64).astype(np.uint16))
    return tmp_path


def options(folder, *, batch, sequences, goal, **more):
    """Of a command whose checkpoint lies in a folder of its own."""
    given = {
        "model": folder / "model", "tokens": folder / "learned.npy", "name": f"of-{batch}",
        "held_out": folder / "held_out.npy", "context": 16, "sequences": sequences, "goal": goal,
        "weight": 0.5, "probes": 2, "every": 3, "output_dir": folder / f"{batch}-{goal}",
        "max_steps": 6, "per_device_train_batch_size": batch, "save_steps": 6,
        "learning_rate": 3e-3, "report_to": "none", "seed": 3, "optim": "sgd",
    } | more  # fmt: skip
    told = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return [*told, "--use_cpu"]


def weights(folder, batch, goal):
    (path,) = folder.glob(f"{batch}-{goal}/checkpoint-*/model.safetensors")
    saved = load_file(path)
    return torch.cat([saved[name].flatten() for name in sorted(saved)])


@pytest.mark.slow
def test_two_processes_give_the_result_of_one_with_the_same_batch(folder):
    for goal in ("raise", ""):
        main(options(folder, batch=8, sequences=2, goal=goal))
    # What `accelerate launch` runs where there are GPUs; without, it begins one process.
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "-m"]
    asked = options(folder, batch=4, sequences=1, goal="raise")
    done = subprocess.run(
        [*launch, "studies.pushing.at_scale", *asked],
        env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    one, two, control = (weights(folder, *which) for which in ((8, "raise"), (4, "raise"), (8, "")))
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)
    assert (one - control).abs().max() > 100 * (one - two).abs().max()


@pytest.mark.full
def test_accumulated_steps_give_the_result_of_one(folder):
    one = {"max_steps": 1, "save_steps": 1, "max_grad_norm": 0.0, "name": "", "probes": 1}
    one |= {"learning_rate": 0.1, "weight": 0.0}
    for batch, accumulated, sequences in ((8, 1, 2), (4, 2, 1)):
        said = one | {"gradient_accumulation_steps": accumulated}
        main(options(folder, batch=batch, sequences=sequences, goal="raise", **said))
    found = (weights(folder, batch, "raise") for batch in (8, 4))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)
