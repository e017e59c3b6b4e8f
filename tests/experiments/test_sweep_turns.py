"""Which measurement a worker does next."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coupling_core import Request
from coupling_core.experiments.sweeps.plan import Item
from coupling_core.experiments.sweeps.turns import Turns


def items(*counts):
    """So many items of each set of weights."""
    return [
        Item(weights, number, Request(f"{number}"))
        for weights, count in enumerate(counts)
        for number in range(count)
    ]


def test_who_has_nothing_left_helps_where_most_is_left_for_each():
    turns = Turns(items(2, 9, 5))
    first = {worker: turns.take(worker).weights for worker in "abc"}
    assert first == {"a": 0, "b": 1, "c": 2}
    assert [turns.take("a").weights for _ in range(2)] == [0, 1]  # 8 are left of 1, and 4 of 2
    assert turns.take("d").weights == 2  # 7 for two workers, 4 for one


def test_a_worker_that_is_gone_holds_nothing():
    turns = Turns(items(4, 2))
    assert turns.take("a").weights == 0
    turns.forget("a")
    assert turns.take("b").weights == 0


def test_what_is_put_back_comes_again_and_what_is_dropped_does_not():
    turns = Turns(items(2, 1))
    first = turns.take("a")
    turns.put_back(first)
    assert [turns.take("a").prompt for _ in range(2)] == [1, 0]
    assert [item.weights for item in turns.drop(1)] == [1]
    assert len(turns) == 0
    assert turns.take("a") is None


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.lists(st.sampled_from("abcd"), min_size=120, max_size=120),
)
def test_each_is_given_once_and_no_model_is_loaded_twice_by_one_worker(counts, workers):
    turns, loads, holds = Turns(items(*counts)), [], {}
    given_out = Counter()
    for worker in workers:
        item = turns.take(worker)
        if item is None:
            break
        given_out[item] += 1
        if holds.get(worker) != item.weights:
            loads.append((worker, item.weights))
        holds[worker] = item.weights
    assert given_out == Counter(items(*counts))
    assert len(loads) == len(set(loads))
