"""The lane in which models train: one at a time, in the order of asking, whatever one becomes."""

import threading

import pytest
from waiting import until

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.results import Progress
from coupling_core.serving.lane import Lane

SECONDS = 20


class Held:
    """Work that goes on until it is let go, and tells where it is."""

    def __init__(self):
        self.began, self.may = threading.Event(), threading.Event()
        self.ended = False

    def __call__(self, tell):
        tell(Progress("training", 3, 7))
        self.began.set()
        while not self.may.wait(0.01):
            tell(Progress("training", 3, 7))
        self.ended = True


def reaches(lane, name, state):
    """Wait until the turn of a model is in this state."""
    until(lambda: (turn := lane.standing(name)) is not None and turn.state == state)


@pytest.fixture
def lane():
    return Lane(waiting=2)


def test_one_at_a_time_in_the_order_of_asking(lane):
    works = {name: Held() for name in ("a", "b", "c")}
    for name, work in works.items():
        lane.submit(name, work, owner=name)
    assert works["a"].began.wait(SECONDS)
    assert not works["b"].began.is_set()
    assert [lane.standing(name).ahead for name in works] == [0, 1, 2]
    reaches(lane, "a", "running")
    works["a"].may.set()
    assert works["b"].began.wait(SECONDS)
    assert not works["c"].began.is_set()
    reaches(lane, "a", "done")
    assert lane.standing("a").progress == Progress("training", 3, 7)
    assert lane.standing("a").seconds > 0
    for name in ("b", "c"):
        works[name].may.set()
        reaches(lane, name, "done")
    assert lane.names() == ("a", "b", "c")


def test_whoever_asked_ends_it_and_nobody_else(lane):
    lane.cancel("a", "me")  # what is not there
    assert lane.standing("a") is None
    assert not lane.is_of("a", "me")
    first, second = Held(), Held()
    lane.submit("a", first, "me")
    lane.submit("b", second, "you")
    assert first.began.wait(SECONDS)
    lane.cancel("b", "me")
    assert lane.standing("b").state == "queued"
    lane.cancel("a", "you")
    lane.cancel("b", "you")
    assert lane.standing("b").state == "cancelled"
    assert lane.standing("a").state == "running"
    lane.cancel("a", "me")
    reaches(lane, "a", "cancelled")
    assert not first.ended
    assert not second.began.is_set()


@pytest.mark.parametrize(
    ("error", "told"),
    [(ComputeError("the disk is full"), "the disk"), (SystemExit("secret"), "(SystemExit)")],
)
def test_one_that_fails_says_so_and_the_next_begins(lane, error, told):
    def fail(_):
        raise error

    lane.submit("a", fail, "me")
    reaches(lane, "a", "failed")
    assert told in lane.standing("a").error
    assert "secret" not in lane.standing("a").error
    for name in ("b", "a"):  # whose name is free again
        lane.submit(name, lambda _: None, "me")
        reaches(lane, name, "done")


def test_what_is_too_much_is_refused(lane):
    held = [Held() for _ in range(3)]
    for number, work in enumerate(held):
        lane.submit(f"m{number}", work, f"owner {number}")
    with pytest.raises(InputError, match="3 models wait"):
        lane.submit("more", Held(), "another")
    lane.cancel("m2", "owner 2")
    with pytest.raises(InputError, match="a model of yours trains already"):
        lane.submit("more", Held(), "owner 0")
    with pytest.raises(InputError, match="'m0' trains already"):
        lane.submit("m0", Held(), "another")
    for work in held:
        work.may.set()
    reaches(lane, "m1", "done")
