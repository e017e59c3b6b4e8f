import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import mutations
import numpy as np
import pytest
import store_processes as processes
from cases import content, random_result

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult
from coupling_core.base.settings import settings
from coupling_core.base.writing import TEMPORARY
from coupling_core.store import archive, disk, request_key
from coupling_core.store.archive import encode, load, read_header, save
from coupling_core.store.disk import Store

RESULT = random_result()
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


# --- what is put is found


def test_what_was_put_is_found(stored: Store) -> None:
    assert same(find(stored, RESULT), RESULT)
    assert same(stored.get(RESULT.key), RESULT)
    assert stored.verify(RESULT.key) == ""


def test_what_an_earlier_version_stored_with_a_smaller_corner_is_found(tmp_path: Path) -> None:
    asked = replace(RESULT.request, k=6, k_view=None)
    made = str(request_key.make_key(asked, RESULT.identity))
    key = f"{made.rpartition('-v')[0]}-v6"
    former = replace(RESULT, request=asked, key=key)
    store = Store(tmp_path)
    (tmp_path / f"{key}.safetensors").write_bytes(encode(former))
    found = store.find(former.request, former.identity)
    assert found is not None
    assert found.key == key
    assert store.verify(key) == ""
    assert load(former.save(tmp_path / "alone.safetensors")).key == key
    assert Store(tmp_path / "other").put(former).is_file()


def test_another_way_to_the_model_finds_it(stored: Store) -> None:
    asked = replace(RESULT.request, model="/a/path.gguf", revision=None)
    assert same(stored.find(asked, {**RESULT.identity, "name": "path"}), RESULT)


def test_another_request_does_not(stored: Store) -> None:
    assert stored.find(replace(RESULT.request, prompt="Another"), RESULT.identity) is None
    assert stored.find(RESULT.request, {**RESULT.identity, "digest": "0"}) is None


@pytest.mark.parametrize(
    ("k", "k_view", "found"),
    [
        (8, 4, (50, 4)),
        (8, None, (100, 16)),
        (4, None, (100, 16)),
        (50, None, (100, 16)),
        (8, 5, (50, 8)),
        (8, 9, (100, 16)),
        (60, 1, (100, 8)),
        (8, 17, None),
        (101, None, None),
    ],
)
def test_the_closest_superset_answers(
    stored: Store, k: int, k_view: int | None, found: tuple[int, int] | None
) -> None:
    for k_asked, side in ((50, 8), (100, 8), (100, 16)):
        asked = replace(RESULT.request, k=k_asked, k_view=side)
        stored.put(random_result(k_view=side, k_max=16, request=asked))
    result = stored.find(replace(RESULT.request, k=k, k_view=k_view), RESULT.identity)
    assert (result and (result.request.k_max, result.k_view)) == found


def test_a_model_narrower_than_asked_is_found(stored: Store) -> None:
    assert RESULT.k_max < RESULT.request.k_max
    assert same(stored.find(replace(RESULT.request, k=RESULT.k_max), RESULT.identity), RESULT)


def test_the_gallery_answers(stored: Store, gallery: Path) -> None:
    other = random_result(seed=1)
    save(other, gallery / f"{other.key}.safetensors")
    age(gallery / f"{other.key}.safetensors", 1000)
    before = (gallery / f"{other.key}.safetensors").stat()
    assert same(find(stored, other), other)
    assert same(stored.get(other.key), other)
    assert (gallery / f"{other.key}.safetensors").stat().st_mtime == before.st_mtime


def test_the_gallery_that_comes_with_the_program_is_sound() -> None:
    entries = [entry for entry in Store().entries() if entry.read_only]
    assert {Store().verify(entry.key) for entry in entries} == {""}
    assert sum(entry.size for entry in entries) < 49e6  # cloned by everybody


def test_an_empty_store_has_nothing(root: Path) -> None:
    empty = processes.own_store(root)
    assert find(empty, RESULT) is None
    assert empty.entries() == []
    assert not root.exists()


