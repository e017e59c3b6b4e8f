"""Results handed on in one file, and files that only look like it."""

import hashlib
import json
import pickle
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
from cases import content, random_result
from hostile import Touch

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.cli.commands import app
from coupling_core.store import packs
from coupling_core.store.archive import encode
from coupling_core.store.disk import Store
from coupling_core.store.packs import MANIFEST, pack, unpack

RESULTS = [random_result(seed=seed) for seed in range(3)]


@pytest.fixture
def source(tmp_path):
    store = Store(tmp_path / "source", layers=(), gallery=tmp_path / "none")
    for result in RESULTS:
        store.put(result)
    return store


@pytest.fixture
def target(tmp_path):
    return Store(tmp_path / "target", layers=(), gallery=tmp_path / "none")


@pytest.fixture
def packed(source, tmp_path):
    """A pack of two of the three results."""
    path = tmp_path / "pack.zip"
    assert pack(source, [result.key for result in RESULTS[:2]], path) == 2
    return path


def forge(path, results, members, manifest=None, compression=zipfile.ZIP_STORED):
    """Write a pack by hand: what its manifest lists, and what is in it."""
    listed = manifest or {"version": 1, "schema": 1, "results": results}
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
        file.writestr(MANIFEST, json.dumps(listed), zipfile.ZIP_STORED)
    return path


def entry(key, data):
    return {"key": key, "sha256": hashlib.sha256(data).hexdigest()}


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_was_exported_is_imported_to_the_bit(packed, target):
    assert [(p.name, p.state) for p in unpack(packed, target)] == [
        (result.key, "new") for result in RESULTS[:2]
    ]
    for result in RESULTS[:2]:
        assert content(target.get(result.key)) == content(result)
    assert [p.state for p in unpack(packed, target)] == ["there before"] * 2


def test_the_manifest_tells_what_is_in_a_pack(packed):
    with zipfile.ZipFile(packed) as file:
        manifest = json.loads(file.read(MANIFEST))
        assert set(file.namelist()) == {
            MANIFEST, *(f"{result.key}.safetensors" for result in RESULTS[:2])
        }  # fmt: skip
    assert [item["key"] for item in manifest["results"]] == [r.key for r in RESULTS[:2]]
    assert manifest["results"][0]["prompt"] == "".join(RESULTS[0].tokens)


def test_a_pack_is_written_whole_or_not_at_all(source, tmp_path):
    path = tmp_path / "pack.zip"
    path.write_bytes(b"before")
    with pytest.raises(InputError, match="no stored result"):
        pack(source, [RESULTS[0].key, random_result(seed=9).key], path)
    assert path.read_bytes() == b"before"
    assert not list(tmp_path.glob(".pack*"))


def test_one_damaged_result_keeps_no_other_from_being_imported(source, tmp_path, target):
    good, bad = (encode(result) for result in RESULTS[:2])
    flipped = bytearray(bad)
    flipped[-1] ^= 1
    keys = [result.key for result in RESULTS[:2]]
    members = {f"{keys[0]}.safetensors": good, f"{keys[1]}.safetensors": bytes(flipped)}
    listed = [entry(keys[1], bytes(flipped)), entry(keys[0], good)]
    found = list(unpack(forge(tmp_path / "p.zip", listed, members), target))
    assert [(p.name, p.state) for p in found] == [(keys[1], "refused"), (keys[0], "new")]
    assert "do not match the hash" in found[0].problem
    assert len(files(target.root)) == 1


def test_a_hash_that_is_not_that_of_the_manifest_is_refused(tmp_path, target):
    data, key = encode(RESULTS[0]), RESULTS[0].key
    pack_file = forge(tmp_path / "p.zip", [entry(key, b"")], {f"{key}.safetensors": data})
    (found,) = unpack(pack_file, target)
    assert (found.state, "the hash in the manifest" in found.problem) == ("refused", True)


