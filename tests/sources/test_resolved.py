"""A model is looked for once, by whatever a request passes through; and its tokens."""

import pytest
import tiny

from coupling_core import Request, Store, measure
from coupling_core.engine.loading import load
from coupling_core.measuring.measure import answer
from coupling_core.sources import resolved
from coupling_core.sources.identity import Source, identity_of, locate
from coupling_core.sources.resolved import resolve
from coupling_core.sources.tokens import Group, grouped


@pytest.fixture
def looked(monkeypatch):
    """The requests whose model was looked for."""
    found = []
    monkeypatch.setattr(resolved, "locate", lambda asked: found.append(asked) or locate(asked))
    return found


def test_a_measurement_looks_for_its_model_once(folder, looked, tmp_path):
    store = Store(tmp_path)
    for asked in (
        {"k": 4},
        {"kind": "trajectory"},
        {"kind": "fixed-input", "block": 1, "other_block": 2, "k": 4},
        {"untrained": 0, "k": 4},
    ):
        request = Request("The cat sat", model=str(folder), **asked)
        for _ in range(2):  # measured, then stored
            looked.clear()
            measure(request, store)
            assert looked == [request]


def test_what_was_found_is_not_looked_for_again(folder, looked, tmp_path):
    asked = resolve(Request("The cat sat", model=str(folder), k=4))
    result = answer(asked, Store(tmp_path))
    assert len(looked) == 1
    assert result.identity == asked.identity
    assert asked.n_tokens == len(asked.tokens.ids) == len(result.tokens)
    assert asked.config["model_type"] == "llama"
    twin = resolve(Request("The dog", model=str(folder), untrained=0), asked.source)
    assert len(looked) == 1
    assert twin.identity == identity_of(asked.source, twin.request)


def test_of_files_that_are_not_here_or_cannot_be_read_nothing_is_known(tmp_path):
    away = Source("hub", "model", "someone/else", "0" * 40)
    asked = resolve(Request("The cat sat", model="someone/else"), away)
    assert (asked.tokens, asked.config) == (None, {})
    assert asked.n_tokens == len("The cat sat") // 3 + 1
    (tiny.folder(tmp_path / "m") / "tokenizer.json").write_text("{")
    assert resolve(Request("x", model=str(tmp_path / "m"))).tokens is None


# ---- tokens

GROUPS = {
    ("a", " b"): [Group(1, 1, "a"), Group(2, 1, " b")],
    (r"\xe4", r"\xbd", r"\xa0", "!"): [Group(1, 3, "你"), Group(4, 1, "!")],
    (r" \xe4", r"\xbd\xa0"): [Group(1, 2, " 你")],
    (r"\xf0\x9f\x98", r"\x80"): [Group(1, 2, "😀")],
    (r"\xe4\xbd", r"\xa0\xe5", r"\xa5\xbd"): [Group(1, 3, "你好")],
    (r"\xe4", "x"): [Group(1, 1, r"\xe4"), Group(2, 1, "x")],  # bytes of no character
    (r"\xe4",): [Group(1, 1, r"\xe4")],
    (): [],
}


def test_characters_that_several_tokens_share_are_one_group():
    assert {texts: grouped(texts) for texts in GROUPS} == GROUPS


def test_a_tokenizer_that_pads_and_cuts_gives_the_prompt_as_it_is(tmp_path):
    folder = tiny.folder(tmp_path / "tiny")
    tokenizer = tiny.tokenizer().backend_tokenizer
    whole = tokenizer.encode(tiny.TEXT).ids
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=60)
    tokenizer.save(str(folder / "tokenizer.json"))
    asked = Request(tiny.TEXT, model=str(folder))
    assert list(resolve(asked).tokens.ids) == load(resolve(asked), "cpu").encode(tiny.TEXT) == whole
