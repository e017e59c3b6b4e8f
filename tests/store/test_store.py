import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import mutations
import pytest
import store_processes as processes
from cases import content, random_result
from store_processes import exit_code, forked

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.results import DepthResult
from coupling_core.base.settings import settings
from coupling_core.base.writing import TEMPORARY
from coupling_core.store import archive, disk, request_key
from coupling_core.store.archive import encode, load, read_header, save
from coupling_core.store.disk import Store

RESULT, OTHER = random_result(), random_result(seed=1)
SIZE = len(encode(RESULT))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    folder = tmp_path / "gallery"
    folder.mkdir()
    return folder


@pytest.fixture
def stored(root: Path, gallery: Path) -> Store:
    """A store that holds RESULT, beside an empty gallery."""
    made = Store(root, gallery=gallery)
    made.put(RESULT)
    return made


def same(found: DepthResult | None, result: DepthResult) -> bool:
    return found is not None and content(found) == content(result)


def find(stored: Store, result: DepthResult) -> DepthResult | None:
    return stored.find(result.request, result.identity)


def damage(path: Path, position: int = -1) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def keys(stored: Store) -> set[str]:
    return {entry.key for entry in stored.entries()}


# --- what is put is found


def test_what_was_put_is_found_by_its_request_and_its_key(stored: Store) -> None:
    assert same(find(stored, RESULT), RESULT)
    assert same(stored.get(RESULT.key), RESULT)
    assert stored.verify(RESULT.key) == ""
    asked = replace(RESULT.request, model="/a/path.gguf", revision=None)
    assert same(stored.find(asked, {**RESULT.identity, "name": "path"}), RESULT)
    assert stored.find(replace(RESULT.request, prompt="Another"), RESULT.identity) is None
    assert stored.find(RESULT.request, {**RESULT.identity, "digest": "0"}) is None


def test_what_an_earlier_version_stored_with_a_smaller_corner_is_found(tmp_path: Path) -> None:
    asked = replace(RESULT.request, k=6, k_view=None)
    made = str(request_key.make_key(asked, RESULT.identity))
    key = f"{made.rpartition('-v')[0]}-v6"
    former = replace(RESULT, request=asked, key=key)
    store = Store(tmp_path)
    (tmp_path / f"{key}.safetensors").write_bytes(encode(former))
    found = find(store, former)
    assert found is not None
    assert found.key == key
    assert store.verify(key) == ""
    assert load(former.save(tmp_path / "alone.safetensors")).key == key
    assert Store(tmp_path / "other").put(former).is_file()


def test_the_closest_superset_answers(stored: Store) -> None:
    assert RESULT.k_max < RESULT.request.k_max  # its model is narrower than what was asked for
    assert same(stored.find(replace(RESULT.request, k=RESULT.k_max), RESULT.identity), RESULT)
    for k, side in ((50, 8), (100, 8), (100, 16)):
        asked = replace(RESULT.request, k=k, k_view=side)
        stored.put(random_result(k_view=side, k_max=16, request=asked))
    answers = {
        (8, 4): (50, 4),
        (8, None): (100, 16),
        (4, None): (100, 16),
        (50, None): (100, 16),
        (8, 5): (50, 8),
        (8, 9): (100, 16),
        (60, 1): (100, 8),
        (8, 17): None,
        (101, None): None,
    }
    for (k, side), expected in answers.items():
        found = stored.find(replace(RESULT.request, k=k, k_view=side), RESULT.identity)
        assert (found and (found.request.k_max, found.k_view)) == expected, (k, side)


def test_a_result_is_had_by_the_first_letters_of_its_key(stored: Store) -> None:
    assert same(stored.get(RESULT.key[:8]), RESULT)
    assert stored.full_key(RESULT.key[:8]) == stored.full_key(RESULT.key) == RESULT.key
    longer = stored.root / f"{RESULT.key}0.safetensors"  # which the whole key begins too
    shutil.copy(stored.path(RESULT.key), longer)
    assert stored.get(RESULT.key).key == RESULT.key


