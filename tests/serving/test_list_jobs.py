"""A list of prompts as one job: in order, what is stored left out, and what stops it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import random_result

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, Progress
from coupling_core.serving import desk
from coupling_core.serving.jobs import Jobs, JobStatus, Limits
from coupling_core.serving.lists import list_key
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.store.disk import Store

PATIENCE = 30


class Measuring:
    """Measures at once, and does before each what a test plants for that prompt."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.before: dict[str, Callable[[], None]] = {}

    def __call__(
        self,
        request: Request,
        store: Store,
        *,
        device: str | None,
        progress: Callable[[Progress], None],
    ) -> DepthResult:
        prompt = str(request.prompt)
        self.asked.append(prompt)
        self.before.get(prompt, lambda: None)()
        progress(Progress("blocks", 1, 2))
        result = random_result(request=request, identity=resolve(request).identity)
        store.put(result)
        return result


@pytest.fixture
def listed(tmp_path: Path) -> list[Resolved]:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    one = Request("-", model=str(folder), k=8, k_view=4)
    return [resolve(replace(one, prompt=f"Prompt {n}")) for n in range(4)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "root", gallery=tmp_path / "gallery")


@pytest.fixture
def measuring() -> Measuring:
    return Measuring()


def ended(queue: Jobs, status: JobStatus) -> JobStatus:
    """The job once its worker has come to the end of the queue."""
    worker = queue._worker
    if worker is not None:
        worker.join(PATIENCE)
        assert not worker.is_alive()
    found = queue.status(status.key)
    assert found is not None
    return found


def raising(error: Exception) -> Callable[[], None]:
    def do() -> None:
        raise error

    return do


def test_a_list_is_one_job_in_its_order(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    queue = Jobs(store, measuring)
    status = queue.submit_list(listed, "ann", "cpu")
    done = ended(queue, status)
    assert measuring.asked == [f"Prompt {n}" for n in range(4)]
    assert (done.state, done.prompts.done, done.prompts.total) == ("done", 4, 4)
    assert done.prompts.failed == ()
    assert status.key == list_key(store.key(one.request, one.identity) for one in listed)
    assert all(store.holds(one.request, one.identity) for one in listed)


def test_what_is_stored_is_not_measured_again(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    for one in (listed[0], listed[2]):
        store.put(random_result(request=one.request, identity=one.identity))
    done = ended(queue := Jobs(store, measuring), queue.submit_list(listed, "ann"))
    assert measuring.asked == ["Prompt 1", "Prompt 3"]
    assert done.prompts.done == 4


def test_progress_says_which_prompt_and_how_long_the_rest_takes(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    queue, seen = Jobs(store, measuring), []

    def look() -> None:
        (status,) = queue.active()
        seen.append(status.prompts)

    measuring.before = {"Prompt 0": look, "Prompt 2": look}
    ended(queue, queue.submit_list(listed, "ann"))
    first, third = seen
    assert (first.done, first.total, first.left) == (0, 4, None)
    assert (third.done, third.total) == (2, 4)
    assert 0 < third.left < PATIENCE


def test_a_prompt_that_cannot_be_measured_loses_no_other(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    measuring.before["Prompt 1"] = raising(InputError("the prompt is too long"))
    done = ended(queue := Jobs(store, measuring), queue.submit_list(listed, "ann"))
    assert done.state == "done"
    assert done.prompts.failed == ((1, "the prompt is too long"),)
    assert measuring.asked[-1] == "Prompt 3"


def test_a_list_of_which_none_can_be_measured_fails(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    for n in range(4):
        measuring.before[f"Prompt {n}"] = raising(InputError("K is too large"))
    done = ended(queue := Jobs(store, measuring), queue.submit_list(listed, "ann"))
    assert (done.state, done.error) == (
        "failed",
        "no prompt could be measured, the first because K is too large",
    )


def test_computing_that_fails_ends_the_list_and_keeps_what_there_is(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    measuring.before["Prompt 2"] = raising(ComputeError("memory ran out"))
    done = ended(queue := Jobs(store, measuring), queue.submit_list(listed, "ann"))
    assert (done.state, done.error) == ("failed", "prompt 3 of 4: memory ran out")
    assert measuring.asked == ["Prompt 0", "Prompt 1", "Prompt 2"]
    assert store.holds(listed[1].request, listed[1].identity)
    measuring.before.clear()
    again = ended(queue, queue.submit_list(listed, "ann"))
    assert again.state == "done"
    assert measuring.asked[3:] == ["Prompt 2", "Prompt 3"]


def test_nobody_waits_any_more(store: Store, measuring: Measuring, listed: list[Resolved]) -> None:
    queue = Jobs(store, measuring)
    key = list_key(store.key(one.request, one.identity) for one in listed)
    measuring.before["Prompt 1"] = lambda: queue.leave(key, "ann")
    done = ended(queue, queue.submit_list(listed, "ann"))
    assert (done.state, done.prompts.done) == ("cancelled", 1)
    assert measuring.asked == ["Prompt 0", "Prompt 1"]
    assert store.holds(listed[0].request, listed[0].identity)
    assert not store.holds(listed[1].request, listed[1].identity)


def test_who_asks_for_the_same_list_joins_it(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    queue, owners = Jobs(store, measuring), []

    def join() -> None:
        owners.append(queue.submit_list(listed, "bob").owners)

    measuring.before["Prompt 2"] = join
    ended(queue, queue.submit_list(listed, "ann"))
    assert owners == [2]
    assert len(measuring.asked) == 4


def test_a_list_may_take_so_long_in_all(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    done = ended(
        queue := Jobs(store, measuring, Limits(list_seconds=0.0)), queue.submit_list(listed, "ann")
    )
    assert done.state == "failed"
    assert "longer than the 0.0 s that this app allows for a list" in done.error


def test_a_list_counts_as_one_job(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    queue, refused = Jobs(store, measuring, Limits(per_owner=1)), []

    def ask_more() -> None:
        try:
            queue.submit(listed[3], "ann")
        except InputError as error:
            refused.append(str(error))

    measuring.before["Prompt 1"] = ask_more
    assert ended(queue, queue.submit_list(listed, "ann")).state == "done"
    assert refused[0].startswith("1 of your jobs is under way")


def test_an_operator_sees_how_many_prompts_are_done(
    store: Store, measuring: Measuring, listed: list[Resolved]
) -> None:
    queue, rows = Jobs(store, measuring), []
    measuring.before["Prompt 2"] = lambda: rows.extend(map(desk._row, queue.active()))
    ended(queue, queue.submit_list(listed, "ann"))
    (row,) = rows
    assert (row["stage"], row["done"], row["total"]) == ("prompts", 2, 4)
    assert "Prompt" not in str(row)


def test_the_same_prompts_in_another_order_are_another_list(listed: list[Resolved]) -> None:
    keys: list[Any] = [one.request.prompt for one in listed]
    assert list_key(keys) != list_key(keys[::-1])
    assert list_key(keys) == list_key(iter(keys))
