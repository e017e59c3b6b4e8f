"""Pages show what is stored, and answer their widgets without computing anything."""

from pathlib import Path

import numpy as np
import pytest
from cases import random_result
from screen import PAGES, Open, charts, coloured, heat, words

from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES, KINDS, training_requests, vision_requests
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.server.backend import entries


def test_a_pair_and_the_controls_are_the_same_on_every_page(open_page: Open, gallery) -> None:
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


def test_another_prompt_is_measured_at_its_last_token(open_page: Open) -> None:
    app = open_page("Depth", token="3")
    app.selectbox(key="prompt@list").set_value(EXAMPLES[1]).run()
    assert "token 11 of 11" in words(app)
    assert "token" not in app.query_params


def test_views_change_the_figure_and_start_no_job(open_page: Open, gallery, tmp_path: Path) -> None:
    app = open_page("Depth")
    mosaic = charts(app)["mosaic"]
    assert mosaic["layout"]["xaxis"]["ticktext"] == [str(block) for block in range(9, 17)]
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
    assert set(app.query_params) == {"k", "def", "blocks", "role", "raw"}


def test_a_large_mosaic_takes_a_stride(open_page: Open) -> None:
    labels = charts(open_page("Depth", fig3="0"))["mosaic"]["layout"]["xaxis"]["ticktext"]
    assert labels[:3] == ["1", "3", "5"]


def test_runs_lists_what_ships_and_what_was_measured_here_and_searches_it(open_page: Open) -> None:
    app = open_page("Runs")
    shipped = app.dataframe[0].value
    assert len(shipped) == 19 + len(training_requests()) + len(vision_requests())
    assert {entry.read_only for entry in entries()} == {True}
    own = random_result()
    Store().put(own)
    app.run()  # a new result is noticed
    assert {entry.read_only for entry in entries()} == {True, False}
    app.segmented_control(key="from@runs").set_value("Measured here").run()
    assert list(app.dataframe[0].value["Key"]) == [own.key]
    app.segmented_control(key="from@runs").set_value("Came with the program").run()
    assert set(app.dataframe[0].value["Key"]) == set(shipped["Key"])
    app.text_input(key="search@runs").set_value("FACTORIAL untrained").run()
    rows = app.dataframe[0].value
    assert list(rows["Prompt"]) == [EXAMPLES[2]]
    assert list(rows["From"]) == ["gallery"]


def test_a_prompt_is_chosen_by_its_kind_and_by_a_link(open_page: Open, demo) -> None:
    assert [len(of) for of in KINDS.values()] == [4] * 6
    assert {*EXAMPLES} <= {text for of in KINDS.values() for text in of}
    app = open_page("Depth")
    app.selectbox(key="kind@sidebar").set_value("Code").run()
    assert app.query_params["prompt"] == KINDS["Code"][0]
    assert len(app.selectbox(key="prompt@list").options) == 5  # and one's own
    app.selectbox(key="prompt@list").set_value(KINDS["Code"][2]).run()
    assert app.query_params["prompt"] == KINDS["Code"][2]
    app = open_page("Depth", prompt=KINDS["Arithmetic"][1])
    assert app.selectbox(key="kind@sidebar").value == "Arithmetic"


@pytest.mark.parametrize("page", ["Start", "Depth", "Layer graph", "What if", "Compare"])
def test_a_narrowed_map_says_so_and_opens_again(open_page: Open, page: str) -> None:
    app = open_page(page, blocks="9-16")
    assert any("blocks 9-16 of 30" in caption.value for caption in app.caption)
    next(one for one in app.button if one.label == "Show all 30").click().run()
    assert not app.exception
    assert "blocks" not in app.query_params
    assert not any("blocks 9-16 of 30" in caption.value for caption in app.caption)
