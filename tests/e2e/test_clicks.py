"""What a click selects on the figures of every page, and what its link shows somebody else."""

import re
from collections.abc import Callable
from functools import partial

import on_screen
import pytest
from accessible import AT_REST
from driving import App, Visit, wait_for_chart
from playwright.sync_api import Browser, Page, expect
from sweep_table import sweep_of, zoo

from coupling_core import Question
from coupling_core.experiments.sweeps.report import report

pytestmark = pytest.mark.slow

MOST_NODES = 5000
TABLE = sweep_of(zoo())
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"

Click = Callable[[Page, str], object]


def at(x: float, y: float) -> Click:
    """A click at a point, in units of the axes."""
    return lambda page, key: on_screen.click_point(page, key, x, y)


def cell(row: int, column: int) -> Click:
    """A click into a corner of a cell of a map, once nothing moves it any more."""

    def click(page: Page, key: str) -> None:
        page.wait_for_function(AT_REST)
        page.mouse.click(*on_screen.places(page, key, (row, column))[4])

    return click


TWIN = "0dbb4409f073f349a9efa8acb9bc2349-k50-v24"
"""The untrained twin of the first result that ships."""
CASES = {
    "edge": ("/Layer_graph?threshold=0.1", "graph", at(20.5, 19), "block=11&basis=30"),
    "node": ("/Layer_graph", "graph", at(21, 0), "block=21&basis=30"),
    "tokens": ("/Tokens", "tokens", at(3, 6), "token=7&other=4$"),
    "path": (
        "/Trajectories",
        "paths",
        partial(on_screen.click_loneliest, trace="picks", name="6"),
        "token=6",
    ),
    "compare": (f"/Compare?b={TWIN}", "map-A-B", cell(9, 21), "block=9&basis=21&"),
    "mosaic": ("/Depth", "mosaic", cell(1, 8), "block=9&basis=16"),
    "some blocks": ("/Depth?blocks=3-7", "scores", cell(2, 4), "block=4&basis=6"),
    "training": ("/Training?step=64", "scores", at(1, 3), "block=4&basis=2"),
    "patch": ("/Vision", "picture", at(3.0, 10.0), r"patch=6\b"),
}
"""Address, key of the figure, where it is clicked, and what comes into the link."""


@pytest.mark.parametrize(("address", "key", "click", "expected"), CASES.values(), ids=CASES)
def test_a_click_goes_into_a_link_that_shows_the_same_figures(
    visit: Visit, app: App, address: str, key: str, click: Click, expected: str
) -> None:
    page = visit("/_stcore/health")
    asked = on_screen.asked_of_others(page, app.url)
    page.goto(app.url + address)
    wait_for_chart(page, key)
    click(page, key)
    expect(page).to_have_url(re.compile(expected))
    other = visit(page.url.removeprefix(app.url))
    wait_for_chart(other, key)
    on_screen.expect_the_same_figures(page, other)
    assert page.evaluate(on_screen.NODES) < MOST_NODES
    assert asked == []
    expect(page.get_by_test_id("stException")).to_have_count(0)


@pytest.mark.parametrize(
    ("address", "key"),
    [("/", "scores"), ("/Layer_graph", "graph"), ("/Trajectories", "paths"), ("/Depth", "mosaic")],
)
def test_a_drag_moves_no_figure_and_selects_nothing(visit: Visit, address: str, key: str) -> None:
    page = visit(address)
    wait_for_chart(page, key)
    page.locator(f".st-key-{key} .nsewdrag").first.scroll_into_view_if_needed()
    before = on_screen.frame(page, key)
    on_screen.hear_no_question(page)
    on_screen.drag(page, key)
    page.wait_for_timeout(1000)
    assert page.evaluate("asked") == 0
    assert on_screen.frame(page, key) == before


def test_a_report_opens_without_the_network_and_runs_no_name(browser: Browser, tmp_path) -> None:
    hostile = {"model": {"Alpha-0": HOSTILE}, "family": {"Beta": HOSTILE}}
    plan = {"title": HOSTILE, "origins": [{"source": HOSTILE, "n": 1, "sha256": HOSTILE}]}
    path = tmp_path / "report.html"
    path.write_bytes(report(plan, TABLE.replace(hostile), Question(4)))
    context = browser.new_context()
    page, said = context.new_page(), []
    asked = on_screen.asked_of_others(page, path.as_uri())
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelectorAll('[role=img] .main-svg').length >= 10")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    assert (asked, said) == ([], [])
    context.close()
