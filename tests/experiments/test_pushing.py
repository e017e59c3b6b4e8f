"""Runs that are pushed: what is measured of them, what is told of them, in planted worlds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from coupling_core.analysis.scores import Interval
from coupling_core.experiments.pretraining.corpus import Corpus
from coupling_core.experiments.pretraining.model import build
from coupling_core.experiments.pushing import outcomes, running
from coupling_core.experiments.pushing.findings import (
    Difference,
    difference,
    holm,
    page,
    planned,
    verdict,
)
from coupling_core.experiments.pushing.outcomes import Outcomes, calibration, measure_outcomes
from coupling_core.experiments.pushing.plans import ARMS, CONTROL, SEEDS
from coupling_core.experiments.pushing.training import train

RAISE, LOWER = ARMS[1:3]
PLANTED = Outcomes(
    step=600, loss=4.0, calibration=0.02, skipping=0.5, corrected=0.15, alignment=0.1, chance=0.6,
    locality=0.1, line_shape=2.5,
)  # fmt: skip

World = Callable[..., dict[str, dict[int, list[Outcomes]]]]


@pytest.fixture
def world() -> World:
    """Runs whose arms differ from the control by what is told, and by noise of the seed."""

    def make(noise: float = 0.001, **of: dict[str, float]) -> dict[str, dict[int, list[Outcomes]]]:
        rng = np.random.default_rng(0)
        runs: dict[str, dict[int, list[Outcomes]]] = {arm.name: {} for arm in ARMS}
        for seed in SEEDS:
            shared = rng.normal()
            for arm in ARMS:
                told = of.get(arm.name, {})
                own = {
                    name: getattr(PLANTED, name) + told.get(name, 0.0) + shared + noise * drawn
                    for name, drawn in zip(
                        ("loss", "calibration", "skipping", "line_shape", "corrected"),
                        rng.normal(size=5),
                        strict=True,
                    )
                }
                runs[arm.name][seed] = [replace(PLANTED, **own)]
        return runs

    return make


@pytest.fixture
def text() -> Corpus:
    rng = np.random.default_rng(1)
    learned, held_out = (rng.integers(0, 1024, n).astype(np.uint16) for n in (40_000, 20_000))
    return Corpus(learned, held_out, Path("unread"))


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
    world: World, raised: float, lowered: float, words: str
) -> None:
    told = page(world(**_pushed(raised, lowered)))
    assert [other for other in ANSWERS if other in told] == [words]


def test_an_arm_whose_coupling_did_not_move_is_not_interpreted(world: World) -> None:
    told = page(world(**{"raise": {"loss": -1.0}, "lower": {"corrected": -0.1}}))
    assert "Coupling could not be raised" in told
    assert "has no answer for the arm" in told
    assert "coupling helps" not in told


def test_no_difference_is_called_one_where_there_is_none(world: World) -> None:
    noisy = planned(world(noise=0.3, **PUSHED))
    assert {verdict(one) for one in noisy} == {"5 seeds do not tell"}
    quiet = {one.arm: one for one in planned(world(noise=0.003, **PUSHED)) if one.outcome == "loss"}
    assert verdict(quiet["raise"]) == "too small to matter"


def test_a_run_is_the_same_again_and_differs_from_its_control_in_the_penalty_alone(
    text: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[torch.Tensor]] = {}
    short = [replace(arm, steps=4) for arm in (CONTROL, RAISE, LOWER)]
    for name, arm in zip(("control", "raise", "lower", "again"), [*short, short[1]], strict=True):
        kept = seen.setdefault(name, [])
        train(arm, 1, text, lambda _, model, kept=kept: kept.append(_flat(model)))
    assert len(seen["control"]) == 3
    assert torch.equal(seen["raise"][-1], seen["again"][-1])
    assert not torch.equal(seen["raise"][-1], seen["control"][-1])
    assert not torch.equal(seen["raise"][-1], seen["lower"][-1])
    without = replace(short[1], weight=0.0)
    train(without, 1, text, lambda _, model: seen.setdefault("weightless", []).append(_flat(model)))
    assert torch.equal(seen["weightless"][-1], seen["control"][-1])


def _flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()


def test_what_is_measured_is_what_it_is_called_and_leaves_the_model_alone(
    text: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "COUNT", 2)
    monkeypatch.setattr(outcomes, "WINDOWS", 32)
    model = build(CONTROL.plan(1))
    before = _flat(model)
    found = measure_outcomes(model, 0, text.held_out)
    assert torch.equal(_flat(model), before)
    assert model.training
    ids = torch.from_numpy(text.held_out[:128].astype(np.int64))[None]
    with torch.no_grad():
        model.eval()
        own = float(model(input_ids=ids, labels=ids).loss)
    assert found.loss == pytest.approx(own, abs=0.1)
    assert found.loss == pytest.approx(np.log(1024), abs=0.5)
    assert abs(found.corrected) < 0.05
    for layer in model.gpt_neox.layers:  # blocks that add nothing: leaving one out costs nothing
        for part in (layer.attention.dense, layer.mlp.dense_4h_to_h):
            torch.nn.init.zeros_(part.weight)
            torch.nn.init.zeros_(part.bias)
    with torch.no_grad():
        loss = outcomes.predictions(model, ids)[0]
        assert outcomes._without(model, ids, 3) == pytest.approx(loss, abs=1e-6)


def test_a_run_is_written_once_it_has_ended(
    text: Corpus, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "FOLDER", tmp_path)
    arm = replace(RAISE, steps=4)
    made = iter([replace(PLANTED, step=step) for step in arm.plan(1).steps])
    monkeypatch.setattr(running, "measure_outcomes", lambda *_: next(made))
    assert running.read_run(arm, 1) is None
    running.run(arm, 1, text)
    read = running.read_run(arm, 1)
    assert read is not None
    assert [one.step for one in read] == [1, 2, 4]
    assert read[-1] == replace(PLANTED, step=4)
    with pytest.raises(StopIteration):
        running.run(arm, 2, text)
    assert running.read_run(arm, 2) is None


def test_runs_that_have_not_ended_are_told(world: World) -> None:
    runs = world(**PUSHED)
    assert "What 25 runs say" in page(runs)
    assert "were planned" not in page(runs)
    for arm in ("lower", "longer"):
        del runs[arm][5]
    told = page(runs)
    assert "What 23 runs say" in told
    assert "Of the 25 runs that were planned, 23 have ended." in told
    assert "4 seeds do not tell" in told
    assert "The answer waits" in told
    assert not any(answer in told for answer in ANSWERS)
