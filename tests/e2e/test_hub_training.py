"""A suite of the hub in the hub's cache, out of reach of the hub: the slider runs on it."""

import re
from collections.abc import Iterator

import pytest
import tiny
from driving import App, Visit, serving
from fake_hub import lay_out
from playwright.sync_api import expect

STEPS = (0, 1, 1000, 143000)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app over a cache with four checkpoints of Pythia 70M, tiny ones."""
    folder = tmp_path_factory.mktemp("hub")
    made = {f"step{s}": tiny.folder(folder / f"{s}", "gpt_neox", s) for s in STEPS}
    lay_out(folder / "cache", made, "EleutherAI/pythia-70m")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HF_HUB_CACHE", str(folder / "cache"))
        environment.setenv("HF_HUB_OFFLINE", "1")
        with serving(folder / "store", folder / "log.txt") as served:
            yield served


@pytest.mark.slow
def test_the_slider_runs_on_what_is_measured(visit: Visit, app: App) -> None:
    page = visit("/Training?suites=pythia-70m&prompt=The+cat+sat&step=1000&threshold=0")
    page.get_by_role("button", name="Compute the 4 steps on this disk").click()
    expect(page.get_by_text(re.compile("^Step 1,000: mean"))).to_be_visible()
    expect(page.get_by_text("150 of 154 steps")).to_be_visible()
    assert len(app.results) == 2 * len(STEPS)
    # The slider is drawn last, and what is done to the one before is lost.
    expect(page.locator(".ticks span:not(.missing)")).to_have_count(len(STEPS))
    slider = page.get_by_role("slider", name="Training step")
    slider.press("Home")
    told = set()
    for step in ("0", "1", "1,000", "143,000"):  # playing leaves out what is not measured
        sentence = page.get_by_text(re.compile(f"^Step {step}: mean"))
        expect(sentence).to_be_visible()
        told.add(sentence.inner_text().partition(":")[2])
        if step == "0":
            page.get_by_role("button", name="Play").click()
    assert len(told) == len(STEPS)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page).to_have_url(re.compile("step=143000"))
    slider.press("ArrowLeft")
    expect(page.get_by_text("Step 142,000 is not measured for this prompt.")).to_be_visible()
