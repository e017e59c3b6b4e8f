"""Pages show what is stored, of odd models too and of models that went away."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
from handling import button, labels, plain_words, press, settled
from screen import PAGES, charts, coloured, heat, words

from coupling_core import Request, Store, View, measure, score_pairs
from coupling_core.experiments.gallery import EXAMPLES, KINDS
from explorer.asking.queue import queue

pytestmark = pytest.mark.full


def test_a_pair_and_the_controls_are_the_same_on_every_page(open_page, gallery) -> None:
    app = open_page("Start", **{"def": "alignment"})
    app.number_input(key="k@sidebar").set_value(30).run()
    app.number_input(key="block@pair").set_value(3).run()
    app.number_input(key="basis@pair").set_value(20).run()
    app.switch_page(PAGES["Runs"]).run()
    assert app.number_input(key="k@sidebar").value == 30
    assert app.selectbox(key="definition@sidebar").value == "alignment"
    app.selectbox(key="final_norm@sidebar").set_value("exclude").run()
    assert app.query_params["norm"] == "exclude"
    app.selectbox(key="final_norm@sidebar").set_value("include").run()
    app.switch_page(PAGES["Depth"]).run()
    assert "Block 3 in the basis of block 20" in words(app)
    link = {"block": "3", "basis": "20", "k": "30", "def": "alignment"}
    assert dict(app.query_params) == link
    matrix = np.abs(gallery[0, True].matrices[0, 2, 19])
    np.testing.assert_allclose(heat(charts(app)["matrix"]), matrix, rtol=1e-3)


def test_views_change_the_figure_and_start_no_job(open_page, gallery, tmp_path) -> None:
    app = open_page("Depth", fig3="0")
    ticks = charts(app)["mosaic"]["layout"]["xaxis"]["ticktext"]
    assert ticks[:3] == ["1", "3", "5"]  # a large mosaic takes a stride
    app.number_input(key="k@sidebar").set_value(10).run()
    app.selectbox(key="definition@sidebar").set_value("alignment").run()
    app.text_input(key="blocks@sidebar").set_value("3-7").run()
    app.segmented_control(key="role@depth").set_value("B").run()
    app.segmented_control(key="raw@depth").set_value(True).run()
    view = View(10, "alignment", role="B", blocks=(3, 4, 5, 6, 7))
    expected = score_pairs(gallery[0, True], view).coupling
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(expected), rtol=1e-5)
    assert not queue().active()
    assert not (tmp_path / "store").exists()
    assert set(app.query_params) == {"fig3", "k", "def", "blocks", "role", "raw"}


def test_a_prompt_is_chosen_by_its_kind_and_is_measured_at_its_last_token(open_page) -> None:
    assert [len(of) for of in KINDS.values()] == [4] * 6
    assert {*EXAMPLES} <= {text for of in KINDS.values() for text in of}
    app = open_page("Runs", prompt=KINDS["Arithmetic"][1], token="3")
    assert app.selectbox(key="kind@sidebar").value == "Arithmetic"
    app.selectbox(key="kind@sidebar").set_value("Code").run()
    assert app.query_params["prompt"] == KINDS["Code"][0]
    assert "token" not in app.query_params
    assert len(app.selectbox(key="prompt@list").options) == 5  # and one's own
    app.selectbox(key="prompt@list").set_value(KINDS["Code"][2]).run()
    assert app.query_params["prompt"] == KINDS["Code"][2]


def test_a_narrowed_map_says_so_and_opens_again(open_page) -> None:
    for page in ("Depth", "Layer graph", "Compare"):
        app = open_page(page, blocks="9-16")
        assert any("blocks 9-16 of 30" in caption.value for caption in app.caption), page
        press(app, "Show all 30")
        assert "blocks" not in app.query_params
        assert not any("blocks 9-16 of 30" in caption.value for caption in app.caption)


WIDTH = 32
RANK = WIDTH - 1
"""What a layer norm leaves of it, and so the K at which the model is looked at."""
BIDIRECTIONAL = {"model": "minilm-l6", "prompt": "What is the capital of France?"}


def test_a_narrow_model_is_offered_and_looked_at_with_all_that_it_has(open_page, tmp_path) -> None:
    narrow = {"model": str(tiny.folder(tmp_path / "narrow", "gpt2")), "prompt": "The cat sat"}
    for title, figure, asked in (
        ("Depth", "scores", {}),
        ("Layer graph", "graph", {}),
        ("Tokens", "tokens", {"kind": "self", "block": 4, "other_block": 3}),
    ):
        if title != "Layer graph":  # where it is that of Depth
            app = open_page(title, **narrow)
            assert not app.error
            assert "Compute" in labels(app)
        found = measure(Request(**narrow, **asked), Store(), device="cpu")
        assert (found.width, found.default_k) == (WIDTH, RANK)
        app = open_page(title, **narrow)
        assert not app.error
        assert f"K = {RANK}" in words(app)
        assert figure in charts(app)
        assert app.number_input(key="k@sidebar").value == WIDTH
        assert "k" not in app.query_params
    app = open_page("Depth", **narrow)
    app.number_input(key="k@sidebar").set_value(WIDTH + 5).run()
    assert all(number in app.warning[0].value for number in ("37", "32", "31"))
    scores = coloured(measure(Request(**narrow), Store()).scores().corrected)
    np.testing.assert_allclose(heat(charts(app)["scores"]), scores, rtol=1e-5)
    app.number_input(key="k@sidebar").set_value(4).run()
    assert not app.warning
    assert "K = 4" in words(app)


@pytest.mark.real
def test_a_bidirectional_model_is_measured_at_its_separator(open_page) -> None:
    app = open_page("Depth", **BIDIRECTIONAL)
    assert "token 9 is measured" in words(app)
    chosen = next(box for box in app.selectbox if box.label == "Token")
    assert "[SEP]" in chosen.options[0]
    assert [button.label for button in app.main.button] == ["Compute"]
    stored = measure(Request(**BIDIRECTIONAL), Store(), device="cpu")
    app = open_page("Depth", **BIDIRECTIONAL)
    assert not app.warning
    found = charts(app)
    scores = coloured(score_pairs(stored, View()).corrected)
    np.testing.assert_allclose(heat(found["scores"]), scores, rtol=1e-5)
    assert found["mosaic"]["layout"]["xaxis"]["ticktext"] == [str(n) for n in range(1, 7)]
    (line,) = [each for each in app.pills if each.key.startswith("token@chips")]
    assert line.value == 9
    assert "most likely" not in words(app)
    # the pair that suits deeper models is past this one's last block
    assert "Block 6 in the basis of block 5" in words(app)
    app = open_page("Start", **BIDIRECTIONAL)
    assert not app.warning
    assert {"scores", "matrix-trained"} <= set(charts(app))
    assert "Measure the untrained twin too" in labels(app)
    chosen = app.selectbox(key="model@list")
    assert (chosen.value, chosen.options[:2]) == ("minilm-l6", ["smollm2-135m", "minilm-l6"])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.folder(tmp_path / "gone")


def test_a_store_that_cannot_be_written_is_told(open_page, monkeypatch, tmp_path, link) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COUPLING_STORE", str(tmp_path / "file" / "store"))
    assert "mosaic" in charts(open_page("Depth"))
    app = settled(press(open_page("Depth", **link, k="4"), "Compute"))
    assert "COUPLING\\_STORE" in app.error[0].value
    assert button(app, "Compute")


def test_a_model_that_went_away_shows_what_was_measured_of_it_and_no_more(open_page, model) -> None:
    link = {"model": str(model), "prompt": "The cat sat"}
    stored = measure(Request(**link, k=4), Store(), device="cpu")
    measure(Request(**link, kind="trajectory"), Store(), device="cpu")
    shutil.rmtree(model)
    expected = coloured(score_pairs(stored, View(k=4)).corrected)
    for title in ("Depth", "Start"):
        app = open_page(title, **link, k="4")
        assert not app.error
        assert "no such file" in app.warning[0].value
        assert heat(charts(app)["scores"]) == pytest.approx(expected, rel=1e-5, nan_ok=True)
    app = open_page("Trajectories", **link)
    assert not app.error
    assert "twin was not measured" in plain_words(app)
    app = open_page("Depth", model=str(model), prompt="Another")
    assert str(model) in app.error[0].value.replace("\\", "")
    assert "mosaic" not in charts(app)


def test_weights_cut_short_are_told_and_work_once_they_are_whole(open_page, model) -> None:
    weights = model / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:5000])
    app = open_page("Depth", model=str(model), prompt="The cat sat", k="4")
    assert "model.safetensors" in app.error[0].value
    weights.write_bytes(whole)
    app = settled(press(app.run(), "Compute"))
    assert not app.error
    assert "mosaic" in charts(app)
