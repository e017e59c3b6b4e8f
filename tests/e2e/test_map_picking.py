"""Every cell of a map answers for itself at any width, by mouse and by touch; no map moves."""

import random
import re
from collections.abc import Iterator

import pytest
from driving import DOUBLE_CLICK, WAIT, App, Visit, wait_for_chart
from playwright.sync_api import Browser, Page, expect

from explorer.panels.page import GROUPS

WIDTHS = (390, 768, 1024, 1280, 1440, 1920)
WIDE = 1280
PLACES = 5
"""Of a cell: its middle and its corners."""

BASIS = "Block l' (basis)"

WHERE = """([key, [row, column]]) => {
  const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
  const {xaxis, yaxis} = plot._fullLayout;
  const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
  const {x, y} = plot._fullData.find(trace => trace.name === 'pairs');
  const ends = (start, axis, middles, at) => [-0.5, 0, 0.5].map(way =>
    start + axis.d2p(middles[at - 1] + way * (middles[1] - middles[0])));
  const [left, centre, right] = ends(area.x, xaxis, x, column);
  const [top, middle, bottom] = ends(area.y, yaxis, y, row);
  const [first, last] = [Math.ceil(left), Math.ceil(right) - 1];
  const [upper, lower] = [Math.ceil(top), Math.ceil(bottom) - 1];
  return [[Math.round(centre), Math.round(middle)],
    [first, upper], [last, upper], [first, lower], [last, lower]];
}"""
"""The pixels in the middle and in the four corners of a cell, as the screen has them."""

LISTEN = """() => {
  const send = WebSocket.prototype.send;
  window.asked = 0;
  WebSocket.prototype.send = function (...said) {
    window.asked += 1;
    return send.apply(this, said);
  };
}"""
"""From now on, how often the page asks the server for something."""

INTO_VIEW = """key => document.querySelector(`.st-key-${key}`)
  .scrollIntoView({block: 'nearest', behavior: 'instant'})"""

OUTLINED = """column => {
  const plot = document.querySelector('.st-key-scores .js-plotly-plot');
  const outline = plot?._fullLayout?.shapes.find(shape => shape.name === 'selected');
  return outline && Math.round((outline.x0 + outline.x1) / 2) === column - 1;
}"""
"""Whether the map is drawn with a pair of this column selected."""

BLOCKS = """([key, [row, column]]) => document.querySelector(`.st-key-${key} .js-plotly-plot`)
  ._fullData.find(trace => trace.name === 'pairs').customdata[row - 1][column - 1]"""
"""Which pair a cell is of; a map of part of the blocks begins at another one than 1."""

HOVERED = """key => document.querySelector(`.st-key-${key} .js-plotly-plot`)
  ._hoverdata?.map(({trace, customdata}) => [...customdata])[0]"""
"""Which pair lies under the pointer."""


@pytest.fixture
def touch(browser: Browser, app: App) -> Iterator[Visit]:
    """Open an address on a phone, or on a tablet."""
    contexts = []

    def come(address: str = "/", width: int = 390, height: int = 844, ratio: int = 2) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            has_touch=True,
            is_mobile=width < 768,
            device_scale_factor=ratio,
        )
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()
        page.goto(app.url + address)
        return page

    yield come
    for context in contexts:
        context.close()


def places(page: Page, key: str, cell: tuple[int, int]) -> list[tuple[int, int]]:
    """The middle and the corners of a cell on the screen; the map is brought into view."""
    page.evaluate(INTO_VIEW, key)
    return [(x, y) for x, y in page.evaluate(WHERE, [key, cell])]


def spread(page: Page, key: str, count: int) -> list[tuple[int, int]]:
    """Cells all over a map, the same at each run; none of them on its diagonal."""
    wait_for_chart(page, key)
    n = page.evaluate(
        """key => document.querySelector(`.st-key-${key} .js-plotly-plot`)._fullData
            .find(trace => trace.name === 'pairs').customdata.length""",
        key,
    )
    cells = [(row, column) for row in range(1, n + 1) for column in range(1, n + 1)]
    return random.Random(0).sample(
        [(i, j) for i, j in cells if i not in (j, 12) and j != 11], count
    )


