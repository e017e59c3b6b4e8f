"""Many requests to one model in several processes: the same bits, deaths, stops, memory."""

import os
import signal
import sys
import time
from functools import partial
from itertools import count

import hasty
import mortal
import psutil
import pytest
from cases import content
from waiting import until

from coupling_core import InputError, Request, Store, measure
from coupling_core.measuring.many import Answers
from coupling_core.measuring.worker import Several

pytestmark = pytest.mark.full
TEXTS = ("The cat sat", "on the mat", "The dog sat on the mat")


@pytest.fixture(autouse=True)
def _sooner(monkeypatch):
    hasty.listen(monkeypatch)


@pytest.fixture(scope="module")
def two():
    """Two workers that import no torch, which takes seconds."""
    with Several(2, hasty.MODULES) as several:
        yield several


def by_mortal(store, worker, request, told):
    return worker.measure(request, store, progress=told, by=mortal.measure)


starts = count(0, 10)
"""Numbers of the first request, for workers that remember how often they tried each."""


def measured(several, store, requests, report=lambda *_: None):
    """What came of each request, in their order."""
    asked = dict(enumerate(requests, next(starts)))
    every = {one.number: one for one in several.measure(asked, partial(by_mortal, store), report)}
    return [every[number] for number in asked]


def asked(folder, *texts, **said):
    return {n: Request(text, model=str(folder), k=4, **said) for n, text in enumerate(texts)}


def numbers(result):
    """All of a result but the seconds that it took, and the library: chosen once a process, if at
    all for products as small as these."""
    told = content(result)
    return told | {"provenance": told["provenance"]["passport"] | {"products": ""}}


# --- several workers


def test_each_request_is_measured_once_and_both_processes_work(two, store, ask, tmp_path):
    at_once, before = set(), two.measured
    requests = [ask(f"wait for {tmp_path / 'both'}"), *(ask(f"number {n}") for n in range(3))]

    def report(number, progress):
        (at_once.discard if progress.stage == "saving" else at_once.add)(number)
        if len(at_once) == 2:
            (tmp_path / "both").touch()

    found = measured(two, store, requests, report)
    for request, one in zip(requests, found, strict=True):
        assert one.result.request == request
        assert content(store.get(one.result.key)) == content(one.result)
    assert two.measured - before == 4
    assert two.ask(partial(os.getenv, "OMP_NUM_THREADS")) == "1"


def test_a_process_that_is_killed_is_replaced_and_its_request_tried_once_more(two, store, ask):
    before = set(two.pids)
    left = list(before)

    def report(number, progress):
        while left and progress.stage == "blocks":
            os.kill(left.pop(), signal.SIGKILL)

    requests = [ask(f"number {n}") for n in range(4)]
    found = measured(two, store, requests, report)
    assert [one.result.request for one in found] == requests
    assert not before & {*two.pids}


def test_what_kills_every_process_is_told_and_the_others_go_on(two, store, ask):
    before, prompts = two.measured, ("die of SIGKILL", "one", "two", "refuse")
    found = measured(two, store, [ask(prompt) for prompt in prompts])
    assert "SIGKILL while it computed" in str(found[0].error)
    assert "no room: make some" in str(found[3].error)
    assert all(one.result for one in found[1:3])
    assert two.measured - before == 2


def test_what_was_not_foreseen_is_raised(two, store, ask):
    with pytest.raises(Exception, match="to see"):
        measured(two, store, [ask("fail to see")])


def test_a_stop_ends_every_process_whatever_it_is_at(store, ask):
    with Several(2, hasty.MODULES) as several:
        pids = several.pids
        held = ask("hold everything up")
        stuck = [ask("one"), held, held, ask("two"), ask("three")]
        for _ in several.measure(dict(enumerate(stuck)), partial(by_mortal, store), print):
            break
    assert len(list(store.root.glob("*.safetensors"))) == several.measured
    until(lambda: all(map(mortal.gone, pids)))


# --- answers


def test_side_by_side_gives_the_bits_of_one_by_one(folder, store, tmp_path, one_thread):
    requests = asked(folder, *TEXTS, TEXTS[0], "no") | {
        9: Request("cat", model=str(folder), k=1000)
    }
    alone = {n: measure(requests[n], Store(tmp_path / "other")) for n in range(3)}
    notes = []

    def report(number, progress):
        notes.extend([progress.note] * bool(progress.note))
        if number == 4 and progress.stage == "blocks":
            raise InputError("no such block")

    with Answers(requests, store, processes=2, report=report) as answers:
        found = {answer.number: answer for answer in answers}
        assert len(answers.several.pids) == 2
    for number, result in alone.items():
        assert found[number].result.key == result.key
        assert numbers(found[number].result) == numbers(result)
        assert not found[number].stored
    assert found[3].stored  # the same prompt once more
    assert "K must lie in 1.." in str(found[9].error)
    with pytest.raises(InputError, match="no such block"):  # an error of whoever watches
        found[4].get()
    assert answers.stored == 4
    (note,) = notes
    assert note.startswith("2 processes")
    again = Answers(requests, store)
    assert [answer.number for answer in again if answer.stored] == [0, 1, 2, 3]
    assert again.several is None


def test_what_is_sooner_done_here_begins_no_process(folder, store):
    with Answers(asked(folder, *TEXTS), store) as answers:
        assert all(answer.result for answer in answers)
        assert answers.several is None


def test_a_stored_one_that_was_had_the_fast_way_does_not_answer_for_the_definition(folder, store):
    for fast, stored in ((True, False), (False, False), (False, True), (True, True)):
        with Answers(asked(folder, TEXTS[0]), store, fast=fast) as answers:
            (answer,) = answers
        assert answer.stored is stored


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("processes", [2, 16])
def test_many_processes_take_what_was_told(store, processes):
    """16 of them are far more than there are cores; the memory is what it is there, too."""
    told, peak, due = [], 0, 0.0
    requests = {n: Request(f"Prompt number {n} says that the") for n in range(processes)}

    def report(_, progress):
        nonlocal peak, due
        if progress.note:
            told.append(answers.crew.needed)
        if time.monotonic() < due:
            return
        taken = 0
        for pid in answers.several.pids:
            try:
                taken += psutil.Process(pid).memory_full_info().pss
            except psutil.Error:
                continue
        peak, due = max(peak, taken), time.monotonic() + 1  # to look takes longer than to measure

    with Answers(requests, store, processes=processes, report=report) as answers:
        assert all(answer.result for answer in answers)
    assert 0.6 * told[0] < peak <= told[0]
