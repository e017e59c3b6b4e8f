"""Results handed on in one file; files that only look like one are in tests/attack."""

import hashlib
import json
import zipfile
from dataclasses import replace

import pytest
from cases import content, random_result

from coupling_core.base.errors import InputError
from coupling_core.store.archive import encode
from coupling_core.store.disk import Store
from coupling_core.store.packs import MANIFEST, pack, unpack

RESULTS = [random_result(seed=seed) for seed in range(3)]
KEYS = [result.key for result in RESULTS]


@pytest.fixture
def source(tmp_path):
    store = Store(tmp_path / "source", layers=(), gallery=tmp_path / "none")
    for result in RESULTS:
        store.put(result)
    return store


@pytest.fixture
def target(tmp_path):
    return Store(tmp_path / "target", layers=(), gallery=tmp_path / "none")


def forge(path, members):
    """Write a pack by hand, of these bytes by key."""
    listed = [
        {"key": key, "sha256": hashlib.sha256(data).hexdigest()} for key, data in members.items()
    ]
    with zipfile.ZipFile(path, "w") as file:
        for key, data in members.items():
            file.writestr(f"{key}.safetensors", data)
        file.writestr(MANIFEST, json.dumps({"version": 1, "results": listed}))
    return path


def states(path, target):
    return [(one.name, one.state) for one in unpack(path, target)]


def test_what_was_exported_is_imported_to_the_bit(source, target, tmp_path):
    assert pack(source, KEYS[:2], tmp_path / "pack.zip") == 2
    assert states(tmp_path / "pack.zip", target) == [(key, "new") for key in KEYS[:2]]
    for result in RESULTS[:2]:
        assert content(target.get(result.key)) == content(result)
    assert states(tmp_path / "pack.zip", target) == [(key, "there before") for key in KEYS[:2]]
    with zipfile.ZipFile(tmp_path / "pack.zip") as file:
        manifest = json.loads(file.read(MANIFEST))
        assert {*file.namelist()} == {MANIFEST, *(f"{key}.safetensors" for key in KEYS[:2])}
    assert [item["key"] for item in manifest["results"]] == KEYS[:2]
    assert manifest["results"][0]["prompt"] == "".join(RESULTS[0].tokens)


def test_a_pack_is_written_whole_or_not_at_all(source, tmp_path):
    path = tmp_path / "pack.zip"
    path.write_bytes(b"before")
    with pytest.raises(InputError):
        pack(source, [KEYS[0], random_result(seed=9).key], path)
    assert path.read_bytes() == b"before"
    assert not list(tmp_path.glob(".pack*"))


def test_one_damaged_result_keeps_no_other_from_being_imported(tmp_path, target):
    good, bad = (encode(result) for result in RESULTS[:2])
    flipped = bad[:-1] + bytes([bad[-1] ^ 1])
    pack_file = forge(tmp_path / "p.zip", {KEYS[1]: flipped, KEYS[0]: good})
    assert states(pack_file, target) == [(KEYS[1], "refused"), (KEYS[0], "new")]
    assert [path.stem for path in target.root.iterdir()] == [KEYS[0]]


def test_one_result_comes_by_itself(source, target):
    path = source.path(KEYS[0])
    assert states(path, target) == [(KEYS[0], "new")]
    assert content(target.get(KEYS[0])) == content(RESULTS[0])
    assert states(path, target) == [(KEYS[0], "there before")]


def test_one_result_of_invented_numbers_is_refused_alone_and_in_a_pack(tmp_path, target):
    invented = replace(RESULTS[0], token=9)
    (tmp_path / "one.safetensors").write_bytes(encode(invented))
    with pytest.raises(InputError, match="its token is none of the prompt"):
        list(unpack(tmp_path / "one.safetensors", target))
    (found,) = unpack(forge(tmp_path / "p.zip", {invented.key: encode(invented)}), target)
    assert (found.state, "its token is none of" in found.problem) == ("refused", True)
    assert not target.root.exists()


def test_the_commands(source, target, tmp_path, run):
    here = ("--store", source.root)
    assert run("runs", "export", "all.zip", *here)[1] == "3 results in all.zip\n"
    assert run("runs", "import", "all.zip", "--store", target.root)[1].count("  new\n") == 3
    assert "1 result in" in run("runs", "export", "one.zip", KEYS[1][:8], *here)[1]
    assert run("runs", "export", "all.tar", *here)[0] == 2
    assert run("runs", "export", "all.zip", "--store", tmp_path / "empty")[0] == 2
    forge(tmp_path / "p.zip", {KEYS[0]: b"damaged"})
    status, _, err = run("runs", "import", "p.zip", "--store", target.root)
    assert (status, "1 of the pack's" in err) == (1, True)
    status, _, err = run("runs", "import", "none.zip")
    assert (status, err.count("\n")) == (2, 1)
