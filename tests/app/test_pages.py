"""Each page shows what is stored, and answers its widgets without computing anything."""

from pathlib import Path

import numpy as np
import pytest
from cases import random_result
from screen import PAGES, Open, charts, coloured, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core.analysis.scores import mean_off_diagonal, score_pairs
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES, training_requests, vision_requests
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.server.backend import entries

TITLES = {
    "Start": "Do a transformer's blocks share one basis?",
    "Depth": "Coupling across depth",
    "Tokens": "Coupling between tokens",
    "Trajectories": "Paths through depth",
    "Layer graph": "The blocks as a graph",
    "Training": "Coupling through training",
    "Generalization": "Coupling and performance",
    "Vision": "Stochastic depth in vision transformers",
    "Compare": "Two results side by side",
    "Runs": "Runs",
    "Method": "Method",
    "What if": "What if blocks ran elsewhere?",
    "Directions": "What do a block's directions say?",
    "Spectrum": "What does a block do to a state?",
    "Perturbation": "How far does noise get?",
    "Train one": "Train one yourself",
    "Tour": "Transformer block coupling in ten minutes",
    "Classroom": "A lesson of your own",
}


def score_map(app: AppTest) -> np.ndarray:
    return heat(charts(app)["scores"])


@pytest.mark.parametrize("title", PAGES)
def test_a_page_has_its_title_and_nothing_goes_wrong(open_page: Open, title: str) -> None:
    app = open_page(title)
    assert app.title[0].value == TITLES[title]
    assert not app.exception
    assert not app.error
    assert not app.warning


def test_start_shows_a_pair_trained_and_untrained_in_one_range(open_page: Open, gallery) -> None:
    app = open_page("Start", block="12", basis="11")
    figures = charts(app)
    np.testing.assert_allclose(
        score_map(app), coloured(score_pairs(gallery[0, True], View()).corrected), rtol=1e-5
    )
    for name, trained in (("matrix-trained", True), ("matrix-untrained", False)):
        stored = np.abs(gallery[0, trained].matrices[0, 11, 10])
        np.testing.assert_allclose(heat(figures[name]), stored, rtol=1e-3)
    ranges = {figures[f"matrix-{which}"]["data"][0]["zmax"] for which in ("trained", "untrained")}
    assert len(ranges) == 1


def test_start_switches_prompt_and_twin_at_once(open_page: Open, gallery) -> None:
    app = open_page("Start")
    app.pills(key="prompt@start-Examples").set_value(EXAMPLES[1]).run()
    app.segmented_control(key="untrained@start").set_value(True).run()
    expected = score_pairs(gallery[1, False], View()).corrected
    np.testing.assert_allclose(score_map(app), coloured(expected), rtol=1e-5, atol=1e-8)


def test_the_number_inputs_select_a_pair_on_every_page(open_page: Open, gallery) -> None:
    app = open_page("Start")
    app.number_input(key="block@pair").set_value(3).run()
    app.number_input(key="basis@pair").set_value(20).run()
    app.switch_page(PAGES["Depth"]).run()
    assert "Block 3 in the basis of block 20" in words(app)
    assert app.query_params["block"] == "3"
    np.testing.assert_allclose(
        heat(charts(app)["matrix"]), np.abs(gallery[0, True].matrices[0, 2, 19]), rtol=1e-3
    )


def test_the_sidebar_shows_the_same_on_every_page(open_page: Open) -> None:
    app = open_page("Depth", k="20", norm="exclude", **{"def": "alignment"})
    app.number_input(key="k@sidebar").set_value(30).run()
    app.switch_page(PAGES["Runs"]).run()
    assert app.number_input(key="k@sidebar").value == 30
    assert app.selectbox(key="definition@sidebar").value == "alignment"
    assert app.selectbox(key="final_norm@sidebar").value == "exclude"
    assert app.query_params["k"] == "30"


def test_another_prompt_is_measured_at_its_last_token(open_page: Open) -> None:
    app = open_page("Depth", token="3")
    app.selectbox(key="prompt@list").set_value(EXAMPLES[1]).run()
    assert "token 11 of 11" in words(app)
    assert "token" not in app.query_params


