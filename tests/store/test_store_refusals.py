"""What files and folders of results are refused with."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cases import random_result
from hostile import DEEP
from refused import refusals
from safetensors.numpy import save as save_tensors

import coupling_core as cc
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.store.archive import encode, load, read_header, save
from coupling_core.store.packs import unpack

RESULT, OTHER = random_result(), random_result(seed=1)
ABSENT = {"another": random_result(seed=9).key, "outside": f"../own/{RESULT.key}"}
ABSENT |= {"x": "x", "nothing": "", "all": "*"}
DATA = encode(RESULT)
HEADER = f'{{"__metadata__": {DEEP}'.encode()
FILES = {
    "empty": b"",
    "text": b"a text of some length that is no safetensors file at all",
    "tensors": save_tensors({"x": np.zeros(3)}),
    "other metadata": save_tensors({"x": np.zeros(3)}, {"format": "pt"}),
    "deep": len(HEADER).to_bytes(8, "little") + HEADER,
    "cut": DATA[:-1],
}
SEALED = {
    "damaged": DATA[:-1] + bytes([DATA[-1] ^ 1]),
    "another key": encode(replace(RESULT, key=OTHER.key)),
}
"""Of which the header alone is sound."""
NUMBERS = r"[0-9a-f]{8,}|\d{4,}"
"""Keys and lengths, which are other ones where numbers are rounded in another way."""


def calls(root: Path) -> dict[str, Callable[[], Any]]:
    """Calls by name, each of which should be refused."""
    for name in ("own", "gallery", "below.safetensors"):
        (root / name).mkdir()
    store = cc.Store(root / "own", layers=(), gallery=root / "gallery")
    store.put(RESULT)
    save(OTHER, store.gallery / f"{OTHER.key}.safetensors")
    for name, data in (FILES | SEALED).items():
        (root / f"{name}.safetensors").write_bytes(data)
    (root / "narrow.safetensors").write_bytes(encode(replace(RESULT, width=3)))
    (root / "file").write_text("")
    longer = random_result(k_view=3, request=replace(RESULT.request, k_view=3))
    store.put(longer)
    partial = random_result(2, jacobian_norm=np.full(5, np.nan))
    return {
        **{
            f"{read.__name__}: {name}": lambda read=read, name=name: read(
                root / f"{name}.safetensors"
            )
            for read in (load, read_header)
            for name in (*FILES, *(SEALED if read is load else ()), "not there", "below")
        },
        **{
            f"{method} {name}": lambda method=method, key=key: getattr(store, method)(key)
            for method in ("get", "verify", "remove")
            for name, key in ABSENT.items()
        },
        "two keys begin so": lambda: store.get(RESULT.key[:8]),
        "removed by its first letters": lambda: store.remove(RESULT.key[:8]),
        "removed from the gallery": lambda: store.remove(OTHER.key),
        "put, and not measured to its end": lambda: store.put(partial),
        "put, under another's key": lambda: store.put(replace(RESULT, key=OTHER.key)),
        "put into a file": lambda: cc.Store(root / "file").put(RESULT),
        "a request that is not JSON": lambda: store.find(Request("x"), {"digest": {1, 2}}),
        "saved, and not measured to its end": lambda: partial.save(root / "new.safetensors"),
        **{
            f"saved as {name}": lambda name=name: RESULT.save(root / name)
            for name in ("result", "r.csv", "r.nc", "map.pdf", "no/r.safetensors")
        },
        "saved over a folder": lambda: save(RESULT, root / "below.safetensors"),
        "loaded, and narrower than its K": lambda: cc.load(root / "narrow.safetensors"),
        "a pack that is not there": lambda: list(unpack(root / "none.zip", store)),
        "a pack of text": lambda: list(unpack(root / "text.safetensors", store)),
    }


def test_what_is_refused_is_refused_in_words_and_changes_nothing(tmp_path, snapshot):
    asked = calls(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    found = refusals(asked, tmp_path, sorts=(InputError, ComputeError))
    assert {name: re.sub(NUMBERS, "#", told) for name, told in found.items()} == snapshot
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
