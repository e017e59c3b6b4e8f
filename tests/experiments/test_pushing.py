"""Runs that are pushed: what is measured of them, what is told of them, in planted worlds."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from coupling_core.analysis.scores import Interval
from coupling_core.experiments.pretraining.corpus import Corpus
from coupling_core.experiments.pushing import language as of_language
from coupling_core.experiments.pushing import pictures as of_pictures
from coupling_core.experiments.pushing import running, runs
from coupling_core.experiments.pushing.findings import (
    Difference,
    difference,
    holm,
    page,
    planned,
    verdict,
)
from coupling_core.experiments.pushing.outcomes import calibration, measure_outcomes
from coupling_core.experiments.pushing.plans import LANGUAGE, SEEDS, VISION, Study
from coupling_core.experiments.pushing.runs import Outcomes, OutcomesOfPictures
from coupling_core.experiments.pushing.tasks import Begun, Task
from coupling_core.experiments.pushing.training import train
from coupling_core.experiments.vision.model import Pixels
from coupling_core.experiments.vision.pictures import Pictures
from coupling_core.measuring.front import measure

PLANTED = OutcomesOfPictures(
    step=600, loss=4.0, calibration=0.02, skipping=0.5, corrected=0.15, alignment=0.1, chance=0.6,
    locality=0.1, line_shape=2.5, accuracy=0.7,
)  # fmt: skip

World = Callable[..., dict[str, dict[int, list[Outcomes]]]]


@pytest.fixture
def world() -> World:
    """Runs whose arms differ from the control by what is told, and by noise of the seed."""

    def make(noise: float = 0.001, **of: dict[str, float]) -> dict[str, dict[int, list[Outcomes]]]:
        rng = np.random.default_rng(0)
        runs: dict[str, dict[int, list[Outcomes]]] = {arm.name: {} for arm in LANGUAGE.arms}
        for seed in SEEDS:
            shared = rng.normal()
            for arm in LANGUAGE.arms:
                told = of.get(arm.name, {})
                own = {
                    name: getattr(PLANTED, name) + told.get(name, 0.0) + shared + noise * drawn
                    for name, drawn in zip(
                        ("loss", "calibration", "skipping", "line_shape", "corrected", "accuracy"),
                        rng.normal(size=6),
                        strict=True,
                    )
                }
                runs[arm.name][seed] = [replace(PLANTED, **own)]
        return runs

    return make


@pytest.fixture
def text(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setattr(of_language, "COUNT", 2)
    monkeypatch.setattr(of_language, "WINDOWS", 32)
    rng = np.random.default_rng(1)
    learned, held_out = (rng.integers(0, 1024, n).astype(np.uint16) for n in (40_000, 20_000))
    return Corpus(learned, held_out, Path("unread"))


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Pictures:
    monkeypatch.setattr(of_pictures, "COUNT", 2)
    rng = np.random.default_rng(1)
    images = [rng.integers(0, 256, (n, 28, 28, 1)).astype(np.uint8) for n in (200, 60)]
    labels = [rng.integers(0, 10, n) for n in (200, 60)]
    return Pictures("noise", images[0], labels[0], images[1], labels[1], tuple("0123456789"))


@pytest.fixture(params=("language", "vision"))
def task(request: pytest.FixtureRequest, text: Corpus, pictures: Pictures) -> Task:
    """What each study learns, in little."""
    if request.param == "language":
        return of_language.language(text)
    return of_pictures.vision(pictures)


studies = pytest.mark.parametrize("study", [LANGUAGE, VISION], ids=["language", "vision"])


def test_a_model_that_is_right_as_often_as_it_says_has_no_calibration_error() -> None:
    sure = np.repeat([0.2, 0.6, 0.9], 1000)
    right = np.concatenate([np.arange(1000) < 1000 * p for p in (0.2, 0.6, 0.9)])
    assert calibration(sure, right, bins=3) == pytest.approx(0)
    assert calibration(np.full(1000, 0.9), np.arange(1000) < 500) >= 0.4
    assert calibration(np.full(1000, 1.0), np.zeros(1000, bool)) == pytest.approx(1)


def test_holm_is_that_of_the_textbook() -> None:
    given = (0.01, 0.04, 0.03, 0.005)
    nothing = Interval(0, 0, 0, 0, 5)
    found = holm([Difference("raise", "loss", nothing, p) for p in given])
    assert [one.adjusted for one in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [one.is_shown for one in found] == [True, False, False, True]


def test_differences_are_taken_seed_by_seed(world: World) -> None:
    runs = world(**{"raise": {"loss": 0.05}})
    found = difference(runs, "raise", "loss")
    assert found.interval.mean == pytest.approx(0.05, abs=0.003)
    assert found.interval.low > 0.04  # the seeds themselves lie a whole unit apart
    assert difference(runs, "lower", "loss").interval.low < 0


PUSHED = {"raise": {"corrected": 0.2}, "lower": {"corrected": -0.1}}


def _pushed(raised: float, lowered: float) -> dict[str, dict[str, float]]:
    return {
        "raise": PUSHED["raise"] | {"loss": raised},
        "lower": PUSHED["lower"] | {"loss": lowered},
    }


ANSWERS = HELPS, MISSED, NO_USE, COSTS, NEITHER = (
    "coupling helps",
    "less of it is not missed",
    "more of it is of no use",
    "whatever it pushes to",
    "without making them good",
)


@studies
@pytest.mark.parametrize(
    ("raised", "lowered", "words"),
    [
        (-0.1, 0.1, HELPS),
        (-0.1, 0.0, MISSED),
        (0.0, 0.1, NO_USE),
        (0.1, 0.1, COSTS),
        (0.0, 0.0, NEITHER),
        (0.1, -0.1, NEITHER),
    ],
)
def test_the_answer_is_that_of_the_world(
    world: World, study: Study, raised: float, lowered: float, words: str
) -> None:
    told = page(world(**_pushed(raised, lowered)), study)
    assert [other for other in ANSWERS if other in told] == [words]
    assert "stays open" not in told


@pytest.mark.parametrize(("raised", "lowered"), [(0.0, 0.0), (-0.3, 0.0), (0.3, 0.0)])
def test_no_answer_is_given_where_a_difference_that_matters_may_be_there(
    world: World, raised: float, lowered: float
) -> None:
    told = page(world(noise=0.02, **_pushed(raised, lowered)), VISION)
    assert "stays open" in told
    assert not any(answer in told for answer in ANSWERS)


def test_an_arm_whose_coupling_did_not_move_is_not_interpreted(world: World) -> None:
    told = page(world(**{"raise": {"loss": -1.0}, "lower": {"corrected": -0.1}}), LANGUAGE)
    assert "Coupling could not be raised" in told
    assert "has no answer for the arm" in told
    assert "coupling helps" not in told


def test_no_difference_is_called_one_where_there_is_none(world: World) -> None:
    noisy = planned(world(noise=0.3, **PUSHED), LANGUAGE)
    assert {verdict(one) for one in noisy} == {"5 seeds do not tell"}
    quiet = planned(world(noise=0.003, **PUSHED), LANGUAGE)
    losses = {one.arm: one for one in quiet if one.outcome == "loss"}
    assert verdict(losses["raise"]) == "too small to matter"


def test_accuracy_is_tested_and_told_of_pictures_alone(world: World) -> None:
    changed = {"raise": PUSHED["raise"] | {"accuracy": 0.05}, "lower": PUSHED["lower"]}
    runs = world(**changed)
    of_text, of_pictures = (planned(runs, study) for study in (LANGUAGE, VISION))
    assert (len(of_text), len(of_pictures)) == (8, 10)
    found = next(one for one in of_pictures if (one.arm, one.outcome) == ("raise", "accuracy"))
    assert found.interval.mean == pytest.approx(0.05, abs=0.003)
    assert verdict(found) == "more"
    assert "accuracy" in page(runs, VISION)
    assert "accuracy" not in page(runs, LANGUAGE)


def test_a_run_is_the_same_again_and_differs_from_its_control_in_the_penalty_alone(
    task: Task,
) -> None:
    seen: dict[str, list[torch.Tensor]] = {}
    short = [replace(arm, steps=4) for arm in task.study.arms[:3]]
    for name, arm in zip(("control", "raise", "lower", "again"), [*short, short[1]], strict=True):
        kept = seen.setdefault(name, [])
        train(task, arm, 1, lambda _, model, kept=kept: kept.append(_flat(model)))
    assert len(seen["control"]) == len(task.study.looks)
    assert torch.equal(seen["raise"][-1], seen["again"][-1])
    assert not torch.equal(seen["raise"][-1], seen["control"][-1])
    assert not torch.equal(seen["raise"][-1], seen["lower"][-1])
    without = replace(short[1], weight=0.0)
    train(task, without, 1, lambda _, model: seen.setdefault("weightless", []).append(_flat(model)))
    assert torch.equal(seen["weightless"][-1], seen["control"][-1])


def test_runs_of_a_seed_begin_with_the_same_weights_and_see_the_same_in_the_same_order(
    task: Task,
) -> None:
    begun = [task.begin(arm, 1) for arm in task.study.arms]
    assert all(torch.equal(_flat(run.model), _flat(begun[0].model)) for run in begun)
    read = [torch.stack(_read(run)) for run in begun]
    assert all(torch.equal(one, read[0]) for one in read)
    other = task.begin(task.study.arms[0], 2)
    assert not torch.equal(_flat(other.model), _flat(begun[0].model))
    assert not torch.equal(torch.stack(_read(other)), read[0])


def _read(run: Begun) -> list[torch.Tensor]:
    """What its model is given in the first steps."""
    found: list[torch.Tensor] = []

    def before(_: object, args: object, given: dict[str, torch.Tensor]) -> None:
        found.append(given.get("input_ids", given.get("pixel_values")))

    handle = run.model.register_forward_pre_hook(before, with_kwargs=True)
    for step in range(5):  # the pictures are seen twice
        run.loss(step)
    handle.remove()
    return found


def _flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()


def test_pictures_are_learned_with_their_own_classes(pictures: Pictures) -> None:
    run = of_pictures.vision(pictures).begin(VISION.arms[0], 1)
    images = Pixels(pictures, torch.device("cpu"))(pictures.learned)
    seen = _read(run)[0]
    chosen = [int((images == one).flatten(1).all(1).nonzero()) for one in seen]
    wanted = torch.from_numpy(pictures.labels[chosen])
    with torch.no_grad():
        own = torch.nn.functional.cross_entropy(run.model(pixel_values=seen).logits, wanted)
        assert float(run.loss(0)) == pytest.approx(float(own), abs=1e-6)


def test_what_is_measured_is_what_it_is_called_and_leaves_the_model_alone(task: Task) -> None:
    model = task.begin(task.study.arms[0], 1).model
    before, held_out = _flat(model), task.held_out
    found = measure_outcomes(model, 0, held_out)
    assert torch.equal(_flat(model), before)
    assert model.training
    with torch.no_grad():
        logits = held_out.logits(model.eval(), held_out.given)
    own = torch.nn.functional.cross_entropy(logits.flatten(0, -2), held_out.wanted.flatten())
    assert found.loss == pytest.approx(float(own), abs=1e-4)
    assert found.loss == pytest.approx(np.log(logits.shape[-1]), abs=0.5)
    assert abs(found.corrected) < 0.1
    outputs = ("attention.dense", "mlp.dense_4h_to_h", "attention.o_proj", "mlp.fc2")
    for name, part in model.named_modules():
        if name.endswith(outputs):  # blocks that add nothing: leaving one out costs nothing
            torch.nn.init.zeros_(part.weight)
            torch.nn.init.zeros_(part.bias)
    with torch.no_grad():
        loss = held_out.predictions(model, held_out.few_every)[0]
        assert held_out.without(model, 3) == pytest.approx(loss, abs=1e-6)


def test_of_pictures_accuracy_and_coupling_are_what_the_model_gives_them(
    pictures: Pictures,
) -> None:
    task = of_pictures.vision(pictures)
    held_out = replace(task.held_out, few_every=30)
    model = task.begin(replace(VISION.arms[0], steps=4), 1).model
    found = measure_outcomes(model, 0, held_out)
    images = list(pictures.held_out)
    with torch.no_grad():
        read = held_out.processor(images, return_tensors="pt", input_data_format="channels_last")
        likeliest = model.eval()(**read).logits.argmax(1).numpy()
    assert isinstance(found, OutcomesOfPictures)
    assert found.accuracy == pytest.approx((likeliest == pictures.held_out_labels).mean())
    scores = [
        measure(prompt, None, model=model, tokenizer=held_out.processor, token=1).scores(k=8)
        for prompt in held_out.probes.prompts
    ]
    assert found.corrected == pytest.approx(np.mean([one.mean().corrected for one in scores]))


def test_a_run_is_written_once_it_has_ended(
    task: Task, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = replace(task, study=replace(task.study, folder=tmp_path))
    arm = replace(task.study.arms[1], steps=4)
    steps = task.study.steps(arm)
    planted = {one.name: getattr(PLANTED, one.name) for one in fields(task.held_out.record)}
    made = iter([task.held_out.record(**planted | {"step": step}) for step in steps])
    monkeypatch.setattr(running, "measure_outcomes", lambda *_: next(made))
    assert runs.read_run(task.study, arm, 1) is None
    running.run(task, arm, 1)
    read = runs.read_run(task.study, arm, 1)
    assert read is not None
    assert [one.step for one in read] == list(steps)
    assert read[-1] == task.held_out.record(**planted | {"step": 4})
    with pytest.raises(StopIteration):
        running.run(task, arm, 2)
    assert runs.read_run(task.study, arm, 2) is None


def test_the_command_makes_what_is_missing_of_the_study_that_is_asked_for(
    text: Corpus, pictures: Pictures, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Path, str, int]] = []
    monkeypatch.setattr(running, "corpus", lambda _: text)
    monkeypatch.setattr(running, "load_pictures", lambda *_: pictures)
    monkeypatch.setattr(running, "path_of", lambda study, arm, seed: (
        tmp_path / f"{study.folder.name}-{arm.name}-{seed}.csv"
    ))  # fmt: skip
    monkeypatch.setattr(
        running, "run", lambda task, arm, seed: made.append((task.study.page, arm.name, seed))
    )
    (tmp_path / "pushing-vision-raise-1.csv").touch()
    (tmp_path / "pushing-vision-lower-1.begun").touch()
    running.main(lambda _: None, ["--vision"])
    arms = [arm.name for arm in VISION.arms]
    wanted = [(VISION.page, arm, seed) for seed in SEEDS for arm in arms]
    assert made == [one for one in wanted if one[1:] not in {("raise", 1), ("lower", 1)}]
    made.clear()
    running.main(lambda _: None, [])
    assert {page for page, _, _ in made} == {LANGUAGE.page}


def test_runs_that_have_not_ended_are_told(world: World) -> None:
    runs = world(**PUSHED)
    assert "What 25 runs say" in page(runs, LANGUAGE)
    assert "were planned" not in page(runs, LANGUAGE)
    for arm in ("lower", "longer"):
        del runs[arm][5]
    told = page(runs, LANGUAGE)
    assert "What 23 runs say" in told
    assert "Of the 25 runs that were planned, 23 have ended." in told
    assert "4 seeds do not tell" in told
    assert "The answer waits" in told
    assert not any(answer in told for answer in ANSWERS)
