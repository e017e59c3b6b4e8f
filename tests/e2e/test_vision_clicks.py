"""The Vision page in a browser: a click on a patch measures it, and the link shows the same."""

import re

import pytest
from driving import Visit, click_point, wait_for_chart
from playwright.sync_api import Page, expect

MEAN = re.compile(r"Rate 0\.4\s*-?\d\.\d{3}")
SECOND_ROW, TOKEN = (3.0, 10.0), 6
"""The middle of the first patch of the second row, in pixels of the picture, and its token."""


def mean(page: Page) -> str:
    """The title of the last map."""
    wait_for_chart(page, "maps")
    return page.locator(".st-key-maps").get_by_text(MEAN).text_content() or ""


@pytest.mark.slow
def test_a_click_on_a_patch_is_measured_and_kept_in_the_link(visit: Visit) -> None:
    page = visit("/Vision")
    of_class = mean(page)
    click_point(page, "picture", *SECOND_ROW)
    page.wait_for_url(re.compile(rf"patch={TOKEN}\b"))
    page.get_by_role("button", name="Compute all 4").click()
    expect(page.get_by_text("Until this patch is measured")).to_have_count(0)
    of_patch = mean(page)
    assert of_patch != of_class
    again = visit("/Vision" + page.url.partition("/Vision")[2])
    assert mean(again) == of_patch


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_maps_of_all_rates_are_equal_squares(visit: Visit, width: int) -> None:
    page = visit("/Vision", width=width)
    mean(page)
    maps = page.locator(".st-key-maps .heatmaplayer")
    sides = [(box["width"], box["height"]) for one in maps.all() if (box := one.bounding_box())]
    assert len(sides) == 4
    assert all(side == pytest.approx(sides[0][0], abs=2) for both in sides for side in both)
