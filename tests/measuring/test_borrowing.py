"""Weights that are fetched, measured and deleted, from a hub of the test's own."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from fake_hub import REPO, FakeHub, client
from huggingface_hub import scan_cache_dir
from waiting import PATIENCE, end_of, until

from coupling_core import Cancelled, ComputeError, InputError, Request, Store, measure
from coupling_core.engine.loading import load, loading
from coupling_core.measuring.borrowing import Borrower
from coupling_core.serving.jobs import Jobs
from coupling_core.sources import hub
from coupling_core.sources.hub import cache
from coupling_core.sources.resolved import resolve

STEPS = ("step0", "step8")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("steps")
    return {name: tiny.folder(path / name, "gpt_neox", seed) for seed, name in enumerate(STEPS)}


@pytest.fixture
def server(folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake = FakeHub(dict(folders))
    client(monkeypatch, tmp_path, fake)
    yield fake
    fake.close()


def request(step: str, prompt: str = "The cat sat") -> Request:
    return Request(prompt, model=REPO, revision=step, kind="trajectory")


def here() -> list[str]:
    """Revisions whose weights are in the cache."""
    return hub.cached(REPO)


def blobs() -> int:
    """Bytes of the repository's contents."""
    return sum(path.stat().st_size for path in cache.repository(REPO).glob("blobs/*"))


def fetches(server: FakeHub) -> float:
    """How often the weights were fetched: a look at their header, then all of them."""
    return server.asked.count(("GET", "range/0/model.safetensors")) / 2


def test_one_checkpoint_is_on_the_disk_and_in_memory_at_a_time(
    server: FakeHub, folders: dict[str, Path]
) -> None:
    weights = (folders["step0"] / "model.safetensors").stat().st_size
    beside = replace(request("step8"), model=str(folders["step8"]), revision=None)
    own = measure(beside)
    with Borrower() as borrow:
        first = borrow(request("step0"), Store())
        assert here() == ["step0"]
        borrow(request("step0", "The dog"), Store())
        assert fetches(server) == 1
        second = borrow(request("step8"), Store())
        assert here() == ["step8"]
        assert len(loading._kept) == 2  # the one that is borrowed, and the one beside
    assert here() == []
    assert blobs() < weights
    assert (second.norms == own.norms).all()
    assert (first.norms != second.norms).any()
    assert len(loading._kept) == 1
    assert load(resolve(beside)).seconds == 0


def test_without_the_weights_stored_answers_are_found_and_the_hubs_tools_read_the_cache(
    server: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Borrower() as borrow:
        result = borrow(request("step0"), Store())
    client(monkeypatch, tmp_path)
    again = measure(request("step0"), Store())
    assert again.key == result.key
    with pytest.raises(ComputeError, match="not in the local cache"):
        measure(request("step0", "The dog"), Store())
    scanned = scan_cache_dir(cache.root())
    assert not scanned.warnings
    (repository,) = scanned.repos
    assert repository.refs.keys() == {"step0"}


def test_what_was_there_before_stays_though_another_revision_shares_its_content(
    server: FakeHub, folders: dict[str, Path]
) -> None:
    server.folders["step9"] = folders["step0"]
    server.commits["step9"] = "9" * 40
    hub.download(REPO, hub.commit(REPO, "step0"), lambda _: None, "step0")
    with Borrower() as borrow:
        borrow(request("step0"))
        borrow(request("step9"))
        assert here() == ["step0", "step9"]
    assert here() == ["step0"]
    measure(request("step0"))


def test_a_failed_measurement_leaves_nothing(server: FakeHub) -> None:
    with Borrower() as borrow, pytest.raises(InputError, match="token 99 is out of range"):
        borrow(replace(request("step0"), kind="depth", k=4, token=99))
    assert here() == []


def test_what_had_arrived_of_a_stopped_download_stays(server: FakeHub) -> None:
    server.slow = "model.safetensors"

    def parts() -> list[Path]:
        return list(cache.repository(REPO).glob("blobs/*.incomplete"))

    def stop(progress) -> None:
        if server.slow in server.fetched() and parts():  # small files come before it
            raise Cancelled("enough")

    with Borrower() as borrow, pytest.raises(Cancelled):
        borrow(request("step0"), progress=stop)
    assert parts()
    assert here() == []


def test_a_cache_that_forbids_it_is_told(server: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    borrow = Borrower()
    borrow(request("step0"))

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ComputeError, match=r"model\.safetensors cannot be deleted \(Permission"):
        borrow.give_back()


# ---- through the queue


def wait(jobs: Jobs, keys: list[str]) -> None:
    assert [end_of(jobs, key).state for key in keys] == ["done"] * len(keys)
    until(lambda: all(thread.name != "measuring" for thread in threading.enumerate()))


def test_the_queue_gives_back_what_nobody_wants_kept(server: FakeHub) -> None:
    jobs = Jobs(Store())
    asked = [request("step0"), request("step0", "The dog"), request("step8")]
    wait(jobs, [jobs.submit(resolve(one), "me", keep=False).key for one in asked])
    assert here() == []
    assert fetches(server) == 2


def test_who_joins_may_want_it_kept(server: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = threading.Event(), threading.Event()

    def slow(one: Request, store: Store, **options) -> object:
        first.set()
        assert second.wait(PATIENCE)
        return measure(one, store, **options)

    jobs = Jobs(Store(), slow)
    keys = [jobs.submit(resolve(request("step8")), "me").key]
    assert first.wait(PATIENCE)
    keys.append(jobs.submit(resolve(request("step0")), "me", keep=False).key)
    assert jobs.submit(resolve(request("step0")), "you").key == keys[1]
    second.set()
    wait(jobs, keys)
    assert here() == ["step0", "step8"]