@pytest.mark.parametrize(
    "width", [pytest.param(w, marks=[pytest.mark.slow] * (w != WIDE)) for w in WIDTHS]
)
@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("/", "scores"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("/Training", "scores"), ("/Compare", "map-A-B"), ("/Depth", "mosaic"))
        ),
    ],
)
def test_the_pointer_is_told_of_the_cell_that_it_is_in(
    visit: Visit, address: str, key: str, width: int
) -> None:
    page = visit(address, width=width)
    wrong = []
    for cell in spread(page, key, 12):
        pair = page.evaluate(BLOCKS, [key, cell])
        for x, y in places(page, key, cell):
            page.mouse.move(x, y)
            page.wait_for_timeout(60)  # plotly looks where the pointer is once in 50 ms
            found = page.evaluate(HOVERED, key)
            if found != pair:
                wrong.append((cell, (x, y), found))
    assert wrong == []


@pytest.mark.parametrize(
    ("width", "count"), [(WIDE, 1), *(pytest.param(w, 8, marks=pytest.mark.slow) for w in WIDTHS)]
)
def test_a_click_anywhere_in_a_cell_selects_its_pair(visit: Visit, width: int, count: int) -> None:
    page = visit("/", width=width)
    for cell in spread(page, "scores", count):
        for at in range(PLACES):
            elsewhere(page)
            page.mouse.click(*places(page, "scores", cell)[at])
            expect_selected(page, cell)


@pytest.mark.parametrize("ratio", [1, 2, 3])
@pytest.mark.slow
def test_the_pixel_ratio_makes_no_difference(touch: Visit, ratio: int) -> None:
    page = touch("/", ratio=ratio)
    (cell,) = spread(page, "scores", 1)
    for at in range(PLACES):
        elsewhere(page)
        page.touchscreen.tap(*places(page, "scores", cell)[at])
        expect_selected(page, cell)


def expect_selected(page: Page, cell: tuple[int, int]) -> None:
    """Wait until a pair is selected, and the page drawn anew: its inputs come last."""
    row, column = cell
    expect(page).to_have_url(re.compile(rf"block={row}&basis={column}$"))
    expect(page.get_by_label(BASIS)).to_have_value(str(column))
    at_rest(page, column)


def at_rest(page: Page, column: int) -> None:
    """Wait until the map is drawn anew with a pair of this column: a click before that is lost."""
    page.wait_for_function(OUTLINED, arg=column)
    wait_for_chart(page, "scores")


def elsewhere(page: Page) -> None:
    """Select a pair that no test asks for, so that the next click has something to change."""
    page.get_by_label(BASIS).fill("11")
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile("basis="))
    at_rest(page, 11)


def frame(page: Page, key: str) -> object:
    """The ranges of a figure's axes."""
    return page.evaluate(
        """key => {
            const {xaxis, yaxis} = document.querySelector(
                `.st-key-${key} .js-plotly-plot`)._fullLayout;
            return [xaxis.range, yaxis.range];
        }""",
        key,
    )


@pytest.mark.parametrize(
    ("width", "count"), [(390, 1), *(pytest.param(w, 6, marks=pytest.mark.slow) for w in WIDTHS)]
)
def test_one_tap_selects_a_cell(touch: Visit, width: int, count: int) -> None:
    page = touch("/", width=width)
    for cell in spread(page, "scores", count):
        for at in range(PLACES):
            elsewhere(page)
            page.touchscreen.tap(*places(page, "scores", cell)[at])
            expect_selected(page, cell)


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("/", "scores"),
        ("/Layer_graph", "graph"),
        ("/Trajectories", "paths"),
        ("/Depth", "mosaic"),
    ],
)
@pytest.mark.slow
def test_a_drag_moves_no_figure_and_selects_nothing(visit: Visit, address: str, key: str) -> None:
    page = visit(address)
    wait_for_chart(page, key)
    area = page.locator(f".st-key-{key} .nsewdrag").first
    area.scroll_into_view_if_needed()
    before = frame(page, key)
    box = area.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 90, steps=5)
    page.mouse.up()
    page.mouse.dblclick(x, y + box["height"] * 0.05)
    wait_for_chart(page, key)
    assert frame(page, key) == before
    page.mouse.move(x, y)
    page.wait_for_timeout(DOUBLE_CLICK)  # plotly knows what lies there, and would tell of a click
    page.mouse.down()
    page.mouse.move(x + 60, y + 90, steps=5)
    page.evaluate(LISTEN)
    page.mouse.up()
    page.wait_for_timeout(DOUBLE_CLICK)
    assert page.evaluate("asked") == 0