def test_what_is_not_finished_is_refused(stored: Store) -> None:
    norms = RESULT.jacobian_norm.copy()
    norms[-1] = np.nan
    with pytest.raises(InputError, match="not measured to its end"):
        stored.put(random_result(seed=1, jacobian_norm=norms))
    with pytest.raises(InputError, match="is not that of the result's request"):
        stored.put(replace(RESULT, key=random_result(seed=1).key))
    assert [entry.key for entry in stored.entries()] == [RESULT.key]
    assert len({*stored.entries(), *stored.entries()}) == 1


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
    head, size = path.read_bytes(), path.stat().st_size
    path.write_bytes(head[:-1])
    assert "bytes instead of" in stored.entries()[0].problem
    path.write_bytes(head)
    assert (stored.entries()[0].problem, path.stat().st_size) == ("", size)


# --- what is damaged is never read


@pytest.mark.parametrize(
    "harm",
    [
        damage,
        lambda path: damage(path, 700),
        lambda path: os.truncate(path, SIZE // 2),
        lambda path: os.truncate(path, 0),
        lambda path: save(random_result(seed=1), path),
        lambda path: path.write_text("no result"),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["array", "header", "half", "empty", "another result", "text", "folder"],
)
def test_a_damaged_file_counts_as_absent(stored: Store, harm: Callable[[Path], None]) -> None:
    path = stored.root / f"{RESULT.key}.safetensors"
    harm(path)
    assert find(stored, RESULT) is None
    assert str(path) in stored.verify(RESULT.key)
    with pytest.raises(ComputeError, match="remove it and compute it again"):
        stored.get(RESULT.key)


def test_a_damaged_file_is_replaced_by_computing_again(stored: Store) -> None:
    damage(stored.root / f"{RESULT.key}.safetensors")
    stored.put(RESULT)
    assert same(find(stored, RESULT), RESULT)


def test_a_damaged_file_gives_way_to_a_sound_one(stored: Store) -> None:
    larger = random_result(k_view=8, request=replace(RESULT.request, k_view=8))
    stored.put(larger)
    damage(stored.root / f"{RESULT.key}.safetensors")
    assert same(find(stored, RESULT), larger)


def test_an_old_schema_is_said_and_not_read(stored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as old:
        old.setattr(archive, "SCHEMA", 0)
        old.setattr(request_key, "SCHEMA", 0)
        before = random_result(seed=1)
        stored.put(before)
        assert same(find(stored, before), before)
    assert find(stored, random_result(seed=1)) is None
    entry = next(entry for entry in stored.entries() if entry.key == before.key)
    assert "was written in schema 0" in entry.problem
    assert "was written in schema 0" in stored.verify(before.key)


# --- processes that die, and processes beside each other


@pytest.mark.parametrize(
    ("event", "occurrence", "finished"),
    [("open", 1, False), ("open", 2, False), ("os.rename", 1, False), ("open", 3, True)],
    ids=["before writing", "before verifying", "before renaming", "after renaming"],
)
def test_kill_9_while_writing(stored: Store, event: str, occurrence: int, finished: bool) -> None:
    other = random_result(seed=1)
    child = processes.start(processes.put_and_die, stored.root, 1, event, occurrence)
    assert processes.exit_code(child) == -signal.SIGKILL
    assert same(find(stored, RESULT), RESULT)
    assert same(find(stored, other), other) is finished
    assert not any(entry.problem for entry in stored.entries())
    stored.put(other)
    assert same(find(stored, other), other)


def test_killed_with_half_of_it_written(stored: Store) -> None:
    other = random_result(seed=1)
    child = processes.start(_put_half_and_die, stored.root)
    assert processes.exit_code(child) == -signal.SIGXFSZ
    (left,) = stored.root.glob(f".*{TEMPORARY}")
    assert left.stat().st_size == len(encode(other)) // 2
    assert same(find(stored, RESULT), RESULT)
    assert find(stored, other) is None


def test_kill_9_from_outside_at_any_moment(stored: Store) -> None:
    large = processes.large_result()
    child = processes.start(processes.put_large_forever, stored.root)
    while child.is_alive() and not _is_writing(stored.root):
        pass
    child.kill()
    assert processes.exit_code(child) == -signal.SIGKILL
    assert same(find(stored, RESULT), RESULT)
    assert find(stored, large) is None or same(find(stored, large), large)
    stored.put(large)
    assert same(find(stored, large), large)


@pytest.mark.parametrize(
    ("seeds", "max_bytes"),
    [((1,), 10 * SIZE), ((1, 2, 3), 2 * SIZE)],
    ids=["one key", "evicting each other's"],
)
def test_processes_side_by_side(stored: Store, seeds: tuple[int, ...], max_bytes: int) -> None:
    barrier = processes.SPAWN.Barrier(3)
    children = [
        processes.start(processes.share, stored.root, barrier, seeds, max_bytes) for _ in range(3)
    ]
    assert [processes.exit_code(child) for child in children] == [0, 0, 0]
    assert not list(stored.root.glob(f".*{TEMPORARY}"))
    last = random_result(seed=seeds[(processes.ROUNDS - 1) % len(seeds)])
    assert same(find(stored, last), last)


def opened_again(store: Store) -> Store:
    """As by a process that starts now, whose first result looks at all others."""
    return Store(store.root, gallery=store.gallery, max_bytes=store.max_bytes)


def test_leftovers_of_the_dead_go_and_files_of_the_living_stay(stored: Store) -> None:
    old, fresh = (stored.root / f".{RESULT.key}.safetensors.{x}{TEMPORARY}" for x in "ab")
    for path in (old, fresh):
        path.write_bytes(b"half")
    age(old, 3 * 3600)
    beat, noted = stored.root / f"..worker.0e{TEMPORARY}", stored.root / "sweeps" / "one"
    noted.mkdir(parents=True)
    others = [beat, noted / f".state.json.1f{TEMPORARY}"]
    for path in others:
        path.write_bytes(b"half")
        age(path, 3 * 3600)
    opened_again(stored).put(RESULT)
    assert not old.exists()
    assert not any(path.exists() for path in others)
    assert fresh.exists()


# --- a disk that is full, or cannot be written


def test_a_write_cut_short_is_a_full_disk(stored: Store) -> None:
    child = processes.start(_put_half, stored.root)
    assert processes.exit_code(child) == 1
    assert [path.name for path in stored.root.iterdir()] == [f"{RESULT.key}.safetensors"]
    assert same(find(stored, RESULT), RESULT)


@pytest.mark.parametrize(
    "function", [processes.fill_disk, processes.read_from_a_disk_that_cannot_be_written]
)
def test_a_small_disk(function: Callable[[Path], None], tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here")
    run = processes.on_a_small_disk(tmp_path, function)
    if run.returncode == 77 or run.stderr.startswith("unshare:"):
        pytest.skip(f"no disk can be mounted here: {run.stderr.strip()}")
    assert run.returncode == 0, run.stderr


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ComputeError, match=r"cannot be written .*: set COUPLING_STORE"):
        processes.own_store(tmp_path / "file" / "root").put(RESULT)


# --- a bound on the size


def _aged(stored: Store, seeds: range) -> list[DepthResult]:
    """Put results, the first of which was used longest ago."""
    results = [random_result(seed) for seed in seeds]
    for position, result in enumerate(results):
        age(stored.put(result), 1000 - position)
    return results


def test_what_was_not_used_for_longest_goes_first(root: Path, gallery: Path) -> None:
    results = _aged(Store(root, gallery=gallery), range(5))
    bounded = Store(root, gallery=gallery, max_bytes=3 * SIZE + SIZE // 2)
    assert same(find(bounded, results[0]), results[0])  # reading is using
    last = random_result(seed=5)
    bounded.put(last)
    kept = {entry.key for entry in bounded.entries()}
    assert kept == {results[0].key, results[4].key, last.key}


def test_a_store_is_as_large_as_the_settings_say(
    root: Path, gallery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = _aged(Store(root, gallery=gallery), range(5))
    monkeypatch.setenv("COUPLING_STORE_BYTES", str(2 * SIZE + SIZE // 2))
    settings.cache_clear()
    last = random_result(seed=5)
    Store(root, gallery=gallery).put(last)
    kept = {entry.key for entry in Store(root, gallery=gallery).entries()}
    assert kept == {results[4].key, last.key}


def test_a_process_looks_at_all_results_once_in_a_hundredth_of_the_bound(
    root: Path, gallery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    evict = Store._evict
    monkeypatch.setattr(
        Store, "_evict", lambda self, path: (looked.append(path), evict(self, path))
    )
    bounded = Store(root, gallery=gallery, max_bytes=1000 * SIZE)  # a hundredth: ten of them
    for seed in range(25):
        bounded.put(random_result(seed))
    assert len(looked) == 1 + 24 // 10


def test_what_was_just_written_stays(stored: Store, root: Path, gallery: Path) -> None:
    age(stored.root / f"{RESULT.key}.safetensors", -1000)  # used "later", by another clock
    last = random_result(seed=1)
    Store(root, gallery=gallery, max_bytes=1).put(last)
    assert [entry.key for entry in stored.entries()] == [last.key]


@pytest.mark.parametrize("put_again", [False, True])
def test_what_goes_while_it_is_read_is_not_called_damaged(
    put_again: bool,
    stored: Store,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = RESULT.key
    path = stored.path(key)
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
    with pytest.raises(ComputeError, match=f"{key} is gone: .* raise COUPLING_STORE_BYTES"):
        stored.get(key)
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
    bounded.put(random_result(seed=1))
    bounded.put(random_result(seed=2))
    assert all(path.exists() for path in others)
    assert len(bounded.entries()) == 2


def test_a_store_on_the_gallery_itself_evicts_nothing(gallery: Path) -> None:
    on_gallery = Store(gallery, gallery=gallery, max_bytes=1)
    on_gallery.put(RESULT)
    on_gallery.put(random_result(seed=1))
    assert len(on_gallery.entries()) == 2


# --- the list


def test_entries_say_what_is_stored(stored: Store, gallery: Path) -> None:
    uncertified = (replace(RESULT.certificates[0], certified=False), *RESULT.certificates[1:])
    other = random_result(seed=1, certificates=uncertified)
    path = gallery / f"{other.key}.safetensors"
    save(other, path)
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


def test_entries_name_what_is_wrong(stored: Store) -> None:
    os.truncate(stored.root / f"{RESULT.key}.safetensors", SIZE - 1)
    (entry,) = stored.entries()
    assert f"is damaged: it has {SIZE - 1} bytes instead of {SIZE}" in entry.problem
    assert (entry.key, entry.request) == (RESULT.key, None)


def test_one_key_is_listed_once(stored: Store, gallery: Path) -> None:
    save(RESULT, gallery / f"{RESULT.key}.safetensors")
    assert [entry.read_only for entry in stored.entries()] == [False]


def test_removing(stored: Store, gallery: Path) -> None:
    other = random_result(seed=1)
    save(other, gallery / f"{other.key}.safetensors")
    stored.remove(RESULT.key)
    assert find(stored, RESULT) is None
    with pytest.raises(InputError, match="/gallery, which is only read from here"):
        stored.remove(other.key)
    assert same(find(stored, other), other)


def test_a_shared_store_is_read_below_ones_own_and_never_written(
    root: Path, tmp_path: Path
) -> None:
    shared, own = Store(tmp_path / "shared", gallery=tmp_path / "none"), random_result(seed=1)
    shared.put(RESULT)
    before = age_of(shared, RESULT)
    stored = Store(root, layers=(shared.root,), gallery=tmp_path / "none", max_bytes=1)
    assert same(find(stored, RESULT), RESULT)
    stored.put(own)  # evicts what it may
    assert [(e.key, e.read_only) for e in stored.entries()] == [
        (own.key, False),
        (RESULT.key, True),
    ]
    with pytest.raises(InputError, match="only read from here"):
        stored.remove(RESULT.key)
    assert age_of(shared, RESULT) == before
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
    with pytest.raises(InputError, match=r"COUPLING_LAYERS names .*second, which is no folder"):
        Store(root)


def age_of(stored: Store, result: DepthResult) -> float:
    return stored.path(result.key).stat().st_mtime


@pytest.mark.parametrize("method", ["get", "verify", "remove"])
@pytest.mark.parametrize("key", [random_result(seed=9).key, "x", "", "*", "../root/" + RESULT.key])
def test_a_key_that_is_not_stored(stored: Store, method: str, key: str) -> None:
    with pytest.raises(InputError, match="there is no stored result"):
        getattr(stored, method)(key)
    assert same(find(stored, RESULT), RESULT)


# --- where it is


def test_a_result_is_had_by_the_first_letters_of_its_key(stored: Store, gallery: Path) -> None:
    assert content(stored.get(RESULT.key[:8])) == content(RESULT)
    assert stored.full_key(RESULT.key[:8]) == stored.full_key(RESULT.key) == RESULT.key
    longer = stored.root / f"{RESULT.key}0.safetensors"  # which the whole key begins too
    shutil.copy(stored.path(RESULT.key), longer)
    assert stored.get(RESULT.key).key == RESULT.key
    with pytest.raises(InputError, match="begins 2 keys: give more letters"):
        stored.get(RESULT.key[:8])
    for nothing in ("zzz", f"../{RESULT.key}"):
        with pytest.raises(InputError, match=r"no stored result .* Store\(\)\.entries\(\)"):
            stored.get(nothing)
    with pytest.raises(InputError, match="there is no stored result"):
        stored.remove(RESULT.key[:8])  # what is deleted is named whole


def test_a_store_says_where_it_is_and_how_much_it_has(stored: Store, tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    shutil.copy(stored.path(RESULT.key), below)
    shown = Store(stored.root, gallery=below)
    assert repr(shown) == f"Store({str(stored.root)!r}, 1 result, 1 more that are only read)"
    assert len(repr(stored.entries()[0])) < 700
    (tmp_path / "file").write_text("")
    assert "0 results" in repr(Store(tmp_path / "file", gallery=tmp_path / "none"))


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUPLING_STORE", str(tmp_path / "chosen"))
    assert Store().root == tmp_path / "chosen"
    monkeypatch.delenv("COUPLING_STORE")
    monkeypatch.setattr(disk, "SHIPPED", tmp_path / "checkout")
    assert Store().root == tmp_path / "home" / "results"
    (tmp_path / "checkout" / "gallery").mkdir(parents=True)
    assert Store().root == tmp_path / "checkout"
    assert Store().gallery == tmp_path / "checkout" / "gallery"


def test_importing_the_store_imports_nothing_heavy() -> None:
    code = (
        "import sys, coupling_core.store.disk; "
        "sys.exit(' '.join({'torch', 'transformers', 'pandas', 'scipy'} & set(sys.modules)) or 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(disk.__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_a_saved_result_is_loaded_from_any_name(tmp_path: Path) -> None:
    save(RESULT, tmp_path / "mine.safetensors")
    assert same(load(tmp_path / "mine.safetensors"), RESULT)


def test_requests_that_have_no_key_are_refused(stored: Store) -> None:
    with pytest.raises(InputError, match="not JSON"):
        stored.find(Request("A prompt"), {"digest": {1, 2}})


def _put_half_and_die(root: Path) -> None:
    processes.put_half(root, 1, dies=True)


def _put_half(root: Path) -> None:
    processes.put_half(root, 1, dies=False)


def _is_writing(root: Path) -> bool:
    return any(path.stat().st_size for path in root.glob(f".*{TEMPORARY}"))


@pytest.mark.parametrize(
    "change",
    [
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
        lambda _, tensors: tensors["singular_values"].update(shape=["a", 8]),
        lambda _, tensors: tensors["singular_values"].update(shape=[10**30, 8]),
        lambda _, tensors: tensors["singular_values"].update(data_offsets=[0]),
        lambda _, tensors: tensors["singular_values"].pop("data_offsets"),
        lambda _, tensors: tensors.update(singular_values=7),
        lambda _, tensors: tensors.update({"": [[]]}),
    ],
)
def test_no_header_breaks_the_list_of_all_results(tmp_path: Path, change: Any) -> None:
    store = Store(tmp_path, layers=(), gallery=tmp_path / "none")
    data = encode(random_result(seed=1))
    end = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8:end])
    said = json.loads(tensors["__metadata__"]["header"])
    change(said, tensors)
    tensors["__metadata__"]["header"] = json.dumps(said)
    good = store.put(random_result())
    (tmp_path / f"{'0' * 32}-k50-v4.safetensors").write_bytes(
        mutations.sealed(json.dumps(tensors).encode(), data[end:])
    )
    entries = {bool(entry.problem): entry for entry in store.entries()}
    assert entries[False].path == good
    told = ("no result that this version can read", "no stored result, or damaged", "half a char")
    assert any(words in entries[True].problem for words in told)
