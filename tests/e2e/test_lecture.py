"""In class, in a demo that may compute nothing: the tour, present mode, and a lesson."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from accessible import tab_to
from driving import IDLE_DEMO, App, Visit, serving, taken, wait_for_chart
from playwright.sync_api import Page, expect

from explorer.pages.tour.stops import ALL

FIRST = (
    *("reaction", "in-the-other-basis", "untrained", "trained"),
    *("matrix-untrained", "random-bases", "loss", "exchange", "map-640"),
)
"""A figure of each stop."""

SMALL = """() => [...document.querySelectorAll(
    '.stMain :is(p, li, label, h1, h2, button), .js-plotly-plot text')]
  .filter(one => one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && one.getBoundingClientRect().width > 0 && one.textContent.trim())
  .filter(one => parseFloat(getComputedStyle(one).fontSize) < 20)"""
LARGEST_MAP = """Math.max(...[...document.querySelectorAll('.js-plotly-plot .heatmaplayer')]
  .map(one => one.getBoundingClientRect()).map(box => Math.min(box.width, box.height)))"""
NUMBERS = """() => {
  const map = document.querySelector(".js-plotly-plot").data.find(one => one.type === "heatmap");
  return Array.from(map.z, row => Array.from(row));
}"""
"""Of the first map."""
FIRST_PAINT = """
window.atFirst = 0;
new MutationObserver(() => {
  if (!window.atFirst && document.querySelector(".js-plotly-plot .main-svg"))
    window.atFirst = document.querySelectorAll(".stPlotlyChart").length;
}).observe(document, { childList: true, subtree: true });
"""
"""How many figures there are when the first is painted: others would keep it waiting."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("demo")
    with serving(folder / "store", folder / "log.txt", **IDLE_DEMO) as served:
        yield served


def take_the_tour(page: Page, width: int, begin: int = 1) -> None:
    """Guess at each stop by the keyboard alone, go on to its figure, and at the last one back."""
    for stop, figure in enumerate(FIRST[begin - 1 :], begin):
        expect(page.get_by_text(f"Stop {stop} of 9")).to_be_visible()
        first = ALL[stop - 1].answers[0]
        expect(page.get_by_role("radiogroup").filter(has_text=first)).to_have_count(1)
        expect(page.get_by_role("radiogroup")).to_have_count(1)
        tab_to(page, first)
        page.keyboard.press("Space")
        expect(page.get_by_test_id("stAlert")).to_have_count(1)
        wait_for_chart(page, figure)
        assert page.evaluate("document.body.scrollWidth") <= width
        if stop < len(FIRST):
            tab_to(page, "Next")
            page.keyboard.press("Enter")
    assert f"guesses={'0' * 9}" in page.url
    page.go_back()  # undoes the guess
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    expect(page.get_by_text("Stop 9 of 9")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Stop 8 of 9")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(390, 844, "light"), (1280, 800, "dark"), (1920, 1080, "light")],
)
def test_the_whole_tour_is_taken_by_the_keyboard(
    visit: Visit, width: int, height: int, scheme: str
) -> None:
    take_the_tour(visit("/Tour", width=width, height=height, color_scheme=scheme), width)


def expect_presented(page: Page) -> None:
    """Readable from the last row: letters and maps are large, and nothing stands beside them."""
    page.wait_for_function(f"({SMALL})().length === 0 && {LARGEST_MAP} >= 600")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    assert page.evaluate("document.body.scrollWidth") <= 1920


def test_the_tour_ends_on_a_phone_and_is_presented_by_arrow_keys(visit: Visit) -> None:
    page = visit("/Tour?stop=6&guesses=00000", width=390, height=844)
    take_the_tour(page, 390, begin=6)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.get_by_role("button", name="Present").click()
    expect_presented(page)
    assert "present=1" in page.url
    spot, main = page.locator(".present-spot"), page.get_by_test_id("stMain")
    expect(spot).to_be_attached()  # which comes with what hears keys
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 100")
    main.evaluate("main => main.scrollTo({ top: main.scrollHeight, behavior: 'instant' })")
    page.keyboard.press("ArrowRight")  # past the last figure is the next stop
    expect(page.get_by_text("Stop 9 of 9")).to_be_visible()
    page.mouse.move(400, 300)
    assert spot.evaluate("spot => getComputedStyle(spot).visibility") == "visible"
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    assert "present" not in page.url


