"""The lane in which models train: one at a time, in the order of asking, whatever one becomes."""

import threading
import time
from collections.abc import Callable

import pytest

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.results import Progress
from coupling_core.serving.lane import Lane

SECONDS = 20


class Held:
    """Work that goes on until it is let go, and tells where it is."""

    def __init__(self) -> None:
        self.began, self.may = threading.Event(), threading.Event()
        self.ended = False

    def __call__(self, tell: Callable[[Progress], None]) -> None:
        tell(Progress("training", 3, 7))
        self.began.set()
        while not self.may.wait(0.01):
            tell(Progress("training", 3, 7))
        self.ended = True


def until(lane: Lane, name: str, state: str) -> None:
    end = time.monotonic() + SECONDS
    while (turn := lane.standing(name)) is None or turn.state != state:
        assert time.monotonic() < end, turn
        time.sleep(0.01)


@pytest.fixture
def lane() -> Lane:
    return Lane(waiting=2)


def test_one_at_a_time_in_the_order_of_asking(lane: Lane) -> None:
    works = {name: Held() for name in ("a", "b", "c")}
    for name, work in works.items():
        lane.submit(name, work, owner=name)
    assert works["a"].began.wait(SECONDS)
    assert not works["b"].began.is_set()
    assert [lane.standing(name).ahead for name in works] == [0, 1, 2]
    until(lane, "a", "running")
    works["a"].may.set()
    assert works["b"].began.wait(SECONDS)
    assert not works["c"].began.is_set()
    until(lane, "a", "done")
    assert lane.standing("a").progress == Progress("training", 3, 7)
    assert lane.standing("a").seconds > 0
    for name in ("b", "c"):
        works[name].may.set()
        until(lane, name, "done")
    assert lane.names() == ("a", "b", "c")


def test_whoever_asked_ends_it_and_nobody_else(lane: Lane) -> None:
    first, second = Held(), Held()
    lane.submit("a", first, "me")
    lane.submit("b", second, "you")
    assert first.began.wait(SECONDS)
    lane.cancel("a", "you")
    lane.cancel("b", "you")
    assert lane.standing("b").state == "cancelled"
    assert lane.standing("a").state == "running"
    lane.cancel("a", "me")
    until(lane, "a", "cancelled")
    assert not first.ended
    assert not second.began.is_set()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ComputeError("the disk is full"), "the disk is full"),
        (ZeroDivisionError("secret"), "not foreseen (ZeroDivisionError)"),
        (SystemExit(3), "not foreseen (SystemExit)"),
    ],
)
def test_one_that_fails_says_so_and_the_next_begins(
    lane: Lane, error: BaseException, told: str
) -> None:
    def fail(_: Callable[[Progress], None]) -> None:
        raise error

    lane.submit("a", fail, "me")
    until(lane, "a", "failed")
    assert told in lane.standing("a").error
    assert "secret" not in lane.standing("a").error
    lane.submit("b", lambda _: None, "me")
    until(lane, "b", "done")
    lane.submit("a", lambda _: None, "me")  # the name is free again
    until(lane, "a", "done")


def test_what_is_too_much_is_refused(lane: Lane) -> None:
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
    until(lane, "m1", "done")


def test_what_nobody_asked_for_is_not_there(lane: Lane) -> None:
    assert lane.standing("a") is None
    assert not lane.is_of("a", "me")
    lane.cancel("a", "me")
