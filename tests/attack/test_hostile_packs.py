"""Packs and results that somebody made to harm: nothing leaves the store, fills memory or runs."""

import hashlib
import json
import pickle
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bounded import MB, coupling
from cases import content, random_result
from hostile import DEEP, Touch

import coupling_core.cli.commands  # noqa: F401 - which forks then have
from coupling_core import InputError, Store
from coupling_core.store import packs
from coupling_core.store.archive import SUFFIX, encode
from coupling_core.store.packs import MANIFEST, unpack

RESULT, OTHER = random_result(), random_result(seed=1)
KEY, DATA = RESULT.key, encode(RESULT)


def listed(data: bytes = DATA, key: object = KEY, times: int = 1) -> bytes:
    """A manifest of one result."""
    entry = {"key": key, "sha256": hashlib.sha256(data).hexdigest()}
    return json.dumps({"version": 1, "results": [entry] * times}).encode()


def packed(
    path: Path, data: bytes = DATA, manifest: bytes | None = None, how: int = 0, name: str = KEY
) -> Path:
    """A pack of one member, whatever that is."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}{SUFFIX}", data, how)
        file.writestr(MANIFEST, listed(data) if manifest is None else manifest)
    return path


def test_a_pack_that_is_what_it_says_comes_in(tmp_path: Path, store: Store) -> None:
    assert [found.state for found in unpack(packed(tmp_path / "p.zip"), store)] == ["new"]
    assert content(store.get(KEY)) == content(RESULT)


def damaged(path: Path) -> Path:
    flipped = DATA[:-1] + bytes([DATA[-1] ^ 1])
    return packed(path, flipped)


def linked(path: Path) -> Path:
    link = zipfile.ZipInfo(f"{KEY}{SUFFIX}")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(link, b"/etc/passwd")
        file.writestr(MANIFEST, listed(b"/etc/passwd"))
    return path


def climbing(name: object) -> Callable[[Path], Path]:
    return lambda path: packed(path, manifest=listed(key=name), name="../../evil")


def understated(path: Path) -> Path:
    """A bomb whose directory gives another size than what comes."""
    data = bytearray(packed(path, bytes(8 * MB), how=zipfile.ZIP_DEFLATED).read_bytes())
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = (1000).to_bytes(4, "little")
    path.write_bytes(data)
    return path


def compressed(path: Path, how: int) -> Path:
    """A sound result, in a file that has room for what it stands for."""
    with zipfile.ZipFile(packed(path, how=how), "a") as file:
        file.writestr("room", bytes(2 * len(DATA)))
    return path


HARMFUL: dict[str, Callable[[Path], Path]] = {
    "damaged": damaged,
    "of another hash": lambda path: packed(path, manifest=listed(b"")),
    "under another's key": lambda path: packed(
        path, manifest=listed(key=OTHER.key), name=OTHER.key
    ),
    "of invented numbers": lambda path: packed(path, encode(replace(RESULT, token=9))),
    "not there": lambda path: packed(path, name=OTHER.key),
    "a link": linked,
    "a pickle": lambda path: packed(path, pickle.dumps(Touch(path.parent / "owned"))),
    "another pack": lambda path: packed(path, packed(path.with_name("inner.zip")).read_bytes()),
    **{
        f"sound, but compressed by way {how}": lambda path, how=how: compressed(path, how)
        for how in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    },
    "zeros": lambda path: packed(path, bytes(8 * MB), how=zipfile.ZIP_DEFLATED),
    "zeros, and more than is said": understated,
    **{
        f"named {name!r}": climbing(name)
        for name in ("../../evil", "/etc/passwd", "..\\evil", "", 7, None, ["x"])
    },
}


def test_no_harmful_member_of_a_pack_is_taken(tmp_path: Path, store: Store) -> None:
    taken = []
    for name, make in HARMFUL.items():
        (tmp_path / "at").mkdir()
        path = make(tmp_path / "at" / "p.zip")
        before = {*tmp_path.rglob("*")}
        found = list(unpack(path, store))
        if [one.state for one in found] != ["refused"] or not found[0].problem:
            taken.append((name, found))
        if left := {*tmp_path.rglob("*")} - before:
            taken.append((name, left))
        for part in path.parent.iterdir():
            part.unlink()
        path.parent.rmdir()
    assert taken == []


def test_a_harmful_member_keeps_no_other_from_coming_in(tmp_path: Path, store: Store) -> None:
    good, bad = encode(OTHER), DATA[:-1] + bytes([DATA[-1] ^ 1])
    entries = [(KEY, bad), (OTHER.key, good)]
    results = [{"key": key, "sha256": hashlib.sha256(data).hexdigest()} for key, data in entries]
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as file:
        for key, data in entries:
            file.writestr(f"{key}{SUFFIX}", data)
        file.writestr(MANIFEST, json.dumps({"version": 1, "results": results}))
    found = [(one.name, one.state) for one in unpack(tmp_path / "p.zip", store)]
    assert found == [(KEY, "refused"), (OTHER.key, "new")]


def test_a_member_that_is_listed_again_and_again_is_read_once(tmp_path: Path, store: Store) -> None:
    path = packed(tmp_path / "p.zip", manifest=listed(times=30))
    assert [found.state for found in unpack(path, store)] == ["new", *["refused"] * 29]


def test_members_that_share_their_bytes_are_read_once(tmp_path: Path, store: Store) -> None:
    keys = [f"{number:032x}-k50-v4" for number in range(40)]
    results = json.dumps({"version": 1, "results": [{"key": key} for key in keys]})
    path = packed(tmp_path / "p.zip", manifest=results.encode(), name=keys[0])
    data = path.read_bytes()
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    one = data[start : data.index(b"PK\1\2", start + 1)]
    more = b"".join(one.replace(keys[0].encode(), key.encode()) for key in keys[1:])
    whole = data[start:end] + more
    tail = bytearray(data[end:])
    tail[8:12] = (len(keys) + 1).to_bytes(2, "little") * 2
    tail[12:16] = len(whole).to_bytes(4, "little")
    path.write_bytes(data[:start] + whole + tail)
    problems = [each.problem for each in unpack(path, store)]
    assert len(problems) == 40
    assert sum("shares its bytes" in problem for problem in problems) >= 35


NO_PACKS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(packed(path).read_bytes()[:-30]),
    "no manifest": lambda path: zipfile.ZipFile(path, "w").writestr("something", b"else"),
    **{
        f"the manifest {text[:40]}": lambda path, text=text: packed(path, manifest=text.encode())
        for text in (
            *("[]", "{}", '"x"', '{"version": 1}', '{"version": 1, "results": 3}', DEEP),
            *('{"version": 2, "results": []}', "\udcff".encode("utf-8", "ignore").decode()),
        )
    },
}


def test_what_is_no_pack_is_refused_as_a_whole(tmp_path: Path, store: Store) -> None:
    taken = []
    for name, make in NO_PACKS.items():
        make(tmp_path / "p.zip")
        try:
            taken.append((name, list(unpack(tmp_path / "p.zip", store))))
        except InputError:
            pass
    assert taken == []
    assert not store.root.exists()


def test_what_would_fill_the_memory_is_not_read(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "p.zip", bytes(64 * MB), how=zipfile.ZIP_DEFLATED)
    ran = coupling("runs", "import", path, "--store", store.root)
    assert ran.is_plain, ran.said
    assert ran.peak < 50 * MB
    (tmp_path / "x.safetensors").write_bytes(DATA)
    monkeypatch.setattr(packs, "MAX_RESULT", 1000)
    with pytest.raises(InputError, match="1000 bytes"):
        list(unpack(tmp_path / "x.safetensors", store))
    (found,) = unpack(packed(tmp_path / "p.zip"), store)
    assert "1000 bytes" in found.problem
    with pytest.raises(InputError, match="16777216 bytes"):
        list(unpack(packed(tmp_path / "p.zip", manifest=b" " * (2**24 + 1)), store))


def test_a_directory_of_a_million_members_is_not_read(tmp_path: Path) -> None:
    data = packed(tmp_path / "p.zip").read_bytes()
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    many = data[start:end] * 50_000
    tail = bytearray(data[end:])
    tail[12:16] = len(many).to_bytes(4, "little")
    (tmp_path / "p.zip").write_bytes(data[:start] + many + tail)
    ran = coupling("runs", "import", tmp_path / "p.zip")
    assert ran.is_plain, ran.said
    assert "directory is too large" in ran.said
