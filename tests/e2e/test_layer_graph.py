"""Layer graph and Compare in a browser: a click selects a pair, and a link carries it."""

import re
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import tiny
from cases import planted
from driving import App, Visit, click_cell, click_point, wait_for_chart
from playwright.sync_api import Page, expect

from coupling_core.base.records import Request
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

pytestmark = pytest.mark.slow

MOST_NODES = 5000


def told(page: Page) -> list[str]:
    """The sentences on the selected pair and on the edges."""
    return page.get_by_test_id("stMain").get_by_test_id("stMarkdown").all_inner_texts()


def drawn(page: Page) -> list[str]:
    """The numbers of every trace of every figure."""
    return page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')].map(plot => JSON.stringify("
        "plot.data.map(t => [t.name, t.x, t.y, t.z, t.text])))"
    )


def test_a_click_on_an_edge_goes_into_a_link_that_shows_the_same_numbers(visit: Visit) -> None:
    page = visit("/Layer_graph?threshold=0.1")
    wait_for_chart(page, "graph")
    click_point(page, "graph", 20.5, 19)  # the top of the arc from 11 to 30
    expect(page.get_by_role("heading", name="Blocks 11 and 30")).to_be_visible()
    expect(page).to_have_url(re.compile(r"block=11&basis=30"))
    expect(page.get_by_text("Jacobian of 30 in the basis of 11")).to_contain_text("0.559")
    wait_for_chart(page, "graph")
    fresh = visit(page.url.split("/", 3)[-1].join(("/", "")))
    wait_for_chart(fresh, "graph")
    expect(fresh.get_by_role("heading", name="Blocks 11 and 30")).to_be_visible()
    assert told(fresh) == told(page)
    assert drawn(fresh) == drawn(page)
    assert any("0.559" in text for text in told(fresh))
    fresh.get_by_role("link", name=re.compile("of this pair on Depth")).click()
    expect(fresh.get_by_role("heading", name="Block 11 in the basis of block 30")).to_be_visible()


def test_a_click_on_a_node_takes_its_strongest_partner_along(visit: Visit) -> None:
    page = visit("/Layer_graph")
    wait_for_chart(page, "graph")
    click_point(page, "graph", 21, 0)
    expect(page.get_by_role("heading", name="Blocks 21 and 30")).to_be_visible()
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Block 21 in the basis of block 30")).to_be_visible()


def test_the_slider_counts_the_edges(visit: Visit) -> None:
    page = visit("/Layer_graph?threshold=0.2")
    wait_for_chart(page, "graph")
    expect(page.get_by_text("of 435 pairs are edges, at 0.2 or more")).to_be_visible()
    page.get_by_role("slider").press("ArrowRight")
    expect(page.get_by_text("of 435 pairs are edges, at 0.21 or more")).to_be_visible()
    expect(page).to_have_url(re.compile("threshold=0.21"))


def test_the_graph_can_be_taken_home(visit: Visit) -> None:
    page = visit("/Layer_graph?threshold=0.2")
    wait_for_chart(page, "graph")
    count = page.get_by_text("of 435 pairs are edges").inner_text().split()[0]
    with page.expect_download() as caught:
        page.get_by_role("button", name="GraphML").click()
    graph = nx.read_graphml(caught.value.path(), node_type=int)
    assert graph.number_of_edges() == 2 * int(count)


@pytest.mark.parametrize(("key", "row", "column"), [("map-A", 20, 7), ("map-B", 4, 9), ("map-A-B", 9, 21)])  # fmt: skip  # noqa: E501
def test_a_click_on_any_map_of_a_comparison_selects_the_pair(
    visit: Visit, key: str, row: int, column: int
) -> None:
    page = visit("/Compare")
    wait_for_chart(page, key)
    click_cell(page, key, row, column, n=30)
    name = f"Block {row} in the basis of block {column}"
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page).to_have_url(re.compile(f"block={row}&basis={column}$"))


def test_a_comparison_is_the_same_in_a_fresh_browser(visit: Visit) -> None:
    page = visit("/Compare?k=10&block=9&basis=21")
    wait_for_chart(page, "spectra")
    page.get_by_role("button", name="Exchange A and B").click()
    expect(page).to_have_url(re.compile(r"a=\w{32}-k50-v\d+&b=\w{32}"))
    expect(page.get_by_text("in A and").first).to_contain_text("0.000 in A and 0.048 in B")
    wait_for_chart(page, "spectra")
    fresh = visit(page.url.split("/", 3)[-1].join(("/", "")))
    wait_for_chart(fresh, "spectra")
    assert told(fresh) == told(page)
    assert drawn(fresh) == drawn(page)


def test_eighty_blocks_stay_light_and_answer_clicks(
    visit: Visit, app: App, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tiny.folder(tmp_path_factory.mktemp("models") / "tiny-llama")
    request = Request("The cat sat down", model=str(folder), k=8, k_view=4)
    scores = np.random.default_rng(0).uniform(0, 1, (80, 80))
    deep = planted(scores, request=request, identity=resolve(request).identity)
    key = Store(app.store).key(request, deep.identity)
    Store(app.store).put(replace(deep, key=key))
    view = f"model={folder}&prompt=The+cat+sat+down&k=1&def=alignment&threshold=0"
    page = visit(f"/Layer_graph?{view}")
    wait_for_chart(page, "graph")
    expect(page.get_by_text("3160 of 3160 pairs are edges")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    click_point(page, "graph", 40, 40)  # the top of the arc from 20 to 60
    expect(page.get_by_role("heading", name="Blocks 20 and 60")).to_be_visible()
    page.goto(f"{app.url}/Compare?{view}&a={key}&b={key}")
    wait_for_chart(page, "spectra")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    click_cell(page, "map-A-B", 70, 3, n=80)
    expect(page.get_by_role("heading", name="Block 70 in the basis of block 3")).to_be_visible()