def test_a_result_under_the_key_of_another_is_refused(tmp_path, target):
    data, key = encode(RESULTS[0]), RESULTS[1].key
    pack_file = forge(tmp_path / "p.zip", [entry(key, data)], {f"{key}.safetensors": data})
    (found,) = unpack(pack_file, target)
    assert (found.state, found.problem) == ("refused", f"holds the result {RESULTS[0].key}")
    assert not target.root.exists()


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "..\\evil", "", 7, None, ["x"]])
def test_a_name_that_leads_out_of_the_store_is_refused(name, tmp_path, target):
    data = encode(RESULTS[0])
    members = {f"{name}.safetensors": data, "../../evil.safetensors": data}
    before = files(tmp_path)
    pack_file = forge(tmp_path / "p.zip", [{"key": name}], members)
    (found,) = unpack(pack_file, target)
    assert found.state == "refused"
    assert files(tmp_path) == sorted([*before, pack_file])


def test_a_symbolic_link_is_read_as_bytes_and_refused(tmp_path, target):
    key, data = RESULTS[0].key, b"/etc/passwd"
    pack_file = tmp_path / "p.zip"
    link = zipfile.ZipInfo(f"{key}.safetensors")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(pack_file, "w") as file:
        file.writestr(link, data)
        file.writestr(MANIFEST, json.dumps({"version": 1, "results": [entry(key, data)]}))
    (found,) = unpack(pack_file, target)
    assert (found.state, "no stored result, or damaged" in found.problem) == ("refused", True)
    assert not target.root.exists()


@pytest.mark.parametrize("honest", [True, False])
def test_a_bomb_is_refused_before_it_fills_the_memory(honest, tmp_path, target, monkeypatch):
    monkeypatch.setattr(packs, "MAX_RESULT", 10**6)
    key, data = RESULTS[0].key, bytes(10**7)
    pack_file = forge(
        tmp_path / "p.zip",
        [entry(key, data)],
        {f"{key}.safetensors": data},
        compression=zipfile.ZIP_DEFLATED,
    )
    assert pack_file.stat().st_size < 10**5
    if not honest:  # the directory at the end gives another size than what comes
        raw = bytearray(pack_file.read_bytes())
        at = raw.rindex(b"PK\x01\x02", 0, raw.rindex(b"PK\x01\x02"))
        raw[at + 24 : at + 28] = (1000).to_bytes(4, "little")
        pack_file.write_bytes(raw)
    (found,) = unpack(pack_file, target)
    assert found.state == "refused"
    assert ("more than the 1000000 bytes" in found.problem) is honest
    assert not target.root.exists()


def test_a_pickle_is_refused_and_never_run(tmp_path, target):
    key, data = RESULTS[0].key, pickle.dumps(Touch(tmp_path / "owned"))
    pack_file = forge(tmp_path / "p.zip", [entry(key, data)], {f"{key}.safetensors": data})
    (found,) = unpack(pack_file, target)
    assert found.state == "refused"
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "manifest",
    [[], {}, {"version": 1}, {"version": 1, "results": 3}, {"version": 2, "results": []}, "x"],
)
def test_another_manifest_is_told(manifest, tmp_path, target):
    with pytest.raises(InputError, match=r"no pack of results|a pack of version 2"):
        list(unpack(forge(tmp_path / "p.zip", [], {}, manifest or {"none": 0}), target))


def test_a_file_that_is_no_pack_is_told(packed, tmp_path, target):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        list(unpack(tmp_path / "missing.zip", target))
    other = tmp_path / "other.zip"
    other.write_bytes(packed.read_bytes()[:-30])
    with pytest.raises(InputError, match="no pack of results, or is damaged"):
        list(unpack(other, target))
    with zipfile.ZipFile(other, "w") as file:
        file.writestr("something", b"else")
    with pytest.raises(InputError, match="no pack of results"):
        list(unpack(other, target))


def test_one_result_comes_by_itself(source, target):
    path = source.path(RESULTS[0].key)
    assert [(p.name, p.state) for p in unpack(path, target)] == [(RESULTS[0].key, "new")]
    assert content(target.get(RESULTS[0].key)) == content(RESULTS[0])
    assert [p.state for p in unpack(path, target)] == ["there before"]


