"""What people do with the app on their own machine, in a browser: one journey a test.

What a page says is tested without a browser (tests/app). Here is what only a browser can show:
that a click reaches what it is meant for, that a page has room, that keys and files work.
"""

import re
from pathlib import Path

import on_screen
import pytest
from accessible import COVERED, faults, tab_through, tab_to
from driving import DOUBLE_CLICK, App, Visit, come_to_rest, compute, taken, wait_for_chart
from playwright.sync_api import Page, expect

from coupling_core.sources.suites import find_suite
from coupling_core.store.archive import load
from explorer.panels.page import GROUPS

MOST_NODES = 5000
SMALL = "coupling-explorer/mini-64&rev=step256"
OWN = "/Train_one?own_blocks=2&own_width=32"
NAMED = "coupling-explorer-mini-64-step256_Nobody-asked-this-before_token-10_K-50_mosaic"
ENDINGS = (".svg", ".html", ".csv")
NEW = "Nobody asked this before"
ROW = 35
"""Height of a row and of the header of a table in pixels."""

TOUCH = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
GROUND = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"


def test_a_pair_is_chosen_by_the_mouse_and_by_the_keyboard(visit: Visit, app: App) -> None:
    page = visit("/_stcore/health", width=1280, height=720)
    asked = on_screen.asked_of_others(page, app.url)
    page.goto(app.url)
    wait_for_chart(page, "matrix-untrained")
    on_screen.expect_above_the_fold(page, 720, 200, *on_screen.MAPS)
    cell, *_ = cells = on_screen.spread(page, "scores", 3)
    on_screen.hover_everywhere(page, "scores", cells)
    for corner in (1, 4):  # the second click selects what is selected
        page.mouse.move(*on_screen.places(page, "scores", cells[1])[0])
        page.wait_for_timeout(DOUBLE_CLICK)  # plotly would take two clicks for one double click,
        page.mouse.click(*on_screen.places(page, "scores", cell)[corner])  # and looks too late
        on_screen.expect_selected(page, cell)
    page.get_by_role("link", name="Depth").click()
    title = "Block {} in the basis of block {}"
    expect(page.get_by_role("heading", name=title.format(*cell))).to_be_visible()
    page.go_back()
    on_screen.expect_selected(page, cell)
    page.go_back()
    expect(page).not_to_have_url(re.compile("basis="))
    assert page.evaluate(on_screen.NODES) < MOST_NODES
    assert asked == []

    light = page.evaluate(GROUND)
    page.emulate_media(color_scheme="dark")
    assert faults(page) == []
    assert page.evaluate(GROUND) != light
    assert tab_through(page) == ([], [])
    tab_to(page, "Block l (Jacobian)")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"block=\d+"))
    block = page.url.partition("block=")[2].partition("&")[0]
    expect(page.get_by_text(f"Blocks {block} and ").first).to_be_visible()


def test_a_tap_selects_and_a_swipe_scrolls_on_a_phone(visit: Visit) -> None:
    page = visit("/?k=20", width=390, height=844, **TOUCH)
    wait_for_chart(page, "matrix-untrained")
    on_screen.expect_above_the_fold(page, 844, 260, "scores")
    assert page.evaluate(COVERED) == []
    cell, other = on_screen.spread(page, "scores", 2)
    page.touchscreen.tap(*on_screen.places(page, "scores", other)[2])
    on_screen.expect_selected(page, other)
    x, y = on_screen.places(page, "scores", cell)[0]
    scrolled = page.get_by_test_id("stMain")
    before, top = on_screen.frame(page, "scores"), scrolled.evaluate("main => main.scrollTop")
    on_screen.hear_no_question(page)
    on_screen.swipe(page, x, y, -240)
    page.wait_for_timeout(DOUBLE_CLICK)
    assert page.evaluate("asked") == 0
    assert scrolled.evaluate("main => main.scrollTop") > top + 150
    assert on_screen.frame(page, "scores") == before
    page.locator(".st-key-pages-menu button").tap()
    menu = page.locator(".st-key-pages-listed")
    for group in GROUPS:
        expect(menu.get_by_text(group, exact=True)).to_be_visible()
    expect(menu.locator("[aria-current=page]")).to_have_text("Start")
    menu.get_by_role("link", name="Depth").tap()
    wait_for_chart(page, "mosaic")
    expect(menu).to_have_count(0)
    assert "k=20" in page.url
    side = page.get_by_test_id("stSidebar").bounding_box()
    assert side is None or side["x"] + side["width"] <= 0 or side["width"] == 0  # no drawer over it
    figure, switch = page.locator(".st-key-mosaic"), page.get_by_role("radio", name="Magnitude")
    tops = [one.evaluate("one => one.getBoundingClientRect().y") for one in (figure, switch)]
    assert tops[0] + 300 < tops[1]  # the figure comes before what changes it


