"""Small models of one's own: what may be chosen, what they become, what stays where one ends."""

import json
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from coupling_core import Request, Store, measure
from coupling_core.base.errors import InputError
from coupling_core.experiments.own import plans
from coupling_core.experiments.own.plans import BLOCKS, RATES, WIDTHS, OwnPlan, goal_of
from coupling_core.experiments.own.text import text
from coupling_core.experiments.own.training import Standing, train
from coupling_core.sources import hub
from coupling_core.sources.suites import find_suite, suites

SMALL = {"blocks": 2, "width": 32}
PROMPT = "The for statement is used to iterate over the elements of a sequence"


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the text lies that these tests share."""
    return tmp_path_factory.mktemp("own-text")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encoded: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "own-text").symlink_to(encoded)
    monkeypatch.setenv("COUPLING_HOME", str(folder))
    monkeypatch.setattr(plans, "STEPS", (0, 2, 5))
    return folder


def test_a_run_becomes_a_suite_that_is_measured_like_any_other(tmp_path: Path) -> None:
    told: list[Standing] = []
    plan = OwnPlan("mine", **SMALL)
    folder = train(plan, told.append)
    assert [at.trained.step for at in told] == list(range(6))
    assert [at.look.step for at in told] == [0, 0, 2, 2, 2, 5]
    suite = find_suite("mine")
    assert suite.title == "mine: 2 blocks of width 32"
    assert suite.steps == suite.here() == (0, 2, 5)
    assert suite.losses()[5] < suite.losses()[0]
    assert suite.losses()[5] == pytest.approx(told[-1].trained.held_out, abs=1e-5)
    found = measure(suite.request(Request(PROMPT, k=8), 5), Store(tmp_path / "store"))
    assert found.n_blocks == 2
    assert json.loads((folder / "watched.json").read_text())["title"] == plan.title
    assert not list((folder.parent / ".training").iterdir())


def test_what_is_told_on_the_way_is_what_the_suite_says_afterwards(tmp_path: Path) -> None:
    told: list[Standing] = []
    train(OwnPlan("mine", **SMALL), told.append)
    look = told[-1].look
    windows = text().held_out
    from coupling_core.experiments.own.training import PROBES
    from coupling_core.experiments.pretraining.batches import held_out

    asked = [tuple(row) for row in held_out(windows, 64, PROBES).tolist()]
    store, suite = Store(tmp_path / "store"), find_suite("mine")
    scores = [
        measure(suite.request(Request(ids, k=8), 5), store).scores(k=8).mean().corrected
        for ids in asked
    ]
    # Checkpoints are kept in half precision.
    assert_allclose(look.numbers["corrected"], sum(scores) / PROBES, atol=2e-3)


def test_a_penalty_and_stochastic_depth_make_other_models() -> None:
    losses = {}
    for name, chosen in {
        "plain": {}, "again": {}, "raised": {"goal": "raise", "weight": 5.0},
        "dropped": {"drop_path": 0.5}, "other": {"seed": 1},
    }.items():  # fmt: skip
        train(OwnPlan(name, **SMALL, **chosen), lambda _: None)
        losses[name] = find_suite(name).losses()
    assert losses["plain"] == losses["again"]
    assert losses["raised"][0] == losses["dropped"][0] == losses["plain"][0] != losses["other"][0]
    assert len({one[5] for one in losses.values()}) == 4


def test_nothing_stays_of_a_run_that_is_ended(home: Path) -> None:
    def stop(at: Standing) -> None:
        if at.trained.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(OwnPlan("mine", **SMALL), stop)
    assert "mine" not in suites()
    assert not [path for path in (home / "suites").rglob("*") if path.is_file()]


def test_one_that_was_killed_is_no_suite_and_does_not_stand_in_the_way(home: Path) -> None:
    left = home / "suites" / ".training" / "mine" / "refs"
    left.mkdir(parents=True)
    (left / "step7").write_text("0" * 40)
    (left.parent / "watched.json").write_text('{"title": "half"}')
    assert "mine" not in suites()
    train(OwnPlan("mine", **SMALL), lambda _: None)
    assert find_suite("mine").steps == (0, 2, 5)


def test_a_name_that_is_taken_is_refused() -> None:
    for name in ("mini-64", "pythia-70m"):
        with pytest.raises(InputError, match="another name"):
            train(OwnPlan(name, **SMALL), lambda _: None)
    train(OwnPlan("mine", **SMALL), lambda _: None)
    with pytest.raises(InputError, match="another name"):
        train(OwnPlan("mine", **SMALL), lambda _: None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"blocks": BLOCKS[0] - 1}, {"blocks": BLOCKS[-1] + 1}, {"width": 33}, {"seed": -1},
        {"learning_rate": RATES[0] / 2}, {"learning_rate": 1.0}, {"learning_rate": float("nan")},
        {"drop_path": 0.6}, {"drop_path": -0.1}, {"weight": 0.0}, {"weight": float("inf")},
        {"name": "../x"}, {"name": "Mine"}, {"name": ""}, {"name": "x" * 65},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_in_words(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r" must be | are left out | cannot be called "):
        OwnPlan(**{"name": "mine"} | wrong)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_can_be_trained(width: int) -> None:
    train(OwnPlan("mine", blocks=3, width=width), lambda _: None)
    assert hub.cache.trained_here("coupling-explorer/mine").is_dir()


@pytest.mark.parametrize("text", ["up", "RAISE", "0.5x"])
def test_a_goal_that_makes_no_sense_is_told(text: str) -> None:
    with pytest.raises(InputError, match="the goal is 'raise', 'lower'"):
        goal_of(text)


def test_a_goal_is_read() -> None:
    assert [goal_of(text) for text in ("", "raise", "lower", "0.5")] == [
        None,
        "raise",
        "lower",
        0.5,
    ]