def test_one_result_of_invented_numbers_is_refused_alone_and_in_a_pack(tmp_path, target):
    invented = replace(RESULTS[0], token=9)
    data, key = encode(invented), invented.key
    (tmp_path / "one.safetensors").write_bytes(data)
    with pytest.raises(InputError, match="its token is none of the prompt; expected a result as"):
        list(unpack(tmp_path / "one.safetensors", target))
    pack_file = forge(tmp_path / "p.zip", [entry(key, data)], {f"{key}.safetensors": data})
    (found,) = unpack(pack_file, target)
    assert (found.state, "its token is none of" in found.problem) == ("refused", True)
    assert not target.root.exists()


def test_a_missing_member_is_told(tmp_path, target):
    (found,) = unpack(forge(tmp_path / "p.zip", [entry(RESULTS[0].key, b"")], {}), target)
    assert (found.state, "cannot be read from the pack" in found.problem) == ("refused", True)


def test_the_commands(source, target, tmp_path, capsys):
    path = tmp_path / "all.zip"
    run = lambda *arguments: app(["runs", *map(str, arguments)], standalone_mode=False)  # noqa: E731
    run("export", path, "--store", source.root)
    assert capsys.readouterr().out == f"3 results in {path}\n"
    run("import", path, "--store", target.root)
    assert capsys.readouterr().out.count("  new\n") == 3
    run("export", tmp_path / "one.zip", RESULTS[1].key[:8], "--store", target.root)
    assert "1 result in" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"the file comes first and ends in \.zip"):
        run("export", tmp_path / "all.tar", "--store", source.root)
    with pytest.raises(InputError, match="no result of its own"):
        run("export", path, "--store", tmp_path / "empty")


def test_a_refused_result_is_an_exit_status(tmp_path, target):
    data, key = encode(RESULTS[0]), RESULTS[0].key
    pack_file = forge(tmp_path / "p.zip", [entry(key, b"")], {f"{key}.safetensors": data})
    with pytest.raises(ComputeError, match="1 of the pack's results were refused"):
        app(["runs", "import", str(pack_file), "--store", str(target.root)], standalone_mode=False)
    done = subprocess.run(
        [sys.executable, "-m", "coupling_core", "runs", "import", str(tmp_path / "none.zip")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_is_stored(how, tmp_path, target):
    key, data = RESULTS[0].key, encode(RESULTS[0])
    path = forge(tmp_path / "p.zip", [entry(key, data)], {f"{key}.safetensors": data}, None, how)
    (found,) = unpack(path, target)
    assert (found.state, "is compressed" in found.problem) == ("refused", True)


def test_a_key_that_is_listed_twice_is_read_once(tmp_path, target):
    key, data = RESULTS[0].key, encode(RESULTS[0])
    path = forge(tmp_path / "p.zip", [entry(key, data)] * 30, {f"{key}.safetensors": data})
    found = list(unpack(path, target))
    assert [each.state for each in found] == ["new"] + ["refused"] * 29
    assert {each.problem for each in found[1:]} == {"the manifest lists it twice"}


def test_no_more_is_read_than_the_file_has(tmp_path, target):
    """Forty members that share the bytes of one."""
    names = [f"{number:032x}-k50-v4" for number in range(40)]
    data = encode(RESULTS[0])
    listed = [entry(name, data) for name in names]
    path = forge(tmp_path / "p.zip", listed, {f"{names[0]}.safetensors": data})
    raw = path.read_bytes()
    start, end = raw.index(b"PK\1\2"), raw.rindex(b"PK\5\6")
    one = raw[start : raw.index(b"PK\1\2", start + 1)]
    local = raw.index(b"PK\3\4")
    assert local == 0
    many = raw[start:end] + b"".join(
        one.replace(names[0].encode(), name.encode()) for name in names[1:]
    )
    tail = bytearray(raw[end:])
    tail[8:12] = (len(names) + 1).to_bytes(2, "little") * 2
    tail[12:16] = len(many).to_bytes(4, "little")
    path.write_bytes(raw[:start] + many + tail)
    found = [each.problem for each in unpack(path, target)]
    assert len(found) == len(names)
    assert sum("shares its bytes with other members" in problem for problem in found) >= 35
