"""Tokens in a browser: one selection by clicks and links; prompts too long for one grid."""

import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from driving import App, Visit, choose, click_cell, wait_for_chart
from playwright.sync_api import Page, expect

from coupling_core.base.results import TokensResult
from coupling_core.experiments.gallery import token_requests
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

pytestmark = pytest.mark.slow

MOST_NODES = 5000
N = 256


@pytest.fixture(scope="module")
def stored() -> TokensResult:
    request = token_requests()[0]
    found = Store().find(request, resolve(request).identity)
    assert isinstance(found, TokensResult)
    return found


@pytest.fixture(scope="module")
def long(app: App, stored: TokensResult) -> TokensResult:
    """The stored comparison, repeated until the prompt has 256 tokens."""
    at = np.arange(N) % len(stored.tokens)
    text = "".join(stored.tokens[i] for i in at)
    changes: dict[str, Any] = {
        "request": replace(stored.request, prompt=text),
        "tokens": tuple(stored.tokens[i] for i in at),
        "token_ids": stored.token_ids[at],
        "certificates": tuple(tuple(side[i] for i in at) for side in stored.certificates),
        "matrices": stored.matrices[:, at][:, :, at][..., :4, :4],
        "positions_done": N,
    }
    for name in ("diagonal", "off_diagonal"):
        changes[name] = getattr(stored, name)[:, at][:, :, at]
    for name in ("singular_values", "next_singular_value", "rank", "chance", "chance_error"):
        changes[name] = getattr(stored, name)[:, at]
    result = replace(stored, jacobian_norm=stored.jacobian_norm[at], **changes)
    store = Store(app.store)
    result = replace(result, key=store.key(result.request, result.identity))
    store.put(result)
    return result


def said(page: Page) -> str:
    """The sentence on the selected pair, with its numbers."""
    line = page.get_by_text(re.compile(r"^The Jacobian of token \d+ .* in the singular basis"))
    return line.first.inner_text()


def test_a_click_goes_into_the_link_and_a_fresh_browser_shows_the_same(
    visit: Visit, stored: TokensResult
) -> None:
    page = visit("/Tokens")
    wait_for_chart(page, "tokens")
    click_cell(page, "tokens", 7, 4, n=len(stored.tokens))
    expect(page).to_have_url(re.compile(r"token=7&other=4$"))
    expect(page.get_by_text("The Jacobian of token 7 “?” in the singular basis")).to_be_visible()
    wait_for_chart(page, "matrix")
    address = page.url.split("/", 3)[3]
    other = visit(f"/{address}")
    wait_for_chart(other, "matrix")
    assert said(other) == said(page)
    assert re.search(r"c = 0\.\d{3}", said(page))
    other.get_by_role("link", name="Trajectories").click()
    expect(other).to_have_url(re.compile("token=7"))


def test_a_long_prompt_pages_its_grid_and_stays_light(visit: Visit, long: TokensResult) -> None:
    page = visit(f"/Tokens?prompt={quote(str(long.request.prompt))}")
    wait_for_chart(page, "tokens")
    expect(page.get_by_text("256 tokens, of which 32 by 32 are shown")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    click_cell(page, "tokens", 2, 3, n=32)  # the part with the last token: 225 to 256
    expect(page).to_have_url(re.compile(r"token=226&other=227"))
    choose(page.get_by_label("Rows of the grid"), "tokens 33 to 64")
    expect(page).to_have_url(re.compile(r"rows=33"))
    expect(page.locator(".st-key-tokens .yaxislayer-above text").first).to_have_text("␣the 33")
    wait_for_chart(page, "tokens")
    click_cell(page, "tokens", 1, 3, n=32)
    expect(page).to_have_url(re.compile(r"token=33&"))
    expect(page.get_by_text("The Jacobian of token 33 ").first).to_be_visible()
    wait_for_chart(page, "tokens")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    assert page.get_by_test_id("stException").count() == 0
