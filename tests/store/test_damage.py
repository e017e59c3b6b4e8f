"""Bytes that change on a disk: each is noticed, wherever it lies, and never a number is other."""

import json
import os
from itertools import product

import pytest
import tiny
from cases import content, random_result
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from coupling_core import Request
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.sources.file_hashes import is_sealed, seal
from coupling_core.sources.resolved import resolve
from coupling_core.store.archive import SUFFIX, encode
from coupling_core.store.disk import Store
from coupling_core.store.packs import pack, unpack

RESULTS = {result.key: result for result in map(random_result, range(2))}
RESULT = next(iter(RESULTS.values()))
DATA = encode(RESULT)

WHOLE = 2**20
"""Parts of a file's length; a wider range would be drawn from its beginning for the most part."""

places = st.integers(0, WHOLE - 1)
flips = st.lists(st.tuples(places, st.integers(1, 255)), max_size=4)
cuts = st.sampled_from([False, False, False, True]).flatmap(
    lambda is_cut: places if is_cut else st.just(WHOLE)
)
tails = st.sampled_from([b"", b"", b"", b"\0", b"tail"])


def damaged(data: bytes, flips: list[tuple[int, int]], cut: int, tail: bytes) -> bytes:
    """The data with bytes changed, cut at a part of its length, and followed by others."""
    changed = bytearray(data)
    for place, by in flips:
        changed[place * len(data) // WHOLE] ^= by
    return bytes(changed[: cut * len(data) // WHOLE]) + tail


def random_damage(examples: int):
    """Give a test many ways to damage something, the same ones in every run."""

    def decorate(test):
        run = settings(
            max_examples=examples, deadline=None, database=None, phases=(Phase.generate,)
        )
        return seed(20261122)(run(given(flips, cuts, tails)(test)))

    return decorate


def filled(folder):
    store = Store(folder / "store", layers=(), gallery=folder / "none")
    for result in RESULTS.values():
        store.put(result)
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("damage"))


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    pack(filled(folder), RESULTS, folder / "pack.zip")
    return (folder / "pack.zip").read_bytes()


@random_damage(250)
def test_a_stored_file_reads_as_it_was_written_or_not_at_all(store, flips, cut, tail):
    changed = damaged(DATA, flips, cut, tail)
    (store.root / f"{RESULT.key}{SUFFIX}").write_bytes(changed)
    found = store.find(RESULT.request, RESULT.identity)
    assert (found is not None) == (changed == DATA)
    assert (store.verify(RESULT.key) == "") == (changed == DATA)
    if found is not None:
        assert content(found) == content(RESULT)
    else:
        with pytest.raises(ComputeError, match="remove it and compute it again"):
            store.get(RESULT.key)
    listed = {entry.key: entry for entry in store.entries()}
    assert set(listed) == set(RESULTS)
    assert listed[RESULT.key].problem or listed[RESULT.key].tokens == RESULT.tokens


@random_damage(60)
def test_a_pack_gives_what_was_packed_or_refuses_it(packed, tmp_path_factory, flips, cut, tail):
    folder = tmp_path_factory.mktemp("unpacked")
    target = Store(folder / "store", layers=(), gallery=folder / "none")
    (folder / "pack.zip").write_bytes(damaged(packed, flips, cut, tail))
    found = unpacked(folder / "pack.zip", target)
    assert all(one.state == "new" or one.problem for one in found)
    new = [one.name for one in found if one.state == "new"]
    assert sorted(new) == sorted(entry.key for entry in target.entries())
    assert all(content(target.get(key)) == content(RESULTS[key]) for key in new)


def test_a_damaged_directory_of_a_pack_is_told(packed, tmp_path):
    """The last entry of a ZIP file's directory says how, and how long, and where a member lies."""
    for at, by in product(range(4, 46), (0x01, 0x08)):
        changed = bytearray(packed)
        changed[packed.rindex(b"PK\x01\x02") + at] ^= by
        (tmp_path / "pack.zip").write_bytes(changed)
        target = Store(tmp_path / f"{at} {by}", layers=(), gallery=tmp_path / "none")
        assert {one.state for one in unpacked(tmp_path / "pack.zip", target)} <= {"new", "refused"}
        for entry in target.entries():
            assert content(target.get(entry.key)) == content(RESULTS[entry.key]), (at, by)


def unpacked(file, target):
    """What came of each result of a pack; nothing of one that is refused as a whole."""
    try:
        return list(unpack(file, target))
    except InputError as error:
        assert "pack" in str(error)  # noqa: PT017
        return []


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder of a model that has been here for a while, so that its hashes are remembered."""
    folder = tiny.folder(tmp_path_factory.mktemp("model") / "tiny")
    for path in folder.iterdir():
        os.utime(path, (10**9, 10**9))
    return folder


@pytest.fixture
def long_ago(monkeypatch):
    """What was just written is old enough to be remembered."""
    monkeypatch.setattr("coupling_core.sources.file_hashes._FRESH", 0)


def test_a_damaged_memory_of_hashes_never_names_another_model(model, tmp_path, long_ago):
    request = Request("x", model=str(model))
    expected, memory = resolve(request).identity, tmp_path / "home" / "hashes.json"
    whole = memory.read_bytes()
    assert str(model / "model.safetensors") in json.loads(whole)["files"]

    @random_damage(50)
    def identity_is_right(flips, cut, tail):
        memory.write_bytes(damaged(whole, flips, cut, tail))
        assert resolve(request).identity == expected

    identity_is_right()
    for text in ("[]", "{}", '{"files": [], "sha256": 1}', "null", "\udcff"):
        memory.write_text(text, errors="surrogateescape")
        assert resolve(request).identity == expected, text


def test_a_hash_is_remembered_and_used(model, tmp_path, long_ago, monkeypatch):
    request = Request("x", model=str(model))
    expected = resolve(request).identity
    monkeypatch.setattr("hashlib.file_digest", None)
    assert resolve(request).identity == expected


def test_a_file_of_the_same_size_and_time_is_another_file(tmp_path, long_ago):
    """As `cp --preserve` and `rsync --times` leave it."""
    folder = tiny.folder(tmp_path / "copy")
    weights = folder / "model.safetensors"
    then = weights.stat()
    first = resolve(Request("x", model=str(folder))).identity
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(weights, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert weights.stat().st_mtime_ns == then.st_mtime_ns
    assert resolve(Request("x", model=str(folder))).identity["digest"] != first["digest"]


def test_a_file_that_was_just_written_is_not_remembered(model, tmp_path):
    """Written again at once, with as many bytes, it may have the same times."""
    resolve(Request("x", model=str(tiny.folder(tmp_path / "new"))))
    assert not (tmp_path / "home" / "hashes.json").exists()


def test_a_damaged_tokenizer_of_a_converted_model_gives_no_tokens(tmp_path):
    file = tiny.gguf_file(tmp_path / "tiny.gguf")
    from coupling_core.engine.loading import prepare

    request = Request(tiny.TEXT, model=str(file))
    tokenizer = prepare(str(file)) / "tokenizer.json"
    whole, expected = tokenizer.read_bytes(), resolve(request).tokens
    assert expected is not None

    @random_damage(50)
    def tokens_are_right(flips, cut, tail):
        changed = damaged(whole, flips, cut, tail)
        tokenizer.write_bytes(changed)
        assert resolve(request).tokens == (expected if changed == whole else None)

    tokens_are_right()


def test_a_folder_is_sealed_by_what_it_holds(tmp_path):
    folder = tiny.folder(tmp_path / "tiny")
    assert not is_sealed(folder)
    seal(folder)
    assert is_sealed(folder)
    for path in sorted(folder.glob("*.json")):
        whole = path.read_bytes()
        path.write_bytes(whole + b" ")
        assert is_sealed(folder) is (path.name == "generation_config.json")
        path.write_bytes(whole)
    assert is_sealed(folder)
