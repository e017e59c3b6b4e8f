from dataclasses import replace
from pathlib import Path

import numpy as np
from cases import content, random_result
from hypothesis import given
from hypothesis import strategies as st

from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.results import Sizes
from coupling_core.store.archive import decode, encode, read_header, save

RESULT = random_result()
DATA = encode(random_result(n_blocks=2, width=4, k_max=2, k_view=2))
"""Few bytes, since each is damaged."""
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


def flipped(position: int, bit: int = 0) -> bytes:
    return DATA[:position] + bytes([DATA[position] ^ 1 << bit]) + DATA[position + 1 :]


@given(st.binary(min_size=2 * 5 * 5 * 2 * 2 * 2, max_size=2 * 5 * 5 * 2 * 2 * 2))
def test_every_float16_survives(raw: bytes) -> None:
    matrices = np.frombuffer(raw, np.float16).reshape(2, 5, 5, 2, 2)
    assert decode(encode(replace(RESULT, matrices=matrices))).matrices.tobytes() == raw


def test_an_array_that_is_not_contiguous_comes_back() -> None:
    matrices = RESULT.matrices.swapaxes(-1, -2)
    again = decode(encode(replace(RESULT, matrices=matrices))).matrices
    np.testing.assert_array_equal(again, matrices)


def test_a_result_comes_back_to_the_last_bit() -> None:
    first, *others = RESULT.certificates
    for changes in (
        {},
        {"tokens": ("é", "\ud83d", '"header_sha256":"' + "0" * 64 + '"', "\n")},
        {"request": Request((5, 6, 7), token=2, k=8, k_view=4, untrained=3)},
        {"certificates": (replace(first, reason="x"), *others)},
        {"next_tokens": ()},
    ):
        result = random_result(**changes)
        assert content(decode(encode(result))) == content(result), changes


def test_no_flipped_byte_is_read() -> None:
    assert accepted(DATA)
    assert [at for at in range(len(DATA)) if accepted(flipped(at, at % 8))] == []


def test_no_flipped_byte_of_the_header_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "r.safetensors"
    assert header_accepted(DATA, path)
    assert header_accepted(flipped(ARRAYS_BEGIN), path)  # the arrays are not read
    places = range(0, ARRAYS_BEGIN, 5)
    assert [at for at in places if header_accepted(flipped(at, at % 8), path)] == []


def test_a_shorter_and_a_longer_file_is_refused(tmp_path: Path) -> None:
    lengths = (0, 1, 7, 8, 9, 100, ARRAYS_BEGIN, len(DATA) - 1)
    for data in (*(DATA[:length] for length in lengths), DATA + b"\0"):
        assert not accepted(data), len(data)
        assert not header_accepted(data, tmp_path / "r.safetensors"), len(data)


def test_the_header_says_what_the_result_is(tmp_path: Path) -> None:
    save(RESULT, tmp_path / "r.safetensors")
    header = read_header(tmp_path / "r.safetensors")
    assert header.sizes == Sizes(n_blocks=5, k_max=8, k_view=4)
    assert header.fields["request"] == RESULT.request
