from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from coupling_core.base.errors import InputError
from coupling_core.base.records import FinalNorm, Request
from coupling_core.store import request_key
from coupling_core.store.request_key import Key, is_key_of, make_key, parse_key

REQUEST = Request("A prompt", model="smollm2-135m")
IDENTITY = {"kind": "gguf", "name": "SmolLM2", "digest": "ab" * 32}


def test_a_key_is_the_same_in_every_process_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stored results are lost to a change of this value: it goes with a new schema only.
    monkeypatch.setattr(request_key, "SCHEMA", 1)
    assert str(make_key(REQUEST, IDENTITY)) == "54df726b82385e16a43ac75ea327b0cb-k50-v32"


@pytest.mark.parametrize(
    ("change", "identity"),
    [
        ({"model": "/somewhere/else.gguf"}, {"name": "else"}),
        ({"model": "owner/name", "revision": "main"}, {}),
        ({}, dict(reversed(IDENTITY.items()))),
    ],
    ids=["path", "revision", "order of the identity"],
)
def test_ways_to_one_model_share_a_key(change: dict[str, Any], identity: dict[str, Any]) -> None:
    other = make_key(replace(REQUEST, **change), identity | IDENTITY | identity)
    assert other == make_key(REQUEST, IDENTITY)


@pytest.mark.parametrize(
    ("sizes", "corners"),
    [
        ({}, {32}),
        ({"k": 10}, {10, 32}),  # earlier versions kept no larger corner than the K asked for
        ({"k": 10, "kind": "self"}, {10, 16}),
        ({"k": 300}, {32}),
        ({"k": 10, "k_view": 4}, {4}),
    ],
)
def test_what_earlier_versions_stored_keeps_its_key(
    sizes: dict[str, Any], corners: set[int]
) -> None:
    request = replace(REQUEST, **sizes)
    made = make_key(request, IDENTITY)
    names = {v: str(replace(made, k_view=v)) for v in range(1, 60)}
    assert {v for v, name in names.items() if is_key_of(name, request, IDENTITY)} == corners
    assert not is_key_of(str(replace(made, digest="0" * 32)), request, IDENTITY)
    assert not is_key_of(str(replace(made, k_max=made.k_max + 1)), request, IDENTITY)


@pytest.mark.parametrize(
    ("change", "identity"),
    [
        ({"prompt": "Another prompt"}, {}),
        ({"prompt": "a prompt"}, {}),
        ({"prompt": (1, 2)}, {}),
        ({"token": 1}, {}),
        ({"final_norm": "exclude"}, {}),
        ({"kind": "trajectory"}, {}),
        ({"kind": "what-if"}, {}),
        ({"kind": "spectrum"}, {}),
        ({"kind": "perturbation"}, {}),
        ({"kind": "directions"}, {}),
        ({"kind": "self"}, {}),
        ({"untrained": 0}, {}),
        ({}, {"digest": "cd" * 32}),
        ({}, {"kind": "hub", "id": "owner/name"}),
    ],
)
def test_what_changes_the_answer_changes_the_digest(
    change: dict[str, Any], identity: dict[str, Any]
) -> None:
    other = make_key(replace(REQUEST, **change), IDENTITY | identity)
    assert other.digest != make_key(REQUEST, IDENTITY).digest


def test_each_pair_of_blocks_has_its_digest() -> None:
    asked = [
        replace(REQUEST, kind=kind, block=block, other_block=other)
        for kind in ("self", "fixed-input", "fixed-output")
        for block, other in ((None, None), (1, 1), (1, 2), (2, 1))
    ]
    assert len({make_key(request, IDENTITY).digest for request in asked}) == len(asked)


def test_another_schema_is_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = make_key(REQUEST, IDENTITY).digest
    monkeypatch.setattr(request_key, "SCHEMA", request_key.SCHEMA + 1)
    assert make_key(REQUEST, IDENTITY).digest != before


@pytest.mark.parametrize(
    ("k", "k_view", "sizes"),
    [(50, None, (50, 32)), (8, None, (50, 32)), (80, None, (80, 32)), (80, 80, (80, 80))],
)
def test_sizes_stand_beside_the_digest(k: int, k_view: int | None, sizes: tuple[int, int]) -> None:
    key = make_key(replace(REQUEST, k=k, k_view=k_view), IDENTITY)
    assert (key.k_max, key.k_view) == sizes
    assert key.digest == make_key(REQUEST, IDENTITY).digest
    assert parse_key(str(key)) == key


@pytest.mark.parametrize(
    ("stored", "k", "k_view", "answers"),
    [
        ((50, 32), 50, None, True),
        ((50, 4), 50, None, True),
        ((50, 32), 10, 32, True),
        ((50, 32), 50, 33, False),
        ((50, 32), 51, None, False),
        ((80, 80), 60, 60, True),
    ],
)
def test_a_larger_result_answers(
    stored: tuple[int, int], k: int, k_view: int | None, answers: bool
) -> None:
    assert Key("0" * 32, *stored).answers(replace(REQUEST, k=k, k_view=k_view)) is answers


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), float("inf"), b"bytes"])
def test_what_is_not_json_has_no_key(value: object) -> None:
    with pytest.raises(InputError, match="not JSON"):
        make_key(REQUEST, IDENTITY | {"extra": value})


@pytest.mark.parametrize(
    "text",
    ["", "r", "../" + "0" * 32 + "-k50-v32", "0" * 32 + "-k0-v1", "A" * 32 + "-k50-v32"],
)
def test_other_texts_are_no_keys(text: str) -> None:
    assert parse_key(text) is None


def test_every_field_of_a_request_is_in_its_key_or_stands_for_what_there_was_before() -> None:
    """A field that is added has to say what the results of before would have said."""
    beside = {"prompt", *request_key._SIZES, *request_key._WAYS_TO_A_MODEL}
    assert {item.name for item in fields(Request)} == beside | request_key.UNSAID.keys()
    plain = Request("A prompt")
    assert {name: getattr(plain, name) for name in request_key.UNSAID} == request_key.UNSAID


def test_another_default_answers_no_other_question() -> None:
    @dataclass(frozen=True)
    class Later(Request):
        final_norm: FinalNorm = "exclude"
        token: int = 1

    default, before = Later("A prompt"), Request("A prompt")
    assert make_key(default, IDENTITY) != make_key(before, IDENTITY)
    said = Later("A prompt", final_norm="include", token=-1)
    assert make_key(said, IDENTITY) == make_key(before, IDENTITY)
    said = Request("A prompt", final_norm="exclude", token=1)
    assert make_key(said, IDENTITY) == make_key(default, IDENTITY)


def test_a_key_of_thousands_of_digits_is_none() -> None:
    digits = "9" * 5000  # more than Python makes a number of
    assert parse_key(f"{'0' * 32}-k{digits}-v4") is None
    assert parse_key(f"{'0' * 32}-k4-v{digits}") is None
