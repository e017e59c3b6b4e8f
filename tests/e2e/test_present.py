"""Present mode: readable from the last row, led by arrow keys, and left again."""

import pytest
from driving import Visit, wait_for_chart
from playwright.sync_api import Page, expect

SMALL = """() => [...document.querySelectorAll(
    '.stMain :is(p, li, label, h1, h2, button), .js-plotly-plot text')]
  .filter(one => one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && one.getBoundingClientRect().width > 0 && one.textContent.trim())
  .map(one => [parseFloat(getComputedStyle(one).fontSize), one.textContent])
  .filter(([size]) => size < 20)"""
LARGEST_MAP = """() => Math.max(...[...document.querySelectorAll('.js-plotly-plot .heatmaplayer')]
  .map(one => one.getBoundingClientRect()).map(box => Math.min(box.width, box.height)))"""
TOP = "() => document.querySelector('[data-testid=stMain]').scrollTop"
BELOW = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  return main.scrollHeight - main.clientHeight;
}"""
SPOT = "() => getComputedStyle(document.querySelector('.present-spot')).visibility"


@pytest.fixture
def room(visit: Visit) -> Visit:
    def come(address: str) -> Page:
        return visit(address, width=1920, height=1080)

    return come


@pytest.mark.parametrize(
    ("address", "figure"),
    [
        ("/Tour?stop=4&guesses=---2&present=1", "untrained"),
        ("/?present=1", "matrix-untrained"),
        *(
            pytest.param(f"/{page}?present=1", figure, marks=pytest.mark.slow)
            for page, figure in (
                ("Depth", "angles"),
                ("Training", "paths"),
                ("What_if", "exchange"),
            )
        ),
    ],
)
def test_letters_and_maps_are_large_and_the_sidebar_is_gone(
    room: Visit, address: str, figure: str
) -> None:
    page = room(address)
    wait_for_chart(page, figure)
    for _ in range(180):  # seconds
        if not (small := page.evaluate(SMALL)):
            break
        page.wait_for_timeout(1000)
    assert small == []
    page.wait_for_function(f"({LARGEST_MAP})() >= 600")
    expect(page.locator("[data-testid=stSidebar]")).to_be_hidden()
    assert page.evaluate("document.body.scrollWidth") <= 1920


def test_arrow_keys_lead_to_figures_and_stops_and_escape_leaves(room: Visit) -> None:
    page = room("/Tour?stop=3&guesses=0000&present=1")
    wait_for_chart(page, "untrained")
    page.wait_for_selector(".present-spot", state="attached")  # which comes with what hears keys
    page.wait_for_function(f"({BELOW})() > 100")  # else the next figure is that of the next stop
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"({TOP})() > 100")
    for _ in range(3):  # past the last figure is the next stop
        page.wait_for_timeout(700)
        page.keyboard.press("ArrowRight")
        if page.get_by_text("Stop 4 of 8").is_visible():
            break
    expect(page.get_by_text("Stop 4 of 8")).to_be_visible()
    page.mouse.move(400, 300)
    assert page.evaluate(SPOT) == "visible"
    page.keyboard.press("Escape")
    expect(page.locator("[data-testid=stSidebar]")).to_be_visible()
    assert "present" not in page.url


def test_the_sidebar_leads_into_it(room: Visit) -> None:
    page = room("/Depth")
    wait_for_chart(page, "mosaic")
    page.get_by_role("button", name="Present").click()
    expect(page.locator("[data-testid=stSidebar]")).to_be_hidden()
    assert "present=1" in page.url