def test_depth_shows_the_blocks_of_figure_3(open_page: Open) -> None:
    mosaic = charts(open_page("Depth"))["mosaic"]
    assert mosaic["layout"]["xaxis"]["ticktext"] == [str(block) for block in range(9, 17)]


def test_a_large_mosaic_takes_a_stride_and_says_so(open_page: Open) -> None:
    app = open_page("Depth", fig3="0")
    assert "More than 24 blocks: one in 2 is drawn." in words(app)
    labels = charts(app)["mosaic"]["layout"]["xaxis"]["ticktext"]
    assert labels[:3] == ["1", "3", "5"]


def test_views_change_the_figure_and_start_no_job(open_page: Open, gallery, tmp_path: Path) -> None:
    app = open_page("Depth")
    app.number_input(key="k@sidebar").set_value(10).run()
    app.selectbox(key="definition@sidebar").set_value("alignment").run()
    app.text_input(key="blocks@sidebar").set_value("3-7").run()
    app.segmented_control(key="role@depth").set_value("B").run()
    app.segmented_control(key="raw@depth").set_value(True).run()
    view = View(10, "alignment", role="B", blocks=(3, 4, 5, 6, 7))
    expected = score_pairs(gallery[0, True], view).coupling
    np.testing.assert_allclose(score_map(app), coloured(expected), rtol=1e-5)
    assert not queue().active()
    assert not (tmp_path / "store").exists()
    assert set(app.query_params) == {"k", "def", "blocks", "role", "raw"}


def test_runs_lists_the_gallery_and_searches_it(open_page: Open) -> None:
    app = open_page("Runs")
    every = app.dataframe[0].value
    assert len(every) == 19 + len(training_requests()) + len(vision_requests())
    kinds = every["Kind"][every["Model"].str.startswith("SmolLM2")]
    assert sorted(kinds) == [
        *["depth"] * 6,
        *["directions"] * 2,
        "fixed-output, blocks 12 and 11",
        *["perturbation"] * 2,
        "self, all pairs of blocks",
        "self, blocks 12 and 11",
        *["spectrum"] * 2,
        *["trajectory"] * 2,
        *["what-if"] * 2,
    ]
    app.text_input(key="search@runs").set_value("FACTORIAL untrained").run()
    rows = app.dataframe[0].value
    assert list(rows["Prompt"]) == [EXAMPLES[2]]
    assert list(rows["From"]) == ["gallery"]


def test_runs_tells_what_was_measured_here_from_what_lies_below(open_page: Open) -> None:
    own = random_result()
    Store().put(own)
    app = open_page("Runs")
    every = app.dataframe[0].value
    app.segmented_control(key="from@runs").set_value("Measured here").run()
    assert list(app.dataframe[0].value["Key"]) == [own.key]
    app.segmented_control(key="from@runs").set_value("Came with the program").run()
    assert list(app.dataframe[0].value["Key"]) == [k for k in every["Key"] if k != own.key]


def test_a_new_result_is_noticed(open_page: Open) -> None:
    app = open_page("Depth")
    assert {entry.read_only for entry in entries()} == {True}
    Store().put(random_result())
    app.run()
    assert {entry.read_only for entry in entries()} == {True, False}


def test_the_numbers_of_the_method_page_are_those_of_the_gallery(open_page: Open, gallery) -> None:
    text = words(open_page("Method"))
    for trained in (True, False):
        found = score_pairs(gallery[0, trained], View())
        assert f"{mean_off_diagonal(found.coupling):.3f}" in text
        assert f"{abs(mean_off_diagonal(found.corrected)):.3f}" in text


def test_every_figure_has_an_alternative_text_and_a_table(open_page: Open) -> None:
    app = open_page("Depth")
    found = app.get("plotly_chart")
    assert [chart.proto.alt[:7] for chart in found] == [
        "Mosaic ", "Heatmap", "Heatmap", "Singula", "Score a", "Princip",
    ]  # fmt: skip
    assert [fold.label for fold in app.main.expander] == ["Table and files"] * len(found)
