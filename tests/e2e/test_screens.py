"""Every width, pixel ratio and scheme: maps answer the pointer, and every page can be read."""

import on_screen
import pytest
from accessible import COVERED, faults, tab_through
from driving import App, Visit, wait_for_chart
from playwright.sync_api import expect
from screen import PAGES
from sweep_table import plant, sweep_of, zoo

from coupling_core.store.disk import Store

pytestmark = pytest.mark.slow

WIDTHS = (390, 768, 1024, 1280, 1440, 1920)
WIDER = """width => [...document.querySelectorAll('.stMain .js-plotly-plot, .stMain p')]
    .filter(one => one.getBoundingClientRect().right > width + 1).map(one => one.outerHTML)"""


@pytest.mark.parametrize("width", WIDTHS)
def test_every_place_of_a_cell_is_that_of_its_pair(visit: Visit, app: App, width: int) -> None:
    page = visit("/", width=width)
    cells = on_screen.spread(page, "scores", 2)
    for place in range(on_screen.PLACES):
        for cell in cells:
            page.mouse.click(*on_screen.places(page, "scores", cell)[place])
            on_screen.expect_selected(page, cell)
    maps = (("", "scores"), ("Training", "scores"), ("Compare", "map-A-B"), ("Depth", "mosaic"))
    for address, key in maps:
        page.goto(f"{app.url}/{address}")
        on_screen.hover_everywhere(page, key, on_screen.spread(page, key, 12))


@pytest.mark.parametrize(("width", "ratio"), [(390, 1), (390, 2), (390, 3), (768, 2)])
def test_every_place_of_a_cell_can_be_tapped(visit: Visit, width: int, ratio: int) -> None:
    phone = {"has_touch": True, "is_mobile": width < 768, "device_scale_factor": ratio}
    page = visit("/", width=width, height=844, **phone)
    cells = on_screen.spread(page, "scores", 2)
    for place in range(on_screen.PLACES):
        for cell in cells:
            page.touchscreen.tap(*on_screen.places(page, "scores", cell)[place])
            on_screen.expect_selected(page, cell)


@pytest.mark.parametrize("width", [390, 844, 1024, 1280])
def test_figures_fit_and_their_buttons_cover_no_words(visit: Visit, app: App, width: int) -> None:
    plant(Store(app.store), sweep_of(zoo()))
    page = visit("/_stcore/health", width=width, has_touch=True, is_mobile=width < 768)
    last = {"": "scores", "Training": "paths", "Generalization": "correlation-by-k"}
    for address, key in last.items():
        page.goto(f"{app.url}/{address}")
        wait_for_chart(page, key)
        assert page.evaluate(COVERED) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WIDER, width) == []


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_maps_of_all_rates_are_equal_squares(visit: Visit, width: int) -> None:
    page = visit("/Vision", width=width)
    wait_for_chart(page, "maps")
    maps = page.locator(".st-key-maps .heatmaplayer")
    expect(maps).to_have_count(4)
    sides = [(box["width"], box["height"]) for one in maps.all() if (box := one.bounding_box())]
    assert all(side == pytest.approx(sides[0][0], abs=2) for both in sides for side in both)


def test_the_sidebar_begins_at_the_links_on_each_page(visit: Visit) -> None:
    page = visit("/Depth", height=500)
    wait_for_chart(page, "mosaic")
    side = page.get_by_test_id("stSidebarContent")
    side.evaluate("side => { side.scrollTop = 300 }")
    page.locator(".st-key-pages-aside").get_by_role("link", name="Tokens").dispatch_event("click")
    wait_for_chart(page, "tokens")
    expect(page.locator(".st-key-pages-aside [aria-current=page]")).to_have_text("Tokens")
    assert side.evaluate("side => side.scrollTop") == 0


@pytest.mark.parametrize(
    ("address", "key"),
    [("/Depth", "angles"), ("/Tokens", "singular-values"), ("/Training", "paths")],
)
def test_the_tab_key_comes_to_all_that_can_be_used(visit: Visit, address: str, key: str) -> None:
    page = visit(address, width=1280, height=720)
    wait_for_chart(page, key)
    assert tab_through(page) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_fault(visit: Visit, app: App, scheme: str) -> None:
    page = visit("/_stcore/health", width=1280, height=720, color_scheme=scheme)
    found: dict[str, list[object]] = {}
    told: list[str] = []
    page.on("console", lambda one: told.append(one.text))
    for title, path in PAGES.items():
        name = path.rpartition("/")[2].removesuffix(".py").partition("_")[2]
        page.goto(f"{app.url}/{'' if title == 'Start' else name}")
        found[title] = faults(page)
    assert {title: what for title, what in found.items() if what} == {}
    assert [one for one in told if "WebGL" not in one] == []  # of the browser's driver