def test_on_a_low_stage_maps_are_whole_and_no_guess_is_passed(visit: Visit) -> None:
    page = visit("/Tour?stop=4&present=1", width=1280, height=720)
    expect(page.locator(".present-spot")).to_be_attached()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Show me without a guess").click()
    wait_for_chart(page, "untrained")
    page.wait_for_function(f"{LARGEST_MAP} >= 300")
    height = page.locator(".st-key-trained").evaluate("one => one.clientHeight")
    assert height < 720
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Stop 5 of 9")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "figure"),
    [("/", "matrix-untrained"), ("/Depth", "angles"), ("/Training", "paths"),
     ("/What_if", "exchange")],
)  # fmt: skip
def test_a_page_is_presented(visit: Visit, address: str, figure: str) -> None:
    page = visit(f"{address}?present=1", width=1920, height=1080)
    wait_for_chart(page, figure)
    expect_presented(page)


def fill(page: Page, label: str, text: str) -> None:
    page.get_by_role("textbox", name=label, exact=True).fill(text)
    page.keyboard.press("Tab")


def drawn(page: Page, path: Path) -> int:
    """How many figures a file draws, without a network and without an error."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    assert errors == []
    return page.locator(".js-plotly-plot").count()


def test_a_lesson_goes_round(visit: Visit, offline: Page, tmp_path: Path) -> None:
    page = visit("/Classroom")
    fill(page, "Title", "One hour")
    page.get_by_role("button", name="Add a task").click()
    fill(page, "Question", "Which blocks are coupled?")
    fill(page, "Answer (only you see it)", "Those in the middle.")
    link = page.get_by_test_id("stCode").locator("code")
    expect(link).to_be_visible()
    address = "/".join(page.url.split("/")[:3])
    fill(page, "Link to its figure", f"{address}/Depth?block=9&basis=14")
    page.get_by_label("Figures on the sheet").wait_for()
    sheet = taken(page.get_by_role("button", name="Tasks to print"), tmp_path)
    answers = taken(page.get_by_role("button", name="Answers to print"), tmp_path)
    assert drawn(offline, sheet) == 1
    assert "Those in the middle." in answers.read_text()
    assert "Those in the middle." not in sheet.read_text()
    lesson = taken(page.get_by_role("button", name="Lesson (.toml)"), tmp_path)

    students = visit("/_stcore/health")
    students.add_init_script(FIRST_PAINT)
    students.goto(link.inner_text())
    students.get_by_role("button", name="Open its figure, on Depth").click()
    expect(students.get_by_text("Task 1 of 1.")).to_be_visible()
    wait_for_chart(students, "matrix")
    assert 1 <= students.evaluate("window.atFirst") <= 2
    expect(students).to_have_url(re.compile("block=9"))
    assert "draft" not in students.url
    assert offline.evaluate(NUMBERS) == students.evaluate(NUMBERS)
    students.go_back()
    expect(students.get_by_role("button", name="Open its figure, on Depth")).to_be_visible()

    fill(page, "Title", "Another hour")
    page.locator("input[type=file]").set_input_files(lesson)
    for label, text in ("Title", "One hour"), ("Answer (only you see it)", "Those in the middle."):
        expect(page.get_by_role("textbox", name=label, exact=True)).to_have_value(text)


@pytest.mark.slow
def test_the_tour_is_taken_home(visit: Visit, offline: Page, tmp_path: Path) -> None:
    page = visit("/Tour")
    page.get_by_role("button", name="Take the tour with you").click()
    path = taken(page.get_by_role("button", name="To read (.html)"), tmp_path)
    assert drawn(offline, path) > len(ALL)
