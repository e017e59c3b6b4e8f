"""A lesson from its making to its sheets, and the files of the tour, read without a network."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import IDLE_DEMO, Visit, wait_for_chart
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader

from explorer.pages.tour.stops import ALL

SETTINGS = IDLE_DEMO
LONGEST = 180_000
"""Milliseconds for a file."""


def fill(page: Page, label: str, text: str) -> None:
    page.get_by_role("textbox", name=label, exact=True).fill(text)
    page.keyboard.press("Tab")


def taken(page: Page, label: str, folder: Path) -> Path:
    """The file of a download button."""
    with page.expect_download(timeout=LONGEST) as download:
        page.get_by_role("button", name=label).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


def drawn(page: Page, path: Path) -> int:
    """How many figures a file draws, without a network and without an error."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=LONGEST)
    assert errors == []
    return page.locator(".js-plotly-plot").count()


NUMBERS = """() => {
  const map = document.querySelector(".js-plotly-plot").data.find(one => one.type === "heatmap");
  return Array.from(map.z, row => Array.from(row));
}"""
"""Of the first map."""


def test_a_lesson_goes_round(visit: Visit, offline: Page, tmp_path: Path) -> None:
    page = visit("/Classroom")
    fill(page, "Title", "One hour")
    page.get_by_role("button", name="Add a task").click()
    fill(page, "Question", "Which blocks are coupled?")
    fill(page, "Answer (only you see it)", "Those in the middle.")
    link = page.locator("[data-testid=stCode] code")
    expect(link).to_be_visible()
    address = re.match(r"https?://[^/]+", page.url)
    assert address
    fill(page, "Link to its figure", f"{address[0]}/Depth?block=9&basis=14")
    page.get_by_label("Figures on the sheet").wait_for()
    sheet = taken(page, "Tasks to print", tmp_path)
    answers = taken(page, "Answers to print", tmp_path)
    assert drawn(offline, sheet) == drawn(offline, answers) == 1
    assert "Those in the middle." in answers.read_text()
    assert "Those in the middle." not in sheet.read_text()
    for path in (sheet, answers):
        assert "Which blocks are coupled?" in path.read_text()
        assert "SmolLM2" in path.read_text()
    lesson = taken(page, "Lesson (.toml)", tmp_path)
    students = visit(link.inner_text().removeprefix(address[0]))
    students.get_by_role("button", name="Open its figure, on Depth").click()
    expect(students.get_by_text("Task 1 of 1.")).to_be_visible()
    wait_for_chart(students, "matrix")
    assert "block=9" in students.url
    assert drawn(offline, sheet) == 1
    assert offline.evaluate(NUMBERS) == students.evaluate(NUMBERS)
    assert "draft" not in students.url
    students.go_back()
    expect(students.get_by_text("they are not collected here")).to_be_visible()
    students.go_forward()
    expect(students.get_by_text("Task 1 of 1.")).to_be_visible()
    wait_for_chart(students, "matrix")
    anew = visit("/Classroom")
    anew.locator("input[type=file]").set_input_files(lesson)
    expect(anew.get_by_role("textbox", name="Answer (only you see it)")).to_have_value(
        "Those in the middle."
    )


@pytest.mark.slow
def test_the_tour_is_taken_home(visit: Visit, offline: Page, tmp_path: Path) -> None:
    page = visit("/Tour")
    page.get_by_role("button", name="Take the tour with you").click()
    read = taken(page, "To read (.html)", tmp_path)
    assert drawn(offline, read) == 15
    for stop in ALL:
        expect(offline.get_by_text(stop.title).first).to_be_visible()
        expect(offline.get_by_text(stop.question).first).to_be_visible()
    slides = PdfReader(io.BytesIO(taken(page, "Slides (.pdf)", tmp_path).read_bytes()))
    told = [" ".join(one.extract_text().split()) for one in slides.pages]
    assert len(told) == 2 * len(ALL) + 15 + 1
    assert sum("of 8." in text for text in told) == len(told) - 1
    assert "What you know now" in told[-1]
