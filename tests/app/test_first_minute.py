"""What somebody sees who comes for the first time: an answer, figures, and only then the rest."""

from typing import Any

import numpy as np
import pytest
from handling import labels, plain_words, press
from screen import Open, charts, coloured, heat, words

from coupling_core.analysis.scores import score_pairs
from coupling_core.analysis.verdict import verdict
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES, KINDS

CHINESE = "你好 is a greeting"


def test_start_says_in_numbers_whether_blocks_are_coupled(open_page: Open, gallery: Any) -> None:
    trained, twin = gallery[0, True], gallery[0, False]
    examples = [gallery[number, True] for number in range(len(EXAMPLES))]
    for query, corrected in (({}, True), ({"raw": "1"}, False), ({"untrained": "0"}, True)):
        told = str(verdict(trained, twin, View(), examples, corrected=corrected))
        assert told in plain_words(open_page("Start", **query))


def test_start_shows_a_pair_trained_and_untrained_in_one_range_above_its_origin(
    open_page: Open, gallery: Any
) -> None:
    app = open_page("Start", block="12", basis="11")
    figures = charts(app)
    scores = coloured(score_pairs(gallery[0, True], View()).corrected)
    np.testing.assert_allclose(heat(figures["scores"]), scores, rtol=1e-5)
    for name, trained in (("matrix-trained", True), ("matrix-untrained", False)):
        stored = np.abs(gallery[0, trained].matrices[0, 11, 10])
        np.testing.assert_allclose(heat(figures[name]), stored, rtol=1e-3)
    ranges = {figures[f"matrix-{which}"]["data"][0]["zmax"] for which in ("trained", "untrained")}
    assert len(ranges) == 1
    assert "<p>Blocks 9-16 are coupled" in app.session_state["_whole"].file().decode()

    shown = list(app._tree)
    at = [place for place, one in enumerate(shown) if getattr(one, "type", "") == "plotly_chart"]
    folds = [str(getattr(getattr(one, "proto", None), "popover", "")) for one in shown]
    (origin,) = [place for place, label in enumerate(folds) if "token 10 of 10" in label]
    assert origin > max(at)


def test_start_switches_prompt_and_twin_at_once(open_page: Open, gallery: Any) -> None:
    app = open_page("Start")
    app.pills(key="prompt@start-Examples").set_value(EXAMPLES[1]).run()
    app.segmented_control(key="untrained@start").set_value(True).run()
    expected = score_pairs(gallery[1, False], View()).corrected
    np.testing.assert_allclose(
        heat(charts(app)["scores"]), coloured(expected), rtol=1e-5, atol=1e-8
    )


@pytest.mark.real
def test_what_is_lacking_is_measured_in_one_click(open_page: Open) -> None:
    app = open_page("Start", untrained="7")
    assert "Measure the untrained twin too" in labels(app)
    assert "matrix-trained" in charts(app)
    app = open_page("Start")
    app.selectbox(key="kind@start").set_value("Facts").run()
    app.pills(key="prompt@start-Facts").set_value(KINDS["Facts"][1]).run()
    assert app.info
    assert "Compute all 2" in labels(app)


def test_method_has_contents_numbers_of_what_ships_and_no_controls(
    open_page: Open, gallery: Any
) -> None:
    app = open_page("Method")
    assert not app.sidebar.selectbox
    assert not app.sidebar.number_input
    (contents,) = [part.value for part in app.markdown if "(#section-1)" in part.value]
    titles = [header.value for header in app.header]
    assert len(titles) > 10
    for number, title in enumerate(titles, start=1):
        assert f"[{title}](#section-{number})" in contents
    for trained in (True, False):
        found = score_pairs(gallery[0, trained], View()).mean()
        assert f"{found.coupling:.3f}" in words(app)
        assert f"{abs(found.corrected):.3f}" in words(app)


# ---- the prompt's tokens


@pytest.mark.real
def test_a_click_on_a_token_chooses_it(open_page: Open) -> None:
    app = open_page("Depth")
    (line,) = [each for each in app.pills if each.key.startswith("token@chips")]
    assert line.value == 10
    line.set_value(3).run()
    assert app.query_params["token"] == "3"
    assert "token 3 is measured" in words(app)


@pytest.mark.real
def test_a_space_at_the_end_is_told_and_can_be_cut(open_page: Open) -> None:
    app = open_page("Depth", prompt="The cat sat  ")
    assert "space" in app.warning[0].value
    press(app, "Cut the space")
    assert app.query_params["prompt"] == "The cat sat"
    assert not app.warning


@pytest.mark.real
def test_characters_of_several_tokens_are_shown_once(open_page: Open) -> None:
    app = open_page("Depth", prompt=CHINESE)
    (shown,) = [part.proto.body for part in app.get("html") if 'class="tokens"' in part.proto.body]
    assert "\\x" not in shown
    assert shown.count("好") == 1
    assert 'class="shared"' in shown
    options = app.selectbox[[box.label for box in app.selectbox].index("Token")].options
    assert not [option for option in options if "\\x" in option]
