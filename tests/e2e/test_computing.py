"""Measuring for several visitors: the queue, one wish of two, cancelling, and a page refreshed."""

import re
from urllib.parse import quote_plus

import pytest
from driving import App, Visit, compute, wait_for_chart
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

SLOW_K = 300
"""All triplets of all pairs take so long that several people can look on; none is finished."""
BLOCK = re.compile(r"Block \d+ of 30")


def depth(prompt: str) -> str:
    return f"/Depth?prompt={quote_plus(prompt)}"


def slow(prompt: str) -> str:
    return f"{depth(prompt)}&k={SLOW_K}"


def cancel(page: Page) -> None:
    page.get_by_role("button", name="Cancel").click()


def progress(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_test_id("stProgress").get_by_text(text)).to_be_visible()


def test_two_visitors_share_one_job_and_a_third_waits(visit: Visit, app: App) -> None:
    before = len(app.results)
    # All come before anything is computed: a slow machine must not finish while they open a page.
    earlier = visit(slow("Somebody came earlier"))
    first, second = (visit(depth("Two people ask for this")) for _ in range(2))
    third = visit(depth("A third asks for that"))
    runs = visit("/Runs")
    for page in (earlier, first, second, third):
        expect(page.get_by_role("button", name="Compute")).to_be_visible()
    compute(earlier)
    progress(earlier, BLOCK)
    compute(first)
    compute(second)
    compute(third)
    progress(first, "Queued, number 1 in line")
    progress(second, "Queued, number 1 in line")
    expect(second.get_by_text("2 sessions wait for this; it is computed once.")).to_be_visible()
    progress(third, "Queued, number 2 in line")
    runs.get_by_role("link", name="Runs").click()
    expect(runs.get_by_test_id("stProgress")).to_have_count(3)
    cancel(third)
    expect(third.get_by_text("Stopped before it began.")).to_be_visible()
    expect(runs.get_by_test_id("stProgress")).to_have_count(2)
    cancel(earlier)
    progress(first, BLOCK)
    progress(second, BLOCK)
    wait_for_chart(first, "mosaic")
    wait_for_chart(second, "mosaic")
    expect(runs.get_by_text("Nothing is being measured.")).to_be_visible()
    assert len(app.results) == before + 1


def test_a_page_refreshed_in_mid_job_finds_it_again_and_can_stop_it(visit: Visit, app: App) -> None:
    before = app.results
    page = visit(slow("This page is refreshed"))
    compute(page)
    progress(page, BLOCK)
    page.reload()
    progress(page, BLOCK)
    page.get_by_role("link", name="Method").click()
    expect(page.get_by_role("heading", name="Scores", exact=True)).to_be_visible()
    page.get_by_role("link", name="Depth", exact=True).click()
    progress(page, BLOCK)
    cancel(page)
    expect(page.get_by_text(re.compile(r"Stopped after \d+ of 30 blocks\."))).to_be_visible()
    expect(page.locator(".st-key-partial .main-svg").first).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_text("Nothing is being measured.")).to_be_visible()
    assert app.results == before
