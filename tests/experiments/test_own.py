"""Small models of one's own: what may be chosen, what they become, what stays where one ends."""

import json
from itertools import product

import pytest

from coupling_core import Request, Store, measure
from coupling_core.base.errors import InputError
from coupling_core.experiments.own import plans, training
from coupling_core.experiments.own.plans import BLOCKS, STEPS, WIDTHS, OwnPlan, goal_of
from coupling_core.experiments.own.training import text, train
from coupling_core.experiments.pretraining.batches import held_out
from coupling_core.sources import hub
from coupling_core.sources.suites import find_suite, suites

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"blocks": 2, "width": 32}


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    """Where the text lies that these tests share."""
    return tmp_path_factory.mktemp("own-text")


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path, encoded):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "own-text").symlink_to(encoded)
    monkeypatch.setattr(plans, "STEPS", (0, 2, 5))
    monkeypatch.setattr(training, "PROBES", 2)
    return folder


@pytest.mark.full
def test_a_run_becomes_a_suite_that_says_what_was_told_on_the_way(tmp_path):
    told = []
    plan = OwnPlan("mine", **SMALL)
    folder = train(plan, told.append)
    assert [at.trained.step for at in told] == list(range(6))
    assert [at.look.step for at in told] == [0, 0, 2, 2, 2, 5]
    suite = find_suite("mine")
    assert suite.steps == suite.here() == (0, 2, 5)
    assert suite.losses()[5] < suite.losses()[0]
    assert suite.losses()[5] == pytest.approx(told[-1].trained.held_out, abs=1e-5)
    assert json.loads((folder / "watched.json").read_text())["title"] == plan.title
    assert not list((folder.parent / ".training").iterdir())
    probes = [tuple(row) for row in held_out(text().held_out, 64, 2).tolist()]
    store = Store(tmp_path / "store")
    found = [measure(suite.request(Request(ids, k=8), 5), store).scores(k=8) for ids in probes]
    mean = sum(scores.mean().corrected for scores in found) / 2
    # Checkpoints are kept in half precision.
    assert told[-1].look.numbers["corrected"] == pytest.approx(mean, abs=2e-3)


@pytest.mark.full
def test_a_penalty_and_stochastic_depth_make_other_models(monkeypatch):
    monkeypatch.setattr(plans, "STEPS", (0, 1))
    monkeypatch.setattr(training, "PROBES", 1)
    losses = {}
    for name, chosen in {
        "plain": {}, "raised": {"goal": "raise", "weight": 5.0}, "dropped": {"drop_path": 0.5}
    }.items():  # fmt: skip
        train(OwnPlan(name, **SMALL, **chosen), lambda _: None)
        losses[name] = find_suite(name).losses()
    assert losses["raised"][0] == losses["dropped"][0] == losses["plain"][0]
    assert len({one[1] for one in losses.values()}) == 3


def test_nothing_stays_of_a_run_that_is_ended(home):
    def stop(at):
        if at.trained.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(OwnPlan("mine", **SMALL), stop)
    assert "mine" not in suites()
    assert not [path for path in (home / "suites").rglob("*") if path.is_file()]


def test_one_that_was_killed_does_not_stand_in_the_way_and_one_that_ended_does(home):
    left = home / "suites" / ".training" / "mine" / "refs"
    left.mkdir(parents=True)
    (left / "step7").write_text("0" * 40)
    (left.parent / "watched.json").write_text('{"title": "half"}')
    assert "mine" not in suites()
    train(OwnPlan("mine", **SMALL), lambda _: None)
    assert find_suite("mine").steps == (0, 2, 5)
    for name in ("mini-64", "pythia-70m", "mine"):
        with pytest.raises(InputError, match="another name"):
            train(OwnPlan(name, **SMALL), lambda _: None)


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_can_be_trained(width):
    train(OwnPlan("mine", blocks=3, width=width), lambda _: None)
    assert hub.cache.trained_here("coupling-explorer/mine").is_dir()


def test_a_goal_is_read():
    goals = [goal_of(text) for text in ("", "raise", "lower", "0.5")]
    assert goals == [None, "raise", "lower", 0.5]


def test_no_model_takes_longer_than_it_may(monkeypatch):
    monkeypatch.setattr(plans, "STEPS", STEPS)
    for blocks, width in product(BLOCKS, WIDTHS):
        control, pushed = (
            OwnPlan("a", blocks=blocks, width=width, goal=goal) for goal in (None, "raise")
        )
        assert pushed.steps == control.steps
        assert pushed.steps[0] == 0
        assert len(pushed.steps) >= 6
        assert control.seconds < pushed.seconds <= plans.LONGEST
    assert OwnPlan("a").steps == STEPS
    assert OwnPlan("a", blocks=12, width=128).steps[-1] == 100
