from dataclasses import dataclass, fields, replace

import pytest

from coupling_core.base.errors import InputError
from coupling_core.base.records import FinalNorm, Request
from coupling_core.store import request_key
from coupling_core.store.request_key import is_key_of, make_key, parse_key

REQUEST = Request("A prompt", model="smollm2-135m")
IDENTITY = {"kind": "gguf", "name": "SmolLM2", "digest": "ab" * 32}


def key_of(identity=IDENTITY, **changes):
    return make_key(replace(REQUEST, **changes), identity)


def test_a_key_is_the_same_in_every_process_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stored results are lost to a change of this value: it goes with a new schema only.
    monkeypatch.setattr(request_key, "SCHEMA", 1)
    assert str(key_of()) == "54df726b82385e16a43ac75ea327b0cb-k50-v32"


def test_ways_to_one_model_share_a_key() -> None:
    assert key_of(IDENTITY | {"name": "else"}, model="/somewhere/else.gguf") == key_of()
    assert key_of(model="owner/name", revision="main") == key_of()
    assert key_of(dict(reversed(IDENTITY.items()))) == key_of()


def test_what_earlier_versions_stored_keeps_its_key() -> None:
    for sizes, corners in (
        ({}, {32}),
        ({"k": 10}, {10, 32}),  # earlier versions kept no larger corner than the K asked for
        ({"k": 10, "kind": "self"}, {10, 16}),
        ({"k": 300}, {32}),
        ({"k": 10, "k_view": 4}, {4}),
    ):
        request, made = replace(REQUEST, **sizes), key_of(**sizes)
        names = {v: str(replace(made, k_view=v)) for v in range(1, 60)}
        known = {v for v, name in names.items() if is_key_of(name, request, IDENTITY)}
        assert known == corners, sizes
        assert not is_key_of(str(replace(made, digest="0" * 32)), request, IDENTITY)
        assert not is_key_of(str(replace(made, k_max=made.k_max + 1)), request, IDENTITY)


def test_what_changes_the_answer_changes_the_digest() -> None:
    digests = [
        key_of().digest,
        key_of(IDENTITY | {"digest": "cd" * 32}).digest,
        key_of(IDENTITY | {"kind": "hub", "id": "owner/name"}).digest,
        *(key_of(prompt=prompt).digest for prompt in ("Another prompt", "a prompt", (1, 2))),
        key_of(untrained=0).digest,
        key_of(token=1).digest,
        key_of(final_norm="exclude").digest,
        *(
            key_of(kind=kind).digest
            for kind in ("trajectory", "what-if", "spectrum", "perturbation", "directions")
        ),
        *(
            key_of(kind=kind, block=block, other_block=other).digest
            for kind in ("self", "fixed-input", "fixed-output")
            for block, other in ((None, None), (1, 1), (1, 2), (2, 1))
        ),
    ]
    assert len({*digests}) == len(digests)


def test_sizes_stand_beside_the_digest() -> None:
    for k, k_view, sizes in (
        (50, None, (50, 32)),
        (8, None, (50, 32)),
        (80, None, (80, 32)),
        (80, 80, (80, 80)),
    ):
        key = key_of(k=k, k_view=k_view)
        assert (key.k_max, key.k_view) == sizes
        assert key.digest == key_of().digest
        assert parse_key(str(key)) == key


def test_what_is_not_json_has_no_key() -> None:
    for value in ({1, 2}, object(), float("nan"), float("inf"), b"bytes"):
        with pytest.raises(InputError, match="not JSON"):
            key_of(IDENTITY | {"extra": value})


def test_other_texts_are_no_keys() -> None:
    zeros, digits = "0" * 32, "9" * 5000  # more than Python makes a number of
    texts = ("", "r", f"../{zeros}-k50-v32", f"{zeros}-k0-v1", "A" * 32 + "-k50-v32")
    texts += (f"{zeros}-k{digits}-v4", f"{zeros}-k4-v{digits}")
    assert [text for text in texts if parse_key(text)] == []


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
