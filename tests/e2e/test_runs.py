"""The list of stored results: open, verify, delete."""

import re

import pytest
from cases import random_result
from driving import App, Visit, wait_for_chart
from playwright.sync_api import Page, expect

from coupling_core.store.disk import Store

ROW = 35
"""Height of a row and of the header in pixels."""


def choose_only(page: Page, words: str) -> None:
    """Search for one result, and tick it."""
    table = page.get_by_test_id("stDataFrame")
    expect(table.locator("canvas").first).to_be_visible()
    page.get_by_label("Search", exact=True).fill(words)
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("^1 of "))).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    expect(table).to_have_count(1)  # for a moment, the one before stands beside it
    table.click(position={"x": ROW / 2, "y": 1.5 * ROW})


@pytest.mark.slow
def test_a_result_opens_on_depth(visit: Visit) -> None:
    page = visit("/Runs?k=20&block=3&basis=4")
    choose_only(page, "factorial untrained")
    page.get_by_role("button", name="Open on Depth").click()
    wait_for_chart(page, "mosaic")
    expect(page).to_have_url(
        re.compile(r"/Depth\?prompt=def\+factorial.*&untrained=0&k=20&block=3")
    )
    expect(page.get_by_text("untrained (seed 0)").first).to_be_visible()


def test_a_result_of_the_gallery_stays(visit: Visit) -> None:
    page = visit("/Runs")
    choose_only(page, "factorial untrained")
    expect(page.get_by_role("button", name="Delete")).to_be_disabled()


def test_a_result_is_verified_and_deleted(visit: Visit, app: App) -> None:
    path = Store(app.store).put(random_result())
    page = visit("/Runs")
    choose_only(page, "random")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("Sound: every byte is as it was written.")).to_be_visible()
    page.get_by_role("button", name="Recheck").click()
    expect(page.get_by_text("It was made before passports")).to_be_visible()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("is damaged")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("Deleted")).to_be_visible()
    assert not path.exists()
