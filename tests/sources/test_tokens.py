"""Tokens as a page counts them, and those that share a character."""

import tiny

from coupling_core import Request
from coupling_core.engine.loading import load
from coupling_core.sources.resolved import resolve
from coupling_core.sources.tokens import Group, counted, grouped

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


def test_a_length_counts_what_the_tokenizer_added():
    assert counted((False,)) == "1 token"
    assert counted((False,) * 1200) == "1,200 tokens"
    assert counted((True, False, True)).startswith("3 tokens")
    assert counted((True, False, True)).endswith(" 2")


def test_a_tokenizer_that_pads_and_cuts_gives_the_prompt_as_it_is(tmp_path):
    folder = tiny.folder(tmp_path / "tiny")
    tokenizer = tiny.tokenizer().backend_tokenizer
    whole = tokenizer.encode(tiny.TEXT).ids
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=60)
    tokenizer.save(str(folder / "tokenizer.json"))
    asked = Request(tiny.TEXT, model=str(folder))
    assert list(resolve(asked).tokens.ids) == load(resolve(asked), "cpu").encode(tiny.TEXT) == whole
