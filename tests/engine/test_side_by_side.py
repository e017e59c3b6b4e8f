"""How many blocks are measured side by side is no part of a result; what may not be, is not."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial

import numpy as np
import pytest
import tiny
import torch

from coupling_core import Request, measure
from coupling_core.base.errors import ComputeError
from coupling_core.engine import ways_taken
from coupling_core.engine.loading import as_loaded, find_blocks
from coupling_core.engine.side_by_side import SideBySide, go_side_by_side
from coupling_core.kinds import one_token
from coupling_core.measuring import memory
from coupling_core.measuring.forecast import Probe

ASKED = Request(tuple(range(1, 8)), k=6)
FOUND = Probe(
    "one", "One", 25 * 10**6, "float32", None, 8, blocks=12, width=512, widest=2048, causal=True
)


@pytest.fixture(params=[1, 3])
def beside(request):
    with SideBySide(request.param) as beside:
        yield beside


def test_several_work_at_the_same_time_and_are_kept_in_order_where_they_were_begun():
    """Though the second is found before the first."""
    meet, second, kept = threading.Barrier(3, timeout=10), threading.Event(), []

    def work(item):
        meet.wait()
        assert item or second.wait(10)
        second.set()
        return item

    with SideBySide(3) as beside:
        for item in range(3):
            beside.begin(partial(work, item), lambda at: kept.append((at, threading.get_ident())))
        beside.finish()
    assert kept == [(item, threading.get_ident()) for item in range(3)]


def test_no_more_than_the_workers_and_one_are_ahead_and_an_error_is_raised_in_its_place(beside):
    begun = []

    def work(item):
        begun.append(item)
        if item == 4:
            raise ComputeError("the fifth")
        return item

    found = beside.in_order(work, range(12))
    for item in range(4):
        assert next(found) == item
        assert len(begun) <= item + 1 + beside.workers + 1
    with pytest.raises(ComputeError, match="the fifth"):
        next(found)


def test_whoever_leaves_waits_for_no_more_than_what_runs():
    ran, left = [], threading.Event()

    def work(item):
        assert left.wait(10)
        ran.append(item)

    def leave():
        with SideBySide(2) as beside:
            for item in range(20):
                beside.begin(partial(work, item), lambda _: None)
            threading.Timer(0.5, left.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert len(ran) <= 3
    assert not [t for t in threading.enumerate() if t.name.startswith("side by side")]


def test_where_memory_ran_out_beside_others_a_piece_is_done_again_alone():
    meet, tries, running = threading.Barrier(3, timeout=10), [], set()

    def work(item):
        tries.append(item)
        running.add(item)
        if tries.count(item) == 2:
            assert running == {item}
        else:
            meet.wait()
            if item == 1:
                running.discard(item)
                raise MemoryError
            time.sleep(0.1)
        running.discard(item)
        return item

    with SideBySide(3) as beside:
        assert list(beside.in_order(work, range(3))) == [0, 1, 2]
    assert sorted(tries) == [0, 1, 1, 2]


def test_the_libraries_have_one_thread_while_workers_are_there_and_what_they_had_after():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with SideBySide(2) as beside:
            counts = list(beside.in_order(lambda _: torch.get_num_threads(), range(4)))
            assert torch.get_num_threads() == 1  # others would spin on the workers' cores
        assert torch.get_num_threads() == 2
        with ThreadPoolExecutor(1) as new:
            later = new.submit(torch.get_num_threads).result()
    finally:
        torch.set_num_threads(before)
    assert counts == [1, 1, 1, 1]
    assert later == 2


def test_what_is_noted_is_the_same_and_comes_once(beside):
    def work(item: int) -> None:
        with ways_taken.at_block(item):
            ways_taken.note("a way")
            ways_taken.note_error(item / 10)

    with ways_taken.noting() as notes:
        list(beside.in_order(work, [1, 2, 2, 3]))
    assert notes.ways == {"a way": {1: 1, 2: 2, 3: 1}}
    assert notes.derivative_error == 0.3


def test_a_result_is_the_same_to_the_bit_with_any_number_of_workers(monkeypatch):
    model, results = tiny.model("gpt2"), []
    for workers in (1, 3):
        monkeypatch.setattr(one_token, "side_by_side", lambda *_, n=workers: SideBySide(n))
        results.append(measure(ASKED, model=model, device="cpu"))
    one, three = results
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(three, field.name)
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), field.name
        elif field.name != "provenance":
            assert a == b, field.name
    for name in ("ways", "derivative_error"):
        assert one.provenance[name] == three.provenance[name]


def sharing():
    model = tiny.model("llama")
    model.model.layers[1].mlp = model.model.layers[0].mlp
    return model


def test_blocks_that_share_nothing_go_side_by_side():
    plain, experts, lent = (tiny.model(family) for family in ("llama", "mixtral", "llama"))
    found = [
        go_side_by_side(as_loaded(model, None), find_blocks(model, None))
        for model in (plain, experts, sharing(), lent.bfloat16())
    ]
    assert found == [True, False, False, False]


def test_blocks_of_a_model_in_which_somebodys_own_code_runs_do_not(monkeypatch):
    model, asked = tiny.model("llama"), []
    monkeypatch.setattr(one_token, "side_by_side", lambda *of: asked.append(of) or SideBySide())
    measure(ASKED, model=model, device="cpu")
    model.model.layers[0].mlp.register_forward_hook(lambda *_: None)
    measure(ASKED, model=model, device="cpu")
    plain, hooked = (go_side_by_side(loaded, find_blocks(model, None)) for _, loaded, _ in asked)
    assert plain
    assert not hooked


def test_there_are_as_many_as_cores_blocks_and_memory_allow_and_they_are_told(monkeypatch):
    one = memory.estimate_memory(ASKED, FOUND, 7, 0).work - memory.LIBRARIES
    for size, cores, expected in ((10**15, 16, FOUND.blocks), (10**15, 4, 4), (one, 16, 1)):
        assert memory.workers(ASKED, FOUND, 7, size, cores) == expected
    needed = []
    for cores in (1, 2, 16):
        monkeypatch.setattr(memory, "threads", lambda n=cores: n)
        needed.append(memory.estimate_memory(ASKED, FOUND, 7, 10**15).needed)
    assert needed[2] - needed[0] == (FOUND.blocks - 1) * (needed[1] - needed[0]) > 0