@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.slow)])
def test_a_swipe_over_a_map_scrolls_the_page_and_selects_nothing(touch: Visit, width: int) -> None:
    page = touch("/", width=width)
    cell, other = spread(page, "scores", 2)
    page.touchscreen.tap(*places(page, "scores", other)[0])  # plotly remembers where it was
    expect_selected(page, other)
    x, y = places(page, "scores", cell)[0]
    before, top = frame(page, "scores"), scrolled(page)
    page.evaluate(LISTEN)
    swipe(page, x, y, -240)
    page.wait_for_timeout(DOUBLE_CLICK)
    assert page.evaluate("asked") == 0
    assert scrolled(page) > top + 150
    assert frame(page, "scores") == before
    expect(page.locator(".st-key-scores .heatmaplayer image").first).to_be_attached()


def scrolled(page: Page) -> float:
    """How far the page is scrolled."""
    return float(page.get_by_test_id("stMain").evaluate("main => main.scrollTop"))


def swipe(page: Page, x: float, y: float, by: int) -> None:
    """A finger put down, moved up or down by so many pixels, and lifted."""
    browser = page.context.new_cdp_session(page)

    def finger(kind: str, *at: dict[str, float]) -> None:
        browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(at)})

    finger("touchStart", {"x": x, "y": y})
    for step in range(1, 13):
        finger("touchMove", {"x": x, "y": y + by * step / 12})
        page.wait_for_timeout(16)
    finger("touchEnd")


def test_on_a_phone_the_pages_are_a_menu_of_groups(touch: Visit) -> None:
    page = touch("/?k=20")
    wait_for_chart(page, "scores")
    page.locator(".st-key-pages-menu button").tap()
    menu = page.locator(".st-key-pages-listed")
    for group in GROUPS:
        expect(menu.get_by_text(group, exact=True)).to_be_visible()
    expect(menu.locator("[aria-current=page]")).to_have_text("Start")
    menu.get_by_role("link", name="Depth").tap()
    wait_for_chart(page, "mosaic")
    assert "k=20" in page.url
    expect(menu).to_have_count(0)
    box = page.get_by_test_id("stSidebar").bounding_box()
    assert box is None or box["x"] + box["width"] <= 0 or box["width"] == 0  # no drawer over it


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("/Training", "paths"),
        pytest.param("/", "scores", marks=pytest.mark.slow),
        pytest.param("/Generalization", "correlation-by-k", marks=pytest.mark.slow),
    ],
)
def test_the_buttons_of_a_figure_cover_none_of_its_words(
    touch: Visit, width: int, address: str, key: str
) -> None:
    page = touch(address, width=width)
    wait_for_chart(page, key)
    assert page.evaluate(COVERED) == []


COVERED = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
  const bar = plot.querySelector('.modebar')?.getBoundingClientRect();
  const words = [...plot.querySelectorAll('.infolayer text, .legend text, .xtick text')]
    .filter(word => getComputedStyle(word).visibility !== 'hidden');
  return words.filter(word => {
    const box = word.getBoundingClientRect();
    return bar && box.width && box.left < bar.right && bar.left < box.right
      && box.top < bar.bottom && bar.top < box.bottom;
  }).map(word => word.textContent);
})"""
"""The words of figures that their buttons lie on."""


def test_the_sidebar_begins_at_the_links_on_each_page(visit: Visit) -> None:
    page = visit("/Depth", height=500)
    wait_for_chart(page, "mosaic")
    side = page.get_by_test_id("stSidebarContent")
    side.evaluate("side => { side.scrollTop = 300 }")
    page.locator(".st-key-pages-aside").get_by_role("link", name="Tokens").dispatch_event("click")
    wait_for_chart(page, "tokens")
    expect(page.locator(".st-key-pages-aside [aria-current=page]")).to_have_text("Tokens")
    assert side.evaluate("side => side.scrollTop") == 0


def test_on_a_phone_the_figure_comes_before_what_changes_it(touch: Visit) -> None:
    page = touch("/Depth")
    wait_for_chart(page, "mosaic")
    box = page.locator(".st-key-mosaic").bounding_box()
    assert box is not None
    assert box["y"] < 200
    assert page.get_by_role("radio", name="Magnitude").bounding_box()["y"] > box["y"] + 300
