"""The Trajectories page in a browser: a click on a path selects its token, on every page."""

import re

import pytest
from driving import DOUBLE_CLICK, Visit, wait_for_chart
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

MOST_NODES = 5000

WHERE = """key => {
  const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
  const points = plot.calcdata.find(points => points[0].trace.name === 'picks');
  const {xaxis, yaxis} = plot._fullLayout, {customdata} = points[0].trace;
  const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
  return points.map((point, i) => ({
    number: Number(customdata[i]),
    x: xaxis.d2p(point.x) + area.x, y: yaxis.d2p(point.y) + area.y}));
}"""
"""Where each point of each path is on the screen."""


def click_path(page: Page, key: str, token: int) -> None:
    """Click the point of a token's path that is farthest from the points of all others."""
    page.locator(f".st-key-{key}").scroll_into_view_if_needed()
    points = page.evaluate(WHERE, key)
    others = [p for p in points if p["number"] != token]

    def room(point):
        return min((point["x"] - p["x"]) ** 2 + (point["y"] - p["y"]) ** 2 for p in others)

    best = max((p for p in points if p["number"] == token), key=room)
    page.mouse.click(best["x"], best["y"])
    page.wait_for_timeout(DOUBLE_CLICK)


def test_a_click_on_a_path_selects_its_token_on_every_page_and_in_the_link(visit: Visit) -> None:
    page = visit("/Trajectories")
    wait_for_chart(page, "paths")
    click_path(page, "paths", 6)
    expect(page).to_have_url(re.compile("token=6"))
    legend = page.locator(".st-key-line-shape .legendtext")
    expect(legend.filter(has_text="token 6, “France”")).to_be_visible()
    lines = page.locator(".st-key-line-shape .scatterlayer")
    expect(lines).to_have_count(1)  # the figure before it has gone
    scores = lines.inner_html()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Depth").click()
    expect(page).to_have_url(re.compile("Depth.*token=6"))
    again = visit("/Trajectories?token=6")
    wait_for_chart(again, "line-shape")
    expect(
        again.locator(".st-key-line-shape .legendtext").filter(has_text="France")
    ).to_be_visible()
    shown = again.locator(".st-key-line-shape .scatterlayer").inner_html()
    assert _without_ids(shown) == _without_ids(scores)


def test_the_page_stays_light_and_errors_are_none(visit: Visit) -> None:
    page = visit("/Trajectories?along=growth")
    wait_for_chart(page, "norms")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_three_dimensions_go_into_the_link(visit: Visit) -> None:
    page = visit("/Trajectories")
    wait_for_chart(page, "paths")
    page.get_by_role("radio", name="3-D").click()
    expect(page).to_have_url(re.compile("dims=3"))
    # This browser may have no WebGL, and then draws nothing: the figure is there all the same.
    page.wait_for_function(
        "document.querySelector('.st-key-paths .js-plotly-plot')?.data[0].type === 'scatter3d'"
    )


def _without_ids(svg: str) -> str:
    return re.sub(r"trace[0-9a-f]{6}|clip[0-9a-z]+", "", svg)
