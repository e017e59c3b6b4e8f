"""What is stored shows at once, answers clicks, stays light and fetches nothing."""

import re
from pathlib import Path

import pytest
from driving import App, Visit, choose, click_cell, wait_for_chart
from playwright.sync_api import Page, expect

from coupling_core.store.archive import load

MOST_NODES = 5000
MOST_OF_FORMULAS = 8000
"""KaTeX draws a formula as a hundred elements, and says it once more for who cannot see it. Method
has 65 of them, of which it consists."""
FRANCE = "What is the capital of France? The capital is"
FIGURE = "xpath=ancestor::*[contains(., 'Table and files')][1]"
"""From a figure to what holds it with its table and files."""
NAMED = "SmolLM2-135M-Instruct_What-is-the-capital-of-France_token-10_K-50"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "ready"),
    [
        ("/", ".st-key-matrix-untrained .main-svg"),
        ("/Depth", ".st-key-angles .main-svg"),
        ("/Depth?fig3=0", ".st-key-angles .main-svg"),
        ("/Layer_graph", ".st-key-locality .main-svg"),
        ("/Layer_graph?layout=circle&raw=1&threshold=0", ".st-key-locality .main-svg"),
        ("/Compare", ".st-key-spectra .main-svg"),
        ("/Spectrum", ".st-key-products .main-svg"),
        ("/Runs", "[data-testid=stDataFrame] canvas"),
        ("/Method", ".katex"),
    ],
)
def test_a_page_is_light_and_fetches_nothing_from_elsewhere(
    visit: Visit, app: App, address: str, ready: str
) -> None:
    page = visit("/_stcore/health")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(app.url + address)
    expect(page.locator(ready).first).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    assert page.evaluate("document.querySelectorAll('*:not(.katex *)').length") < MOST_NODES
    assert page.evaluate("document.querySelectorAll('.katex *').length") < MOST_OF_FORMULAS
    own = (app.url, "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
    assert page.get_by_test_id("stException").count() == 0


def test_a_click_on_a_cell_opens_the_pair_and_goes_into_the_link(visit: Visit) -> None:
    page = visit("/")
    wait_for_chart(page, "scores")
    click_cell(page, "scores", 20, 7, n=30)
    expect(page.get_by_text("Blocks 20 and 7, trained", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"block=20&basis=7$"))
    wait_for_chart(page, "scores")
    click_cell(page, "scores", 20, 7, n=30)  # the same cell again: nothing may be lost
    click_cell(page, "scores", 4, 30, n=30)
    expect(page.get_by_text("Blocks 4 and 30, untrained", exact=True)).to_be_visible()


@pytest.mark.slow
def test_a_click_on_the_mosaic_opens_the_pair(visit: Visit) -> None:
    page = visit("/Depth")
    wait_for_chart(page, "mosaic")
    click_cell(page, "mosaic", 1, 8, n=8)
    expect(page.get_by_role("heading", name="Block 9 in the basis of block 16")).to_be_visible()


def test_a_selection_survives_a_change_of_page_and_the_way_back(visit: Visit) -> None:
    page = visit("/")
    wait_for_chart(page, "scores")
    click_cell(page, "scores", 5, 6, n=30)
    expect(page).to_have_url(re.compile("basis=6"))
    click_cell(page, "scores", 25, 8, n=30)
    expect(page).to_have_url(re.compile("basis=8"))
    page.get_by_role("link", name="Depth").click()
    expect(page.get_by_role("heading", name="Block 25 in the basis of block 8")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Blocks 25 and 8, trained", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Blocks 5 and 6, trained", exact=True)).to_be_visible()


