"""A list of prompts as one job: in order, what is stored left out, and what stops it."""

import pytest
from cases import random_result
from waiting import end_of

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.results import Progress
from coupling_core.serving.jobs import Jobs, Limits
from coupling_core.serving.lists import list_key
from coupling_core.sources.resolved import resolve


class Measuring:
    """Measures at once, and does before each what a test plants for that prompt."""

    def __init__(self):
        self.asked, self.before = [], {}

    def __call__(self, request, store, *, device, progress):
        prompt = str(request.prompt)
        self.asked.append(prompt)
        self.before.get(prompt, lambda: None)()
        progress(Progress("blocks", 1, 2))
        result = random_result(request=request, identity=resolve(request).identity)
        store.put(result)
        return result


@pytest.fixture
def listed(asked):
    return [resolve(one) for one in asked[:4]]


@pytest.fixture
def measuring():
    return Measuring()


@pytest.fixture
def queue(store, measuring):
    return Jobs(store, measuring)


def done(queue, listed, *device):
    """The job of a list once it has ended."""
    return end_of(queue, queue.submit_list(listed, "ann", *device).key)


def raising(error):
    def do():
        raise error

    return do


def test_a_list_is_one_job_in_its_order(queue, store, measuring, listed):
    job = done(queue, listed, "cpu")
    assert measuring.asked == [f"Prompt {n}" for n in range(4)]
    assert (job.state, job.prompts.done, job.prompts.total) == ("done", 4, 4)
    assert job.prompts.failed == ()
    keys = [store.key(one.request, one.identity) for one in listed]
    assert job.key == list_key(keys) == list_key(iter(keys)) != list_key(keys[::-1])
    assert all(store.holds(one.request, one.identity) for one in listed)


def test_what_is_stored_is_not_measured_again(queue, store, measuring, listed):
    for one in (listed[0], listed[2]):
        store.put(random_result(request=one.request, identity=one.identity))
    assert done(queue, listed).prompts.done == 4
    assert measuring.asked == ["Prompt 1", "Prompt 3"]


def test_a_prompt_that_cannot_be_measured_loses_no_other(queue, measuring, listed):
    measuring.before["Prompt 1"] = raising(InputError("the prompt is too long"))
    job = done(queue, listed)
    assert (job.state, job.prompts.failed) == ("done", ((1, "the prompt is too long"),))
    assert measuring.asked[-1] == "Prompt 3"
    job = done(queue, [listed[1]])  # of which none can be measured
    assert (job.state, "too long" in job.error) == ("failed", True)


def test_computing_that_fails_ends_the_list_and_keeps_what_there_is(
    queue, store, measuring, listed
):
    measuring.before["Prompt 2"] = raising(ComputeError("memory ran out"))
    job = done(queue, listed)
    assert (job.state, job.error) == ("failed", "prompt 3 of 4: memory ran out")
    assert measuring.asked == ["Prompt 0", "Prompt 1", "Prompt 2"]
    assert store.holds(listed[1].request, listed[1].identity)
    measuring.before.clear()
    assert done(queue, listed).state == "done"
    assert measuring.asked[3:] == ["Prompt 2", "Prompt 3"]


def test_nobody_waits_any_more(queue, store, measuring, listed):
    key = list_key(store.key(one.request, one.identity) for one in listed)
    measuring.before["Prompt 1"] = lambda: queue.leave(key, "ann")
    job = done(queue, listed)
    assert (job.state, job.prompts.done) == ("cancelled", 1)
    assert measuring.asked == ["Prompt 0", "Prompt 1"]
    held = [bool(store.holds(one.request, one.identity)) for one in listed]
    assert held == [True, False, False, False]


def test_who_asks_for_the_same_list_joins_it(queue, measuring, listed):
    owners = []
    measuring.before["Prompt 2"] = lambda: owners.append(queue.submit_list(listed, "bob").owners)
    done(queue, listed)
    assert owners == [2]
    assert len(measuring.asked) == 4


def test_a_list_may_take_so_long_in_all(store, measuring, listed):
    job = done(Jobs(store, measuring, Limits(list_seconds=0.0)), listed)
    assert (job.state, "0.0 s" in job.error) == ("failed", True)


def test_a_list_counts_as_one_job(store, measuring, listed):
    queue, refused = Jobs(store, measuring, Limits(per_owner=1)), []

    def ask_more():
        with pytest.raises(InputError, match="1 of your jobs"):
            queue.submit(listed[3], "ann")
        refused.append(True)

    measuring.before["Prompt 1"] = ask_more
    assert done(queue, listed).state == "done"
    assert refused