def test_a_sentence_is_computed_taken_home_verified_and_deleted(
    visit: Visit, app: App, tmp_path: Path
) -> None:
    before = set(app.results)
    page = visit(f"/?model={SMALL}", color_scheme="dark")
    page.get_by_label("Your own sentence").fill(NEW)
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"\d tokens; token \d"))).to_be_visible()
    expect(page).to_have_url(re.compile(r"prompt=Nobody\+asked\+this\+before"))
    assert set(app.results) == before
    compute(page)
    wait_for_chart(page, "mosaic")
    page.locator(".st-key-tools button").first.click()  # the line that says what is drawn
    expect(page.get_by_text("8 of 8 SVDs certified")).to_be_visible()
    page.keyboard.press("Escape")
    (path,) = set(app.results) - before
    assert faults(page) == []
    take_home(page, tmp_path)

    page.get_by_role("link", name="Runs").click()
    choose_only(page, "factorial untrained smol")
    expect(page.get_by_role("button", name="Delete")).to_be_disabled()  # it ships
    assert faults(page) == []
    choose_only(page, NEW)
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("Sound: every byte")).to_be_visible()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("damaged")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("Deleted")).to_be_visible()
    assert set(app.results) == before


def take_home(page: Page, folder: Path) -> None:
    """Download the result, and a figure with its numbers: each is about this sentence."""
    page.get_by_role("button", name="Export").click()
    result = taken(page.get_by_role("button", name="Result (.safetensors)"), folder)
    assert load(result).request.prompt == NEW
    page.keyboard.press("Escape")
    mosaic = page.locator(".st-key-mosaic")
    mosaic.hover()
    svg = taken(mosaic.get_by_role("button", name="Download plot"), folder)
    assert f"“{NEW}”" in svg.read_text()
    assert set(re.findall(r"<text[^>]* fill: ([^;]*)", svg.read_text())) == {"rgb(36, 41, 47)"}
    holder = mosaic.locator("xpath=ancestor::*[contains(., 'Table and files')][1]")
    holder.get_by_text("Table and files").first.click()
    html = taken(page.get_by_role("button", name="HTML", exact=True), folder)
    assert "Plotly.newPlot" in html.read_text()
    csv = taken(page.get_by_role("button", name="CSV", exact=True), folder)
    assert [path.name for path in (svg, html, csv)] == [f"{NAMED}{end}" for end in ENDINGS]
    head, first, *_ = csv.read_text().splitlines()
    assert head.startswith(",block,basis,coupling,chance,corrected,model,prompt")
    assert NEW in first


def choose_only(page: Page, words: str) -> None:
    """Search for one result, and tick it."""
    table = page.get_by_test_id("stDataFrame")
    expect(table.locator("canvas").first).to_be_visible()
    page.get_by_label("Search", exact=True).fill(words)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Verify")).to_have_count(0)  # of what was ticked before
    expect(page.get_by_text(re.compile("^1 of "))).to_be_visible()
    come_to_rest(page)
    expect(table).to_have_count(1)  # for a moment, the one before stands beside it
    table.click(position={"x": ROW / 2, "y": 1.5 * ROW})


def train(page: Page) -> None:
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("my-run-1: step")).to_be_visible()
    expect(page.locator(".st-key-map-my-run-1 .main-svg").first).to_be_visible()


def test_a_model_is_trained_until_it_is_cancelled_and_steps_are_looked_at(
    visit: Visit, home: Path
) -> None:
    page = visit(OWN)
    train(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_test_id("stAlert").get_by_text("cancelled")).to_be_visible()
    assert list(home.rglob("step*")) == []
    page.get_by_role("link", name="Training", exact=True).click()
    wait_for_chart(page, "scores")
    assert faults(page) == []
    slider = page.get_by_role("slider", name="Training step")
    drawn, frames = set(), set()
    for step in find_suite("mini-64").steps[:3]:
        on_screen.expect_step(page, step, "scores")
        frames.add(str(on_screen.frame(page, "scores")))
        drawn.add(on_screen.data(page, "scores"))
        slider.press("ArrowRight")
    assert (len(frames), len(drawn)) == (1, 3)
    come_to_rest(page)
    page.get_by_role("button", name="This step on Depth").click()
    wait_for_chart(page, "mosaic")


@pytest.mark.slow
def test_a_model_that_was_trained_is_a_run_like_others(visit: Visit) -> None:
    page = visit(OWN)
    train(page)
    expect(page.get_by_text("on other pages")).to_be_visible()
    page.get_by_role("button", name="Training", exact=True).click()
    wait_for_chart(page, "scores")  # stored: nothing has to be computed
    assert "my-run-1" in page.url