def test_the_gallery_answers_and_is_not_written(stored: Store, gallery: Path) -> None:
    path = gallery / f"{OTHER.key}.safetensors"
    save(OTHER, path)
    age(path, 1000)
    before = path.stat().st_mtime
    assert same(find(stored, OTHER), OTHER)
    assert same(stored.get(OTHER.key), OTHER)
    assert path.stat().st_mtime == before


def test_the_gallery_that_comes_with_the_program_is_sound() -> None:
    entries = [entry for entry in Store().entries() if entry.read_only]
    assert {Store().verify(entry.key) for entry in entries} == {""}
    assert sum(entry.size for entry in entries) < 66e6  # a wheel has at most 100 MB


def test_an_empty_store_has_nothing(root: Path) -> None:
    empty = processes.own_store(root)
    assert find(empty, RESULT) is None
    assert empty.entries() == []
    assert "0 results, 0 more" in repr(empty)
    assert not root.exists()


# --- what is damaged is never read


def test_a_damaged_file_counts_as_absent_and_is_replaced_by_computing_again(stored: Store) -> None:
    path = stored.path(RESULT.key)
    harms: dict[str, Callable[[], object]] = {
        "array": lambda: damage(path),
        "header": lambda: damage(path, 700),
        "half": lambda: os.truncate(path, SIZE // 2),
        "empty": lambda: os.truncate(path, 0),
        "another result": lambda: save(OTHER, path),
        "text": lambda: path.write_text("no result"),
    }
    for name, harm in harms.items():
        harm()
        assert find(stored, RESULT) is None, name
        assert str(path) in stored.verify(RESULT.key), name
        with pytest.raises(ComputeError):
            stored.get(RESULT.key)
        stored.put(RESULT)
        assert same(find(stored, RESULT), RESULT), name
    path.unlink()
    path.mkdir()
    assert find(stored, RESULT) is None
    larger = random_result(k_view=8, request=replace(RESULT.request, k_view=8))
    stored.put(larger)  # to which the damaged one gives way
    assert same(find(stored, RESULT), larger)


def test_an_old_schema_is_said_and_not_read(stored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as old:
        old.setattr(archive, "SCHEMA", 0)
        old.setattr(request_key, "SCHEMA", 0)
        before = random_result(seed=1)
        stored.put(before)
        assert same(find(stored, before), before)
    assert find(stored, OTHER) is None
    (entry,) = [entry for entry in stored.entries() if entry.key == before.key]
    assert "schema 0" in entry.problem
    assert "schema 0" in stored.verify(before.key)


# --- processes that die, and processes beside each other


@pytest.mark.full
@pytest.mark.parametrize(
    ("event", "occurrence", "finished"),
    [("open", 1, False), ("open", 2, False), ("os.rename", 1, False), ("open", 3, True)],
    ids=["before writing", "before verifying", "before renaming", "after renaming"],
)
def test_kill_9_while_writing(stored: Store, event: str, occurrence: int, finished: bool) -> None:
    child = forked(processes.put_and_die, stored.root, 1, event, occurrence)
    assert exit_code(child) == -signal.SIGKILL
    assert same(find(stored, RESULT), RESULT)
    assert same(find(stored, OTHER), OTHER) is finished
    assert not any(entry.problem for entry in stored.entries())
    stored.put(OTHER)
    assert same(find(stored, OTHER), OTHER)


@pytest.mark.full
def test_half_of_a_result_is_never_taken_for_one(stored: Store) -> None:
    child = forked(partial(processes.put_half, dies=False), stored.root, 1)  # as on a full disk
    assert exit_code(child) == 1
    assert [path.stem for path in stored.root.iterdir()] == [RESULT.key]
    child = forked(partial(processes.put_half, dies=True), stored.root, 1)
    assert exit_code(child) == -signal.SIGXFSZ
    (left,) = stored.root.glob(f".*{TEMPORARY}")
    assert left.stat().st_size == len(encode(OTHER)) // 2
    assert same(find(stored, RESULT), RESULT)
    assert find(stored, OTHER) is None


@pytest.mark.full
def test_kill_9_from_outside_at_any_moment(stored: Store) -> None:
    large = processes.large_result()
    child = forked(processes.put_large_forever, stored.root)
    while child.is_alive() and not _is_writing(stored.root):
        pass
    child.kill()
    assert exit_code(child) == -signal.SIGKILL
    assert same(find(stored, RESULT), RESULT)
    assert find(stored, large) is None or same(find(stored, large), large)
    stored.put(large)
    assert same(find(stored, large), large)


@pytest.mark.full
@pytest.mark.parametrize(
    ("seeds", "max_bytes"),
    [((1,), 10 * SIZE), ((1, 2, 3), 2 * SIZE)],
    ids=["one key", "evicting each other's"],
)
def test_processes_side_by_side(stored: Store, seeds: tuple[int, ...], max_bytes: int) -> None:
    start = processes.CONTEXT.Barrier(3)
    children = [forked(processes.share, stored.root, start, seeds, max_bytes) for _ in range(3)]
    assert [exit_code(child) for child in children] == [0, 0, 0]
    assert not list(stored.root.glob(f".*{TEMPORARY}"))
    last = random_result(seed=seeds[(processes.ROUNDS - 1) % len(seeds)])
    assert same(find(stored, last), last)


def _is_writing(root: Path) -> bool:
    return any(path.stat().st_size for path in root.glob(f".*{TEMPORARY}"))


@pytest.mark.parametrize(
    "function", [processes.fill_disk, processes.read_from_a_disk_that_cannot_be_written]
)
def test_a_small_disk(function: Callable[[Path], None], tmp_path: Path) -> None:
    processes.on_a_small_disk(tmp_path, function)


# --- what is cleared away, and a bound on the size


def test_leftovers_of_the_dead_go_and_files_of_the_living_stay(root: Path, gallery: Path) -> None:
    (root / "sweeps" / "one").mkdir(parents=True)
    names = (".key.a", ".key.b", "..worker.0e", "sweeps/one/.state.json.1f")
    fresh, *old = (root / f"{name}{TEMPORARY}" for name in names)
    for path in (fresh, *old):
        path.write_bytes(b"half")
    for path in old:
        age(path, 3 * 3600)
    Store(root, gallery=gallery).put(RESULT)
    assert not any(path.exists() for path in old)
    assert fresh.exists()


def test_a_process_clears_away_once_in_a_hundredth_of_the_bound(root: Path, gallery: Path) -> None:
    bounded = Store(root, gallery=gallery, max_bytes=1000 * SIZE)  # a hundredth: ten of them
    bounded.put(RESULT)
    left = root / f".key.a{TEMPORARY}"
    left.write_bytes(b"half")
    age(left, 3 * 3600)
    for seed in range(1, 10):
        bounded.put(random_result(seed))
        assert left.exists()
    for seed in (10, 11):
        bounded.put(random_result(seed))
    assert not left.exists()


def _aged(stored: Store, seeds: range) -> list[DepthResult]:
    """Put results, the first of which was used longest ago."""
    results = [random_result(seed) for seed in seeds]
    for position, result in enumerate(results):
        age(stored.put(result), 1000 - position)
    return results


def test_what_was_not_used_for_longest_goes_first(
    root: Path, gallery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = _aged(Store(root, gallery=gallery), range(5))
    bounded = Store(root, gallery=gallery, max_bytes=3 * SIZE + SIZE // 2)
    assert same(find(bounded, results[0]), results[0])  # reading is using
    last = random_result(seed=5)
    bounded.put(last)
    assert keys(bounded) == {results[0].key, results[4].key, last.key}
    monkeypatch.setenv("COUPLING_STORE_BYTES", str(2 * SIZE + SIZE // 2))
    settings.cache_clear()
    latest = random_result(seed=6)
    Store(root, gallery=gallery).put(latest)  # as large as the settings say
    assert keys(bounded) == {last.key, latest.key}


def test_what_was_just_written_stays(stored: Store, root: Path, gallery: Path) -> None:
    age(stored.path(RESULT.key), -1000)  # used "later", by another clock
    Store(root, gallery=gallery, max_bytes=1).put(OTHER)
    assert keys(stored) == {OTHER.key}


@pytest.mark.parametrize("put_again", [False, True])
def test_what_goes_while_it_is_read_is_not_called_damaged(
    put_again: bool,
    stored: Store,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = stored.path(RESULT.key)
    data = path.read_bytes()

    def evicted(read: Callable[[Path], Any], path: Path) -> Any:
        path.unlink()
        try:
            return read(path)
        finally:
            if put_again:
                path.write_bytes(data)

    monkeypatch.setattr(disk, "load", partial(evicted, load))
    monkeypatch.setattr(disk, "read_header", partial(evicted, read_header))
    with pytest.raises(ComputeError, match=f"{RESULT.key} is gone: .*COUPLING_STORE_BYTES"):
        stored.get(RESULT.key)
    path.write_bytes(data)
    assert find(stored, RESULT) is None
    path.write_bytes(data)
    assert stored.entries() == []
    assert "damaged" not in caplog.text


def test_eviction_leaves_the_gallery_and_what_is_not_ours(root: Path) -> None:
    gallery = root / "gallery"
    others = [gallery / f"{RESULT.key}.safetensors", root / "weights.safetensors", root / "README"]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(RESULT, path)
        age(path, 1000)
    bounded = Store(root, gallery=gallery, max_bytes=1)
    bounded.put(OTHER)
    bounded.put(random_result(seed=2))
    assert all(path.exists() for path in others)
    assert len(bounded.entries()) == 2
    on_gallery = Store(gallery, gallery=gallery, max_bytes=1)
    on_gallery.put(OTHER)
    assert len(on_gallery.entries()) == 2


# --- the list


def test_entries_say_what_is_stored(stored: Store, gallery: Path) -> None:
    uncertified = (replace(RESULT.certificates[0], certified=False), *RESULT.certificates[1:])
    other = random_result(seed=1, certificates=uncertified)
    path = gallery / f"{other.key}.safetensors"
    save(other, path)
    save(RESULT, gallery / f"{RESULT.key}.safetensors")  # which is listed once
    age(path, 1000)
    first, second = stored.entries()
    assert (first.key, first.read_only, first.certified) == (RESULT.key, False, True)
    assert (second.key, second.read_only, second.certified) == (other.key, True, False)
    assert second.used == path.stat().st_mtime
    assert (second.path, second.size) == (path, path.stat().st_size)
    assert (first.n_blocks, first.k_max, first.k_view, first.token) == (5, 8, 4, 4)
    assert (first.request, first.tokens) == (RESULT.request, RESULT.tokens)
    assert (first.identity, first.provenance) == (RESULT.identity, RESULT.provenance)
    assert first.problem == ""
    assert len({*stored.entries(), *stored.entries()}) == 2


def test_a_list_opens_a_file_again_where_it_is_another(stored, monkeypatch):
    opened = []
    path = stored.path(RESULT.key)
    (entry,) = stored.entries()
    monkeypatch.setattr(disk, "read_header", lambda path: opened.append(path) or read_header(path))
    assert (stored.entries(), opened) == ([entry], [])
    later = RESULT.provenance | {"seconds": 2.0}
    stored.put(replace(RESULT, provenance=later))
    assert stored.entries()[0].provenance == later != entry.provenance
    assert opened == [path]
    head = path.read_bytes()
    path.write_bytes(head[:-1])
    (cut,) = stored.entries()
    assert f"{len(head) - 1} bytes instead of {len(head)}" in cut.problem
    assert (cut.key, cut.request) == (RESULT.key, None)
    path.write_bytes(head)
    assert stored.entries()[0].problem == ""


def test_no_header_breaks_the_list_of_all_results(tmp_path: Path) -> None:
    array: Any = "singular_values"
    changes: list[Callable[[Any, Any], object]] = [
        lambda said, _: said["provenance"].pop("seconds"),
        lambda said, _: said["provenance"].update(date=5),
        lambda said, _: said.update(provenance=[]),
        lambda said, _: said.pop("provenance"),
        lambda said, _: said["identity"].update(name=[1]),
        lambda said, _: said.update(tokens=[1, 2, 3, 4]),
        lambda said, _: said.update(tokens=["\ud800"] * 4),
        lambda said, _: said["request"].update(prompt=[float("inf")]),
        lambda said, _: said["request"].update(k="8"),
        lambda said, _: said.update(token="1"),
        lambda _, tensors: tensors[array].update(shape=["a", 8]),
        lambda _, tensors: tensors[array].update(shape=[10**30, 8]),
        lambda _, tensors: tensors[array].update(data_offsets=[0]),
        lambda _, tensors: tensors[array].pop("data_offsets"),
        lambda _, tensors: tensors.update({array: 7}),
        lambda _, tensors: tensors.update({"": [[]]}),
    ]
    store = Store(tmp_path, layers=(), gallery=tmp_path / "none")
    data = encode(OTHER)
    end = 8 + int.from_bytes(data[:8], "little")
    good = store.put(RESULT)
    for number, change in enumerate(changes):
        tensors = json.loads(data[8:end])
        said = json.loads(tensors["__metadata__"]["header"])
        change(said, tensors)
        tensors["__metadata__"]["header"] = json.dumps(said)
        (tmp_path / f"{number:032x}-k50-v4.safetensors").write_bytes(
            mutations.sealed(json.dumps(tensors).encode(), data[end:])
        )
    entries = store.entries()
    assert len(entries) == 1 + len(changes)
    assert [entry.path for entry in entries if not entry.problem] == [good]


# --- where it is


def test_a_shared_store_is_read_below_ones_own_and_never_written(
    root: Path, tmp_path: Path
) -> None:
    shared = Store(tmp_path / "shared", gallery=tmp_path / "none")
    path = shared.put(RESULT)
    before = path.stat().st_mtime
    stored = Store(root, layers=(shared.root,), gallery=tmp_path / "none", max_bytes=1)
    assert same(find(stored, RESULT), RESULT)
    stored.put(OTHER)  # evicts what it may
    assert {entry.key: entry.read_only for entry in stored.entries()} == {
        OTHER.key: False,
        RESULT.key: True,
    }
    assert "1 result, 1 more" in repr(stored)
    with pytest.raises(InputError):
        stored.remove(RESULT.key)
    assert path.stat().st_mtime == before
    assert same(find(shared, RESULT), RESULT)


def test_layers_are_named_by_the_environment(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    monkeypatch.setenv("COUPLING_LAYERS", os.pathsep.join(map(str, (first, second))))
    assert Store(root).layers == (first, second, Store(root).gallery)
    save(RESULT, second / f"{RESULT.key}.safetensors")
    assert same(find(Store(root), RESULT), RESULT)
    second.rename(tmp_path / "away")
    with pytest.raises(InputError, match=r"COUPLING_LAYERS names .*second"):
        Store(root)


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUPLING_STORE", str(tmp_path / "chosen"))
    assert Store().root == tmp_path / "chosen"
    monkeypatch.delenv("COUPLING_STORE")
    monkeypatch.setattr(disk, "SHIPPED", tmp_path / "checkout")
    assert Store().root == tmp_path / "home" / "results"
    (tmp_path / "checkout" / "gallery").mkdir(parents=True)
    assert Store().root == tmp_path / "checkout"
    assert Store().gallery == tmp_path / "checkout" / "gallery"
