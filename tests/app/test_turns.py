"""Who draws when: in the order of asking, a few at a time, and nobody holds a place in vain."""

import threading
from collections.abc import Callable

import pytest
from waiting import PATIENCE, until

from explorer.server.turns import Turns


def begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_so_many_draw_at_once_and_the_others_in_the_order_in_which_they_came() -> None:
    turns, drawn, go = Turns(2), [], [threading.Event() for _ in range(6)]

    def draw(number: int) -> None:
        with turns.drawing():
            drawn.append(number)
            go[number].wait(PATIENCE)

    threads = []
    for number in range(6):
        threads.append(begun(lambda number=number: draw(number)))
        until(lambda number=number: len(drawn) + len(turns._waiting) == number + 1)
    assert sorted(drawn) == [0, 1]
    for number in range(6):
        go[number].set()
        until(lambda number=number: len(drawn) == min(number + 3, 6))
    assert drawn[2:] == [2, 3, 4, 5]
    for thread in threads:
        thread.join(PATIENCE)


def test_who_waits_for_something_leaves_the_place_and_never_waits_for_it_again() -> None:
    """Else two might wait for one another: one for a lock, the other for a place."""
    turns, answer, lock = Turns(1), threading.Event(), threading.Lock()
    said = []

    def asks() -> None:
        with turns.drawing(), lock:
            with turns.stepping_aside():
                answer.wait(PATIENCE)
            said.append("answered")

    def meanwhile() -> None:
        with turns.drawing():
            answer.set()
            with lock:
                said.append("after it")

    first = begun(asks)
    until(lock.locked)
    second = begun(meanwhile)
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert said == ["answered", "after it"]


def test_a_page_that_fails_gives_its_place_back() -> None:
    turns = Turns(1)
    for _ in range(3):
        try:
            with turns.drawing():
                raise ValueError
        except ValueError:
            pass
    with turns.drawing(), turns.stepping_aside():
        pass
    assert turns._free == 1


def test_a_page_that_hangs_keeps_its_place_for_a_while_and_gives_back_none_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("explorer.server.turns.LONGEST", 0.2)
    monkeypatch.setattr("explorer.server.turns.LOOK", 0.1)
    turns, end = Turns(1), threading.Event()

    def hangs() -> None:
        with turns.drawing():
            end.wait(PATIENCE)

    hanging = begun(hangs)
    until(lambda: turns._since)
    with turns.drawing():
        end.set()
        hanging.join(PATIENCE)
        assert turns._free == 0  # of which there is one, and it is taken
    assert turns._free == 1


def test_who_has_no_place_leaves_none() -> None:
    turns = Turns(1)
    with turns.stepping_aside():
        pass
    assert turns._free == 1
