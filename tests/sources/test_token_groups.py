"""Tokens that share a character are shown together, and a prompt's length is told in words."""

import pytest

from coupling_core.sources.tokens import Group, counted, grouped


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("a", " b"), [Group(1, 1, "a"), Group(2, 1, " b")]),
        ((r"\xe4", r"\xbd", r"\xa0", "!"), [Group(1, 3, "你"), Group(4, 1, "!")]),
        ((r" \xe4", r"\xbd\xa0"), [Group(1, 2, " 你")]),
        ((r"\xf0\x9f\x98", r"\x80"), [Group(1, 2, "😀")]),
        ((r"\xe4\xbd", r"\xa0\xe5", r"\xa5\xbd"), [Group(1, 3, "你好")]),
        ((r"\xe4", "x"), [Group(1, 1, r"\xe4"), Group(2, 1, "x")]),  # bytes of no character
        ((r"\xe4",), [Group(1, 1, r"\xe4")]),
        ((), []),
    ],
)
def test_characters_that_several_tokens_share_are_one_group(texts, expected):
    assert grouped(texts) == expected


@pytest.mark.parametrize(
    ("special", "expected"),
    [
        ((False,), "1 token"),
        ((False,) * 1200, "1,200 tokens"),
        ((True, False, True), "3 tokens, of which the tokenizer added 2"),
    ],
)
def test_a_length_in_words(special, expected):
    assert counted(special) == expected
