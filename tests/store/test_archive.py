from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import content, random_result
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as save_tensors

from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.results import Sizes
from coupling_core.store import archive, request_key
from coupling_core.store.archive import decode, encode, load, read_header, save

RESULT = random_result()
DATA = encode(RESULT)
ARRAYS_BEGIN = 8 + int.from_bytes(DATA[:8], "little")


def accepted(data: bytes) -> bool:
    try:
        decode(data)
    except InputError:
        return False
    return True


def header_accepted(data: bytes, path: Path) -> bool:
    path.write_bytes(data)
    try:
        read_header(path)
    except InputError:
        return False
    return True


def flipped(data: bytes, position: int, bit: int = 0) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


@given(st.binary(min_size=2 * 5 * 5 * 2 * 2 * 2, max_size=2 * 5 * 5 * 2 * 2 * 2))
def test_every_float16_survives(raw: bytes) -> None:
    matrices = np.frombuffer(raw, np.float16).reshape(2, 5, 5, 2, 2)
    assert decode(encode(replace(RESULT, matrices=matrices))).matrices.tobytes() == raw


def test_an_array_that_is_not_contiguous_comes_back() -> None:
    matrices = RESULT.matrices.swapaxes(-1, -2)
    np.testing.assert_array_equal(
        decode(encode(replace(RESULT, matrices=matrices))).matrices, matrices
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tokens": ("é", "\ud83d", '"header_sha256":"' + "0" * 64 + '"', "\n")},
        {"request": Request((5, 6, 7), token=2, k=8, k_view=4, untrained=3)},
        {"certificates": (replace(RESULT.certificates[0], reason="x"), *RESULT.certificates[1:])},
        {"next_tokens": ()},
    ],
    ids=["plain", "strange tokens", "token ids", "certificate", "empty"],
)
def test_a_result_comes_back_to_the_last_bit(changes: dict[str, Any]) -> None:
    result = random_result(**changes)
    assert content(decode(encode(result))) == content(result)


def test_no_flipped_byte_is_read() -> None:
    assert accepted(DATA)
    assert [i for i in range(len(DATA)) if accepted(flipped(DATA, i, i % 8))] == []


def test_no_flipped_byte_of_the_header_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "r.safetensors"
    assert header_accepted(DATA, path)
    assert header_accepted(flipped(DATA, ARRAYS_BEGIN), path)  # the arrays are not read
    unseen = [i for i in range(ARRAYS_BEGIN) if header_accepted(flipped(DATA, i, i % 8), path)]
    assert unseen == []


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, ARRAYS_BEGIN, len(DATA) - 1])
def test_a_truncated_file_is_refused(length: int, tmp_path: Path) -> None:
    assert not accepted(DATA[:length])
    assert not header_accepted(DATA[:length], tmp_path / "r.safetensors")


def test_a_longer_file_is_refused(tmp_path: Path) -> None:
    assert not accepted(DATA + b"\0")
    assert not header_accepted(DATA + b"\0", tmp_path / "r.safetensors")


@pytest.mark.parametrize("read", [load, read_header])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a text of some length that is no safetensors file at all",
        save_tensors({"x": np.zeros(3)}),
        save_tensors({"x": np.zeros(3)}, {"format": "pt"}),
    ],
    ids=["empty", "text", "tensors", "other metadata"],
)
def test_a_file_of_another_kind_is_named_and_refused(
    read: Any, data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "r.safetensors"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"r\.safetensors is no stored result, or damaged"):
        read(path)


@pytest.mark.parametrize("read", [load, read_header])
def test_an_old_schema_is_recognised(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.safetensors"
    with monkeypatch.context() as old:
        old.setattr(archive, "SCHEMA", 0)
        old.setattr(request_key, "SCHEMA", 0)
        save(random_result(), path)
        assert load(path).n_blocks == RESULT.n_blocks
    with pytest.raises(InputError, match="was written in schema 0, and this version reads schema"):
        read(path)


def test_a_key_that_is_not_that_of_the_request_is_refused() -> None:
    other = random_result(seed=1)
    with pytest.raises(InputError, match="is not that of its request"):
        decode(encode(replace(RESULT, key=other.key)))


def test_the_header_says_what_the_result_is(tmp_path: Path) -> None:
    path = tmp_path / "r.safetensors"
    save(RESULT, path)
    header = read_header(path)
    assert header.sizes == Sizes(n_blocks=5, k_max=8, k_view=4)
    assert header.fields["request"] == RESULT.request


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(InputError, match=r"folder.safetensors cannot be written \(.*directory"):
        save(RESULT, tmp_path / "folder.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.safetensors"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none/r\.safetensors cannot be written .*: choose a folder"
    ):
        save(RESULT, tmp_path / "none" / "r.safetensors")
    with pytest.raises(InputError, match=r"none/r\.safetensors cannot be read: No such file"):
        load(tmp_path / "none" / "r.safetensors")
