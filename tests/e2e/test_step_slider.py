"""The Training page in a browser: what the slider moves, what it leaves alone, and the link."""

import json
import re

import pytest
from driving import App, Visit, click_point, wait_for_chart
from playwright.sync_api import Locator, Page, expect

from coupling_core.sources.suites import find_suite

STEPS = find_suite("mini-64").steps
FIGURES = ("corrected", "loss", "scores", "graph", "paths")


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Training step")


def rest_at(page: Page, step: int) -> None:
    """Wait until all maps show a step."""
    expect(page.get_by_text(re.compile(f"^Step {step:,}: mean"))).to_be_visible()
    page.wait_for_function(
        """step => ["scores", "graph", "paths"].every(key => {
            const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
            return plot?.layout?.meta?.alt.includes(`@step${step} `);
        })""",
        arg=step,
    )


def numbers(page: Page, key: str) -> str:
    """What a figure draws."""
    return page.evaluate(
        """key => JSON.stringify(document.querySelector(`.st-key-${key} .js-plotly-plot`).data
            .map(t => [t.name, t.x, t.y, t.z]))""",
        key,
    )


def frame(page: Page) -> str:
    """Ranges of axes and colours, and the places of the plots on the page, once all are drawn.

    Plotly draws in several turns, and settles ranges and margins in the later ones: what counts is
    what no longer changes.
    """
    drawn = page.wait_for_function(
        """keys => {
            const plots = keys.map(key =>
                document.querySelector(`.st-key-${key} .js-plotly-plot`));
            const now = plots.every(plot => plot?._fullLayout) && JSON.stringify(plots.map(plot => {
                const {xaxis, yaxis, _size: size} = plot._fullLayout;
                const maps = plot.data.filter(trace => trace.type === "heatmap");
                return [xaxis.range, yaxis.range, size, maps.map(map => [map.zmin, map.zmax])];
            }));
            const before = window.frameBefore;
            window.frameBefore = now;
            return now === before && now;
        }""",
        arg=FIGURES,
        polling=200,
    )
    return drawn.json_value()


@pytest.mark.parametrize(
    "steps", [STEPS[5:10], pytest.param(STEPS, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_every_step_is_shown_in_the_same_frame(visit: Visit, steps: tuple[int, ...]) -> None:
    page = visit(f"/Training?step={steps[0]}")
    wait_for_chart(page, "paths")
    frames, drawn = set(), set()
    for step in steps:
        rest_at(page, step)
        frames.add(frame(page))
        drawn.add(numbers(page, "scores"))
        expect(page).to_have_url(re.compile(rf"step={step}\b") if step else re.compile("Training$"))
        slider(page).press("ArrowRight")
    assert len(frames) == 1, "\n".join(frames)
    assert len(drawn) == len(steps)


@pytest.mark.slow
def test_a_link_shows_the_same_numbers(visit: Visit) -> None:
    page = visit("/Training?by=locality&step=256")
    wait_for_chart(page, "locality")
    slider(page).press("ArrowLeft")
    rest_at(page, 128)
    page.get_by_role("radio", name="Paths").click()
    wait_for_chart(page, "line-shape")
    expect(page).to_have_url(re.compile("step=128&by=paths"))
    fresh = visit(page.url.split("/", 3)[-1].join(("/", "")))
    rest_at(fresh, 128)
    wait_for_chart(fresh, "line-shape")
    for key in ("scores", "graph", "paths", "line-shape", "expodistance"):
        assert numbers(fresh, key) == numbers(page, key)


@pytest.mark.slow
def test_figures_follow_while_the_mouse_is_down(visit: Visit) -> None:
    page = visit("/Training")
    rest_at(page, 0)
    box = slider(page).bounding_box()
    assert box is not None

    def at(index: int) -> tuple[float, float]:
        whole = box["width"] - 16  # the thumb stays inside
        return box["x"] + 8 + whole * index / (len(STEPS) - 1), box["y"] + box["height"] / 2

    page.mouse.move(*at(0))
    page.mouse.down()
    page.mouse.move(*at(5), steps=5)
    rest_at(page, 16)
    page.mouse.move(*at(7), steps=5)
    rest_at(page, 64)
    expect(page).to_have_url(re.compile("Training$"))  # one entry of the history a drag
    page.mouse.up()
    expect(page).to_have_url(re.compile("step=64$"))


@pytest.mark.slow
def test_it_plays_to_the_end_and_stops(visit: Visit) -> None:
    page = visit("/Training?step=1000")
    rest_at(page, 1000)
    page.get_by_role("button", name="Play").click()
    for step in (2000, 3000, 4000):
        rest_at(page, step)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page).to_have_url(re.compile("step=4000$"))


@pytest.mark.slow
def test_it_pauses(visit: Visit) -> None:
    page = visit("/Training")
    rest_at(page, 0)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text(re.compile("^Step 0: mean"))).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    expect(page).to_have_url(re.compile(r"step=[1-9]\d*$"))
    step = int(page.url.split("=")[-1])
    page.wait_for_timeout(1500)  # longer than a step lasts
    rest_at(page, step)


@pytest.mark.slow
def test_back_undoes_a_step(visit: Visit) -> None:
    page = visit("/Training?step=16")
    rest_at(page, 16)
    page.get_by_role("button", name="Next step").click()
    rest_at(page, 32)
    expect(page).to_have_url(re.compile("step=32$"))
    page.go_back()
    rest_at(page, 16)
    expect(slider(page)).to_have_value("5")


@pytest.mark.slow
@pytest.mark.parametrize("step", [64, 4000])
def test_a_click_on_a_curve_goes_to_its_step(visit: Visit, step: int) -> None:
    page = visit("/Training?step=16")
    rest_at(page, 16)
    wait_for_chart(page, "corrected")
    y = page.evaluate(
        """step => {
            const plot = document.querySelector(".st-key-corrected .js-plotly-plot");
            const line = plot._fullData.find(trace => trace.customdata);
            return line.y[Array.from(line.customdata).indexOf(step)];
        }""",
        step,
    )
    click_point(page, "corrected", step, y)
    rest_at(page, step)
    expect(slider(page)).to_have_attribute("aria-valuetext", f"step {step:,}")


@pytest.mark.slow
def test_a_click_on_the_map_selects_a_pair_and_depth_shows_it(visit: Visit) -> None:
    page = visit("/Training?step=64")
    rest_at(page, 64)
    click_point(page, "scores", 1, 3)  # column 2, row 4
    expect(page).to_have_url(re.compile("block=4&basis=2"))
    page.get_by_role("button", name="This step on Depth").click()
    expect(page.get_by_role("heading", name="Block 4 in the basis of block 2")).to_be_visible()
    expect(page).to_have_url(re.compile(r"mini-64&rev=step64.*k=8"))


@pytest.mark.slow
def test_an_own_prompt_is_measured_at_every_step(visit: Visit, app: App) -> None:
    page = visit("/Training?prompt=A+farmer+walks+home")
    page.get_by_role("button", name="Compute all 15 steps").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    rest_at(page, 0)
    expect(page.get_by_role("button", name=re.compile("^Compute"))).to_have_count(0)
    assert len(app.results) == 2 * len(STEPS)
    line = json.loads(numbers(page, "corrected"))[-2]
    assert len(line[2]) == len(STEPS)
    assert None not in line[2]
