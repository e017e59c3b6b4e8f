"""Measuring: progress, the queue, two visitors with one wish, cancelling, and a page refreshed."""

import re
from urllib.parse import quote_plus

import psutil
import pytest
from driving import App, Visit, choose, compute, wait_for_chart
from playwright.sync_api import Page, expect

CAT = "The cat sat on the mat because it was"
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


def test_a_prompt_is_computed_with_progress_and_drawn(visit: Visit, app: App) -> None:
    page = visit("/Depth")
    wait_for_chart(page, "angles")
    choose(page.get_by_label("Prompt", exact=True), "Your own text…")
    page.get_by_label("Text", exact=True).fill(CAT)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("9 tokens; token 9 is measured.")).to_be_visible()
    compute(page)
    progress(page, BLOCK)
    expect(page.locator(".st-key-partial .main-svg").first).to_be_visible()
    wait_for_chart(page, "mosaic")
    page.locator(".st-key-tools button").first.click()  # the line that says what is drawn
    expect(page.get_by_text("computed now in")).to_be_visible()
    expect(page.get_by_text("30 of 30 SVDs certified")).to_be_visible()
    assert len(app.results) == 1


@pytest.mark.slow
def test_a_list_shows_what_it_comes_to_while_the_rest_is_measured(visit: Visit) -> None:
    page = visit("/Depth?list=shipped&k=10")
    page.get_by_text("Use your own prompts").click()
    names = ("Ann", "Ben", "Cid", "Dan", "Eve", "Flo", "Gil", "Hal", "Ida", "Jon", "Kim", "Leo")
    lines = "\n".join(f"In the story of {name} a cat" for name in names)
    page.get_by_label("Paste them here, one prompt on each line").fill(lines)
    page.get_by_role("button", name="Use these prompts").click()
    page.get_by_role("button", name="Compute all 12 prompts").click()
    progress(page, re.compile(r"^Trained model: .* 12.*; then the untrained twin, about as long$"))
    expect(page.get_by_text(re.compile(r"^Over (8|9|10|11) prompts, the mean"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"which is “.*cat” in all (8|9|10|11):"))).to_be_visible()
    cancel(page)  # the twin with it
    expect(page.get_by_text(re.compile(r"^Stopped after \d+ of 12 prompts"))).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    expect(page.get_by_test_id("stProgress")).to_have_count(0)


@pytest.mark.slow
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
    progress(first, "Queued, next in line")
    progress(second, "Queued, next in line")
    expect(second.get_by_text("2 sessions wait for this; it is computed once.")).to_be_visible()
    progress(third, "Queued, 2nd in line")
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_who_leaves_does_not_stop_the_others(visit: Visit) -> None:
    stays, leaves = (visit(slow("One stays and one leaves")) for _ in range(2))
    expect(leaves.get_by_role("button", name="Compute")).to_be_visible()
    compute(stays)
    progress(stays, BLOCK)
    compute(leaves)
    progress(leaves, BLOCK)
    cancel(leaves)
    expect(leaves.get_by_text("someone else still waits")).to_be_visible()
    progress(stays, BLOCK)
    cancel(stays)
    expect(stays.get_by_text(re.compile(r"Stopped after \d+ of 30 blocks\."))).to_be_visible()


@pytest.mark.slow
def test_a_worker_that_is_killed_fails_its_job_and_the_next_one_works(
    visit: Visit, app: App
) -> None:
    page = visit(slow("The worker is killed"))
    compute(page)
    progress(page, BLOCK)
    children = psutil.Process(app.pid).children()
    (worker,) = (one for one in children if "coupling_core.kinds" in " ".join(one.cmdline()))
    worker.kill()
    told = "ended by SIGKILL while it computed with smollm2-135m, as the system does where memory"
    expect(page.get_by_test_id("stAlert")).to_contain_text(told)
    expect(page.locator(".st-key-partial .main-svg").first).to_be_visible()
    following = visit(depth("The next one works"))
    compute(following)
    wait_for_chart(following, "mosaic")


def test_a_failure_is_told_in_plain_words(visit: Visit) -> None:
    page = visit(f"/Depth?prompt={quote_plus('word ' * 8999 + 'word')}")
    compute(page)
    expect(page.get_by_test_id("stAlert")).to_contain_text("tokens")
    expect(page.get_by_role("button", name="Compute")).to_be_visible()
