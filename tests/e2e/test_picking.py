"""A model that the app never saw: chosen by its folder, probed and computed."""

import re
from pathlib import Path

import pytest
import tiny
from driving import App, Visit, choose, compute, wait_for_chart
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.folder(tmp_path_factory.mktemp("models") / "tiny-bert", "bert")


def test_a_folder_is_probed_and_computed(visit: Visit, app: App, folder: Path) -> None:
    page = visit("/")
    wait_for_chart(page, "scores")
    sidebar = page.get_by_test_id("stSidebar")
    choose(sidebar.get_by_label("Model").first, "Another model…")
    path = sidebar.get_by_label("Hub id, folder or .gguf file")
    path.fill(str(folder))
    path.press("Enter")
    sidebar.get_by_role("button", name="Probe").click()
    expect(sidebar.locator(".facts")).to_contain_text("BertForMaskedLM")
    expect(sidebar.locator(".facts")).to_contain_text("bidirectional")
    sidebar.get_by_role("link", name="Depth").click()
    expect(page.get_by_text("4 bidirectional blocks, width 32")).to_be_visible()
    expect(page.get_by_text("it fits")).to_be_visible()
    expect(sidebar.get_by_role("spinbutton", name="K: leading")).to_have_value("50")
    sidebar.get_by_role("spinbutton", name="K: leading").fill("8")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Compute")).to_be_visible()
    compute(page)
    wait_for_chart(page, "mosaic")
    page.locator(".st-key-tools button").first.click()  # the line that says what is drawn
    expect(page.get_by_text("4 of 4 SVDs certified")).to_be_visible()
    assert len(app.results) == 1


def test_the_form_of_the_weights_goes_into_the_link_and_the_strip(
    visit: Visit, app: App, folder: Path
) -> None:
    page = visit(f"/Depth?model={folder}&k=8")
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.get_by_text("How it is loaded").click()
    choose(sidebar.get_by_role("combobox", name="Weights rounded to"), "bfloat16")
    expect(page).to_have_url(re.compile("dtype=bfloat16"))
    sidebar.get_by_text("How it is loaded").click()
    expect(sidebar.get_by_text("Weights rounded to bfloat16.")).to_be_visible()
    compute(page)
    wait_for_chart(page, "mosaic")
    page.locator(".st-key-tools button").first.click()  # the line that says what is drawn
    strip = page.get_by_text(", weights rounded to bfloat16")
    expect(strip).to_be_visible()
