"""Tokens as a page counts them."""

import tiny

from coupling_core import Request
from coupling_core.engine.loading import load
from coupling_core.sources.resolved import resolve


def test_a_tokenizer_that_pads_and_cuts_gives_the_prompt_as_it_is(tmp_path):
    folder = tiny.folder(tmp_path / "tiny")
    tokenizer = tiny.tokenizer().backend_tokenizer
    whole = tokenizer.encode(tiny.TEXT).ids
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=60)
    tokenizer.save(str(folder / "tokenizer.json"))
    asked = Request(tiny.TEXT, model=str(folder))
    assert list(resolve(asked).tokens.ids) == load(resolve(asked), "cpu").encode(tiny.TEXT) == whole
