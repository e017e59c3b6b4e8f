"""The whole tour by keyboard alone, in a demo that may compute nothing; its links, and back."""

import pytest
from driving import IDLE_DEMO, Visit, wait_for_chart
from playwright.sync_api import Page, expect

from explorer.pages.tour.stops import ALL

SETTINGS = IDLE_DEMO
FIRST = {
    1: "reaction",
    2: "in-the-other-basis",
    3: "untrained",
    4: "trained",
    5: "matrix-untrained",
    6: "random-bases",
    7: "loss",
    8: "exchange",
}
"""A figure of each stop."""
SCREENS = [
    pytest.param(width, height, scheme, marks=() if (width, scheme) in SHORT else pytest.mark.slow)
    for SHORT in [((390, "light"), (1280, "dark"))]
    for width, height in ((390, 844), (1280, 800), (1920, 1080))
    for scheme in ("light", "dark")
]


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the keyboard is at what has this name."""
    for _ in range(80):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "() => document.activeElement.closest('button, label, [role=radiogroup]')?.textContent"
        )
        if at is not None and name in at:
            return
    raise AssertionError(f"no Tab leads to {name!r}")


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_the_whole_of_it_by_keyboard(visit: Visit, width: int, height: int, scheme: str) -> None:
    page = visit("/Tour")
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for stop, figure in FIRST.items():
        expect(page.get_by_text(f"Stop {stop} of 8")).to_be_visible()
        first = ALL[stop - 1].answers[0]
        expect(page.get_by_role("radiogroup").filter(has_text=first)).to_have_count(1)
        expect(page.get_by_role("radiogroup")).to_have_count(1)
        tab_to(page, first)
        page.keyboard.press("Space")
        expect(page.locator("[data-testid=stAlert]")).to_have_count(1)
        wait_for_chart(page, figure)
        assert page.evaluate("document.body.scrollWidth") <= width
        if stop < len(FIRST):
            tab_to(page, "Next")
            page.keyboard.press("Enter")
    expect(page.get_by_text("What you know now")).to_be_visible()
    assert f"guesses={'0' * 8}" in page.url


def test_a_link_opens_at_its_stop_and_back_leads_to_the_one_before(visit: Visit) -> None:
    page = visit("/Tour?stop=4&guesses=---1")
    expect(page.get_by_text("Stop 4 of 8")).to_be_visible()
    wait_for_chart(page, "trained")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Stop 5 of 8")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Stop 4 of 8")).to_be_visible()
    wait_for_chart(page, "trained")
    page.get_by_role("button", name="Try other prompts").click()
    wait_for_chart(page, "mosaic")


def test_the_findings_on_start_open_and_lead_to_their_figures(visit: Visit) -> None:
    page = visit("/")
    wait_for_chart(page, "matrix-untrained")
    page.get_by_text("Ten findings").click()
    expect(page.get_by_text("79 of 435 pairs")).to_be_visible()
    page.get_by_role("button", name="On Layer graph").click()
    wait_for_chart(page, "graph")