@pytest.mark.slow
def test_views_start_no_job(visit: Visit, app: App) -> None:
    page = visit("/Depth")
    wait_for_chart(page, "scores")
    strip = page.get_by_test_id("stPopover").filter(has_text="token 10 of 10")
    page.get_by_label("K: leading directions of each block").fill("10")
    page.keyboard.press("Enter")
    expect(strip.filter(has_text="K = 10")).to_be_visible()
    page.get_by_test_id("stSidebar").get_by_text("Advanced").click()
    page.get_by_label("Blocks", exact=True).fill("3-7")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-scores .ytick text")).to_have_count(5)
    choose(page.get_by_label("Definition of the score"), "alignment")
    expect(page).to_have_url(re.compile("def=alignment"))
    page.get_by_test_id("stMain").get_by_role("button", name="Advanced").click()
    page.get_by_role("radio", name="B = VᵀJU").click()
    expect(page).to_have_url(re.compile("role=B"))
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_text("Nothing is being measured.")).to_be_visible()
    assert app.results == []


@pytest.mark.slow
def test_a_link_shows_what_its_sender_saw(visit: Visit) -> None:
    sender = visit("/Depth?k=10&def=alignment&blocks=3-7&block=4&basis=5&raw=1")
    wait_for_chart(sender, "angles")
    sender.get_by_role("button", name="Copy link").click()
    address = sender.get_by_test_id("stCode").inner_text().strip()
    receiver = visit(address.split("/", 3)[-1].join(("/", "")))
    for page in (sender, receiver):  # on a busy machine the upper ones may come last
        for chart in ("mosaic", "scores", "matrix", "singular-values", "score-by-k", "angles"):
            wait_for_chart(page, chart)
    assert charts_of(receiver) == charts_of(sender)


def test_a_sentence_typed_on_start_opens_on_depth_with_its_cost(visit: Visit, app: App) -> None:
    page = visit("/")
    wait_for_chart(page, "scores")
    page.get_by_label("Your own sentence").fill("Nobody asked this before")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"\d tokens; token \d"))).to_be_visible()
    expect(page.get_by_text("of computing after")).to_be_visible()
    expect(page.get_by_role("button", name="Compute")).to_be_visible()
    expect(page).to_have_url(re.compile(r"prompt=Nobody\+asked\+this\+before"))
    assert app.results == []


def charts_of(page: Page) -> list[str]:
    """The numbers of all first traces."""
    return page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')]"
        ".map(plot => JSON.stringify([plot.data[0].z, plot.data[0].y, plot.layout.title]))"
    )


def test_figures_and_results_can_be_taken_home(visit: Visit, tmp_path: Path) -> None:
    page = visit("/Depth")
    wait_for_chart(page, "angles")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as caught:
        page.get_by_role("button", name="Result (.safetensors)").click()
    caught.value.save_as(tmp_path / caught.value.suggested_filename)
    result = load(tmp_path / caught.value.suggested_filename)
    assert result.request.prompt == FRANCE
    page.keyboard.press("Escape")
    page.locator(".st-key-mosaic").hover()
    with page.expect_download() as caught:
        page.locator(".st-key-mosaic").get_by_role("button", name="Download plot").click()
    assert caught.value.suggested_filename == f"{NAMED}_mosaic.svg"
    picture = Path(caught.value.path()).read_text()
    assert "Basis of block" in picture
    assert "SmolLM2-135M-Instruct at token 10 of 10, “is”, K = 50" in picture
    assert f"“{FRANCE}”" in picture
    page.locator(".st-key-mosaic").locator(FIGURE).get_by_text("Table and files").first.click()
    with page.expect_download() as caught:
        page.get_by_role("button", name="HTML", exact=True).click()
    text = Path(caught.value.path()).read_text()
    assert "SmolLM2-135M-Instruct" in text
    assert "Plotly.newPlot" in text
    with page.expect_download() as caught:
        page.get_by_role("button", name="CSV", exact=True).click()
    assert caught.value.suggested_filename == f"{NAMED}_mosaic.csv"
    head, first, *_ = Path(caught.value.path()).read_text().splitlines()
    assert head == (
        ",block,basis,coupling,chance,corrected,model,prompt,measured,K,definition,p,role,final_norm,"
        "precision"
    )
    assert FRANCE in first
