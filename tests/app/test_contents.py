"""Which pages there are, and what the app knows of each kind of result."""

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from coupling_core.base.kinds import kinds
from coupling_core.base.records import Request
from explorer.frame.contents import PAGE_OF_KIND, PAGES

ROOT = Path(__file__).parents[2]
REQUESTS = [
    Request("Hi", model="folder", token=2, k=60),
    Request("Hi", kind="self", block=3, other_block=2),
    Request("Hi", kind="fixed-input", token=2),
    Request("Hi", kind="fixed-output", untrained=1, block=4),
    Request("Hi", kind="trajectory", final_norm="exclude"),
    Request("Hi", kind="what-if", untrained=2),
    Request("Hi", kind="spectrum", token=1),
    Request("Hi", kind="perturbation", token=1),
    Request("Hi", kind="directions", token=1),
]
ASKING = {
    "depth": "request",
    "trajectory": "path_request",
    "what-if": "what_if_request",
    "spectrum": "spectrum_request",
    "perturbation": "perturbation_request",
    "directions": "directions_request",
}
"""What a page's state calls the request of a kind; the other kinds compare tokens."""


def test_every_kind_has_one_page_and_every_page_its_file() -> None:
    assert set(PAGE_OF_KIND) == set(kinds())
    assert sum(len(page.kinds) for page in PAGES.values()) == len(PAGE_OF_KIND)
    _, *files = (page.file for page in PAGES.values())
    numbers = sorted(int(re.fullmatch(r"pages/(\d+)_\w+\.py", file)[1]) for file in files)
    assert numbers == list(range(1, len(files) + 1))
    assert all((ROOT / file).is_file() for file in files)


@pytest.mark.parametrize("asked", REQUESTS, ids=lambda asked: asked.kind)
def test_a_result_opens_on_a_page_that_asks_for_it(asked: Request) -> None:
    state = PAGE_OF_KIND[asked.kind].state(k=60).of_request(asked, asked.k_max)
    if asked.kind in ASKING:
        assert getattr(state, ASKING[asked.kind])() == asked
    else:
        found = state.token_request(state.block, state.basis)
        assert (found.kind, found.token, found.block) == (asked.kind, asked.token, asked.block)
        assert found.other_block == asked.other_block


def _two_prompts() -> None:
    import streamlit as st

    from explorer.frame.contents import LINKS, PAGES
    from explorer.session.session import change, current, open_session

    tokens = PAGES["Tokens"].state
    open_session("Tokens", tokens, LINKS)
    change(other_token=3, row_window=2, step=64)
    change(prompt=current().prompt, k=7)
    st.json(vars(current(tokens)))
    change(prompt="Another text")
    st.json(vars(current(tokens)))
    st.json(vars(current(PAGES["Training"].state)))


def test_selected_tokens_are_let_go_with_their_prompt_alone() -> None:
    app = AppTest.from_function(_two_prompts).run()
    same, other, training = (json.loads(found.value) for found in app.json)
    assert (same["other_token"], same["row_window"], same["k"]) == (3, 2, 7)
    assert (other["other_token"], other["row_window"], other["k"]) == (-2, 0, 7)
    assert (training["step"], training["k"], training["prompt"]) == (64, 7, "Another text")
