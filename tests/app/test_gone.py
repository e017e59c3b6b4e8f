"""An app whose disk or whose models went away shows what is stored, and says what does not work."""

import shutil
from pathlib import Path

import pytest
import tiny
from handling import button, plain_words, press, settled
from screen import Open, charts, coloured, heat

from coupling_core import Request, Store, View, measure, score_pairs

pytestmark = pytest.mark.full


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.folder(tmp_path / "tiny")


@pytest.fixture
def link(model: Path) -> dict[str, str]:
    return {"model": str(model), "prompt": "The cat sat", "k": "4"}


def test_a_store_that_cannot_be_written_shows_the_gallery_and_says_why_it_cannot_compute(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, link: dict[str, str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COUPLING_STORE", str(tmp_path / "file" / "store"))
    assert "mosaic" in charts(open_page("Depth"))
    app = settled(press(open_page("Depth", **link), "Compute"))
    assert "COUPLING\\_STORE" in app.error[0].value
    assert button(app, "Compute")


def test_a_model_that_went_away_shows_what_was_measured_of_it_and_no_more(
    open_page: Open, model: Path, link: dict[str, str]
) -> None:
    request = Request(link["prompt"], model=link["model"], k=4)
    stored = measure(request, Store(), device="cpu")
    measure(Request(link["prompt"], model=link["model"], kind="trajectory"), Store(), device="cpu")
    shutil.rmtree(model)
    expected = score_pairs(stored, View(k=4)).corrected
    for title in ("Depth", "Start"):
        app = open_page(title, **link)
        assert not app.error, [e.value for e in app.error]
        assert "no such file" in app.warning[0].value
        found = heat(charts(app)["scores"])
        assert found == pytest.approx(coloured(expected), rel=1e-5, nan_ok=True)
    app = open_page("Trajectories", **link)
    assert not app.error, [e.value for e in app.error]
    assert "twin was not measured" in plain_words(app)
    app = open_page("Depth", **link | {"prompt": "Another"})
    assert str(model) in app.error[0].value.replace("\\", "")
    assert "mosaic" not in charts(app)


def test_weights_cut_short_are_told_with_the_file_and_work_again_once_they_are_whole(
    open_page: Open, model: Path, link: dict[str, str]
) -> None:
    weights = model / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:5000])
    app = open_page("Depth", **link)
    assert "model.safetensors" in app.error[0].value
    weights.write_bytes(whole)
    app = settled(press(app.run(), "Compute"))
    assert not app.error, [e.value for e in app.error]
    assert "mosaic" in charts(app)
    assert "token 3 of" in plain_words(app)
