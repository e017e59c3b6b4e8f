"""Packs and results that somebody made to harm: nothing leaves the store, fills memory or runs."""

import hashlib
import json
import pickle
import re
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from bounded import MB, coupling
from cases import content, random_result
from hostile import DEEP, Touch
from refused import refusals
from syrupy.assertion import SnapshotAssertion

import coupling_core.cli.commands  # noqa: F401 - which forks then have
from coupling_core import InputError, Store
from coupling_core.store import packs
from coupling_core.store.archive import SUFFIX, encode
from coupling_core.store.packs import MANIFEST, unpack

RESULT, OTHER = random_result(), random_result(seed=1)
KEY, DATA = RESULT.key, encode(RESULT)


def manifest_of(*entries: tuple[object, bytes]) -> bytes:
    """What a manifest says of results: their keys, and the hashes of their bytes."""
    results = [{"key": key, "sha256": hashlib.sha256(data).hexdigest()} for key, data in entries]
    return json.dumps({"version": 1, "results": results}).encode()


def packed(
    path: Path, data: bytes = DATA, manifest: bytes | None = None, how: int = 0, name: str = KEY
) -> Path:
    """A pack of one member, whatever that is."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}{SUFFIX}", data, how)
        file.writestr(MANIFEST, manifest_of((KEY, data)) if manifest is None else manifest)
    return path


def with_directory(path: Path, entries: bytes, number: int | None = None) -> Path:
    """A pack whose directory has other entries, so many as it is said to have."""
    data = path.read_bytes()
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    tail = bytearray(data[end:])
    if number:
        tail[8:12] = number.to_bytes(2, "little") * 2
    tail[12:16] = len(entries).to_bytes(4, "little")
    path.write_bytes(data[:start] + entries + tail)
    return path


def directory(path: Path) -> bytes:
    data = path.read_bytes()
    return data[data.index(b"PK\1\2") : data.rindex(b"PK\5\6")]


DAMAGED = DATA[:-1] + bytes([DATA[-1] ^ 1])


def linked(path: Path) -> Path:
    link = zipfile.ZipInfo(f"{KEY}{SUFFIX}")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(link, b"/etc/passwd")
        file.writestr(MANIFEST, manifest_of((KEY, b"/etc/passwd")))
    return path


def climbing(name: object) -> Callable[[Path], Path]:
    return lambda path: packed(path, manifest=manifest_of((name, DATA)), name="../../evil")


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
    "damaged": lambda path: packed(path, DAMAGED),
    "of another hash": lambda path: packed(path, manifest=manifest_of((KEY, b""))),
    "under another's key": lambda path: packed(
        path, manifest=manifest_of((OTHER.key, DATA)), name=OTHER.key
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


def test_no_harmful_member_of_a_pack_is_taken_and_each_is_told_why(
    tmp_path: Path, store: Store, snapshot: SnapshotAssertion
) -> None:
    told, left = {}, []
    (folder := tmp_path / "at").mkdir()
    for name, make in HARMFUL.items():
        path = make(folder / "p.zip")
        before = {*tmp_path.rglob("*")}
        (found,) = unpack(path, store)
        assert found.state == "refused", name
        told[name] = re.sub(r"\d+ bytes", "N bytes", found.problem).replace(KEY, "KEY")
        left += {*tmp_path.rglob("*")} - before
    assert left == []
    assert told == snapshot


def test_a_member_that_is_listed_again_and_again_is_read_once(tmp_path: Path, store: Store) -> None:
    path = packed(tmp_path / "p.zip", manifest=manifest_of(*[(KEY, DATA)] * 30))
    first, *others = unpack(path, store)
    assert first.state == "new"
    assert content(store.get(KEY)) == content(RESULT)  # as nothing else is wrong with it
    assert {one.problem for one in others} == {"the manifest lists it twice"}


def test_members_that_share_their_bytes_are_read_once(tmp_path: Path, store: Store) -> None:
    keys = [f"{number:032x}-k50-v4" for number in range(40)]
    manifest = manifest_of(*((key, DATA) for key in keys))
    path = packed(tmp_path / "p.zip", manifest=manifest, name=keys[0])
    entries = directory(path)
    one = entries[: entries.index(b"PK\1\2", 1)]
    more = b"".join(one.replace(keys[0].encode(), key.encode()) for key in keys[1:])
    problems = [
        each.problem for each in unpack(with_directory(path, entries + more, len(keys) + 1), store)
    ]
    assert len(problems) == 40
    assert sum("shares its bytes" in problem for problem in problems) >= 35


NO_PACKS: dict[str, Callable[[Path], object]] = {
    "not there": lambda path: path.unlink(missing_ok=True),
    "nothing": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(packed(path).read_bytes()[:-30]),
    "no manifest": lambda path: zipfile.ZipFile(path, "w").writestr("something", b"else"),
    **{
        f"the manifest {text[:40]}": lambda path, text=text: packed(path, manifest=text.encode())
        for text in (
            *("[]", "{}", '"x"', '{"version": 1}', '{"version": 1, "results": 3}', DEEP),
            *('{"version": 2, "results": []}', ""),
        )
    },
}


def test_what_is_no_pack_is_refused_as_a_whole(
    tmp_path: Path, store: Store, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "p.zip"

    def taken(make: Callable[[Path], object]) -> list[object]:
        make(path)
        return list(unpack(path, store))

    calls = {name: partial(taken, make) for name, make in NO_PACKS.items()}
    # In brackets are words of Python's own, which another version may say otherwise.
    told = {name: words.split(" (")[0] for name, words in refusals(calls, tmp_path).items()}
    assert told == snapshot
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
    path = packed(tmp_path / "p.zip")
    with_directory(path, directory(path) * 50_000)
    ran = coupling("runs", "import", path)
    assert ran.is_plain, ran.said
    assert "directory is too large" in ran.said
