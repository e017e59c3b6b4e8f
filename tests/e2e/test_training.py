"""The slider of the page Training."""

import re

import pytest
from driving import Visit, wait_for_chart
from on_screen import click_point, data, expect_step
from playwright.sync_api import Locator, Page, expect

from coupling_core.sources.suites import find_suite

pytestmark = pytest.mark.slow

STEPS = find_suite("mini-64").steps
MAPS = ("scores", "graph", "paths")
FIGURES = ("corrected", "loss", *MAPS)
FRAME = """keys => {
  const plots = keys.map(key => document.querySelector(`.st-key-${key} .js-plotly-plot`));
  const now = plots.every(plot => plot?._fullLayout) && JSON.stringify(plots.map(plot => {
    const {xaxis, yaxis, _size: size} = plot._fullLayout;
    const maps = plot.data.filter(trace => trace.type === "heatmap");
    return [xaxis.range, yaxis.range, size, maps.map(map => [map.zmin, map.zmax])];
  }));
  const before = window.frameBefore;
  window.frameBefore = now;
  return now === before && now;
}"""
"""Ranges of axes and colours, and the places of plots, once they no longer change: plotly draws in
several turns, and settles ranges and margins in the later ones."""


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Training step")


def test_every_step_is_shown_in_the_same_frame(visit: Visit) -> None:
    page = visit("/Training?step=0")
    wait_for_chart(page, "paths")
    frames, drawn = set(), set()
    for step in STEPS:
        expect_step(page, step, *MAPS)
        frames.add(page.wait_for_function(FRAME, arg=FIGURES, polling=200).json_value())
        drawn.add(data(page, "scores"))
        slider(page).press("ArrowRight")
    assert len(frames) == 1, "\n".join(frames)
    assert len(drawn) == len(STEPS)


def test_back_undoes_a_step_and_figures_follow_the_mouse(visit: Visit) -> None:
    page = visit("/Training")
    expect_step(page, 0, *MAPS)
    page.get_by_role("button", name="Next step").click()
    expect_step(page, STEPS[1], *MAPS)
    expect(page).to_have_url(re.compile(f"step={STEPS[1]}$"))
    page.go_back()
    expect_step(page, 0, *MAPS)
    expect(slider(page)).to_have_value("0")
    box = slider(page).bounding_box()
    assert box is not None

    def at(index: int) -> tuple[float, float]:
        whole = box["width"] - 16  # the thumb stays inside
        return box["x"] + 8 + whole * index / (len(STEPS) - 1), box["y"] + box["height"] / 2

    page.mouse.move(*at(0))
    page.mouse.down()
    for index in (5, 7):
        page.mouse.move(*at(index), steps=5)
        expect_step(page, STEPS[index], *MAPS)
    expect(page).to_have_url(re.compile("Training$"))  # one entry of the history a drag
    page.mouse.up()
    expect(page).to_have_url(re.compile(f"step={STEPS[7]}$"))
    wait_for_chart(page, "corrected")
    y = page.evaluate(
        """step => {
            const plot = document.querySelector(".st-key-corrected .js-plotly-plot");
            const line = plot._fullData.find(trace => trace.customdata);
            return line.y[Array.from(line.customdata).indexOf(step)];
        }""",
        4000,
    )
    click_point(page, "corrected", 4000, y)
    expect_step(page, 4000, *MAPS)
    expect(slider(page)).to_have_attribute("aria-valuetext", "step 4,000")


def test_it_plays_pauses_and_stops_at_the_end(visit: Visit) -> None:
    page = visit("/Training")
    expect_step(page, 0, *MAPS)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text(re.compile("^Step 0: mean"))).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    expect(page).to_have_url(re.compile(r"step=[1-9]\d*$"))
    step = int(page.url.split("=")[-1])
    page.wait_for_timeout(1500)  # longer than a step lasts
    expect_step(page, step, *MAPS)
    page.get_by_role("button", name="Play").click()
    expect_step(page, STEPS[-1], *MAPS)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page).to_have_url(re.compile(f"step={STEPS[-1]}$"))
