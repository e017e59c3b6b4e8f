"""What is seen of Start before anybody scrolls: on a laptop, a phone and a projector."""

import pytest
from driving import Visit, wait_for_chart
from playwright.sync_api import Page

KEYS = ("scores", "matrix-trained", "matrix-untrained")
AXIS = ".xtitle, .g-xtitle"
"""The lowest part of a map that is seen."""


def plot(page: Page, key: str) -> dict[str, float]:
    """Where a map lies in the window: its sides in pixels, and how far down its axis reaches."""
    return page.evaluate(
        """([key, axis]) => {
            const figure = document.querySelector(`.st-key-${key}`);
            const drawn = figure.querySelector(".nsewdrag").getBoundingClientRect();
            const title = figure.querySelector(axis).getBoundingClientRect();
            const frame = figure.getBoundingClientRect();
            return {
                top: frame.top, width: drawn.width, height: drawn.height,
                bottom: Math.max(drawn.bottom, title.bottom), frame: frame.bottom,
            };
        }""",
        [key, AXIS],
    )


@pytest.mark.parametrize(
    ("width", "height", "least", "keys"),
    [
        pytest.param(1280, 720, 200, KEYS, id="laptop"),
        pytest.param(1920, 1080, 420, KEYS, id="projector", marks=pytest.mark.slow),
        pytest.param(390, 844, 260, KEYS[:1], id="phone"),
    ],
)
def test_maps_are_whole_and_large_above_the_fold(
    visit: Visit, width: int, height: int, least: int, keys: tuple[str, ...]
) -> None:
    page = visit("/", width=width, height=height)
    wait_for_chart(page, KEYS[-1])
    page.wait_for_function(
        "least => document.querySelector('.st-key-scores .nsewdrag')"
        ".getBoundingClientRect().width >= least",
        arg=least,
    )
    for key in keys:
        found = plot(page, key)
        assert found["bottom"] <= min(height, found["frame"])
        assert found["width"] == pytest.approx(found["height"], abs=1)
        assert found["width"] >= least
    answer = page.get_by_text("Blocks 9-16 are coupled").bounding_box()
    assert answer is not None
    assert answer["y"] < plot(page, "scores")["top"]
