"""An app whose disk or whose models went away shows what is stored, and says what does not work."""

import shutil
import time

import pytest
import tiny
from screen import Open, charts, coloured, heat, words

from coupling_core import Request, Store, View, measure, score_pairs
from explorer.asking.queue import queue

PATIENCE = 60


@pytest.fixture
def model(tmp_path):
    return tiny.folder(tmp_path / "tiny")


@pytest.fixture
def link(model):
    return {"model": str(model), "prompt": "The cat sat", "k": "4"}


def button(app, label):
    (found,) = [button for button in app.button if button.label == label]
    return found


def end_of_all_jobs():
    end = time.monotonic() + PATIENCE
    while queue().active() and time.monotonic() < end:
        time.sleep(0.05)
    assert not queue().active()


def test_a_store_that_cannot_be_written_shows_the_gallery_and_says_why_it_cannot_compute(
    open_page: Open, monkeypatch, tmp_path, link
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COUPLING_STORE", str(tmp_path / "file" / "store"))
    app = open_page("Depth")
    assert "mosaic" in charts(app)
    app = open_page("Depth", **link)
    button(app, "Compute").click().run()
    end_of_all_jobs()
    app.run()
    assert not app.exception
    assert "set COUPLING\\_STORE to a folder that you may write" in app.error[0].value
    assert button(app, "Compute")


@pytest.mark.parametrize("title", ["Depth", "Start"])
def test_a_model_that_went_away_shows_what_was_measured_of_it(
    open_page: Open, model, link, title
) -> None:
    request = Request(link["prompt"], model=link["model"], k=4)
    stored = measure(request, Store(), device="cpu")
    shutil.rmtree(model)
    app = open_page(title, **link)
    assert not app.exception
    assert not app.error, [e.value for e in app.error]
    assert "there is no such file or folder" in app.warning[0].value
    assert app.warning[0].value.endswith("What was measured of it before is shown.")
    expected = score_pairs(stored, View(k=4)).corrected
    assert heat(charts(app)["scores"]) == pytest.approx(coloured(expected), rel=1e-5, nan_ok=True)


def test_a_twin_that_was_not_measured_of_it_is_no_error(open_page: Open, model, link) -> None:
    measure(Request(link["prompt"], model=link["model"], kind="trajectory"), Store(), device="cpu")
    shutil.rmtree(model)
    app = open_page("Trajectories", **link)
    assert not app.exception
    assert not app.error, [e.value for e in app.error]
    told = "The untrained twin was not measured while this model was here."
    assert told in [caption.value for caption in app.caption]


def test_what_was_not_measured_of_it_is_told_with_the_path(open_page: Open, model, link) -> None:
    measure(Request(link["prompt"], model=link["model"], k=4), Store(), device="cpu")
    shutil.rmtree(model)
    app = open_page("Depth", **link | {"prompt": "Another"})
    assert not app.exception
    assert f"Model '{model}': there is no such file" in app.error[0].value.replace("\\", "")
    assert "mosaic" not in charts(app)


def test_weights_cut_short_are_told_with_the_file_and_work_again_once_they_are_whole(
    open_page: Open, model, link
) -> None:
    weights = model / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:5000])
    app = open_page("Depth", **link)
    assert not app.exception
    assert "model.safetensors is damaged or cut short" in app.error[0].value.replace("\\", "")
    weights.write_bytes(whole)
    app.run()
    button(app, "Compute").click().run()
    end_of_all_jobs()
    app.run()
    assert not app.error, [e.value for e in app.error]
    assert "mosaic" in charts(app)
    assert "token 3 of" in words(app)
