"""What somebody sees who comes for the first time: an answer, figures, ten findings, Method."""

import re

import numpy as np
import pytest
from handling import labels, plain_words, press
from screen import charts, chips, coloured, heat, words

from coupling_core import Request, View, mean_off_diagonal, score_pairs
from coupling_core.analysis.verdict import verdict
from coupling_core.experiments.gallery import EXAMPLES, KINDS
from explorer.asking.queue import queue
from explorer.frame.contents import LINKS
from explorer.pages.ten_findings import ALL
from explorer.server import backend


def test_start_says_in_numbers_whether_blocks_are_coupled(open_page, gallery) -> None:
    trained, twin = gallery[0, True], gallery[0, False]
    examples = [gallery[number, True] for number in range(len(EXAMPLES))]
    for query, corrected in (({}, True), ({"raw": "1"}, False), ({"untrained": "0"}, True)):
        told = str(verdict(trained, twin, View(), examples, corrected=corrected))
        assert told in plain_words(open_page("Start", **query))


def test_start_shows_a_pair_trained_and_untrained_in_one_range(open_page, gallery) -> None:
    app = open_page("Start", block="12", basis="11")
    figures = charts(app)
    scores = coloured(score_pairs(gallery[0, True], View()).corrected)
    np.testing.assert_allclose(heat(figures["scores"]), scores, rtol=1e-5)
    for name, trained in (("matrix-trained", True), ("matrix-untrained", False)):
        stored = np.abs(gallery[0, trained].matrices[0, 11, 10])
        np.testing.assert_allclose(heat(figures[name]), stored, rtol=1e-3)
    ranges = {figures[f"matrix-{which}"]["data"][0]["zmax"] for which in ("trained", "untrained")}
    assert len(ranges) == 1
    assert "<p>Blocks 9-16: mean" in app.session_state["_whole"].file().decode()


@pytest.mark.real
def test_start_switches_prompt_and_twin_and_offers_what_lacks(open_page, gallery) -> None:
    app = open_page("Start")
    app.pills(key="prompt@start-Examples").set_value(EXAMPLES[1]).run()
    app.segmented_control(key="untrained@start").set_value(True).run()
    expected = coloured(score_pairs(gallery[1, False], View()).corrected)
    np.testing.assert_allclose(heat(charts(app)["scores"]), expected, rtol=1e-5, atol=1e-8)
    app.segmented_control(key="untrained@start").set_value(False).run()
    app.selectbox(key="kind@start").set_value("Facts").run()
    app.pills(key="prompt@start-Facts").set_value(KINDS["Facts"][1]).run()
    assert app.info
    assert "Compute all 2" in labels(app)
    app = open_page("Start", untrained="7")
    assert "Measure the untrained twin too" in labels(app)
    assert "matrix-trained" in charts(app)
    app = open_page("Start", token="6")
    assert (len(app.info), app.subheader) == (1, [])  # which says it once
    (line,) = [each for each in app.pills if each.key.startswith("token@chips")]
    line.set_value(10).run()
    assert "scores" in charts(app)


def test_method_has_contents_numbers_of_what_ships_and_no_controls(open_page, gallery) -> None:
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


@pytest.mark.real
def test_tokens_are_chosen_cut_and_shown_once(open_page) -> None:
    app = open_page("Depth")
    (line,) = [each for each in app.pills if each.key.startswith("token@chips")]
    assert line.value == 10
    line.set_value(3).run()
    assert app.query_params["token"] == "3"
    assert "token 3 is measured" in words(app)

    assert "of computing" in words(open_page("Directions", prompt="The cat sat"))  # not fitted
    app = open_page("Depth", prompt="The cat sat  ")
    assert "space" in app.warning[0].value
    press(app, "Cut the space")
    assert app.query_params["prompt"] == "The cat sat"
    assert not app.warning

    app = open_page("Tokens", prompt="你好 is a greeting")  # some characters are several tokens
    assert "\\x" not in chips(app)
    assert chips(app).count("好") == 1
    assert 'class="shared"' in chips(app)
    options = app.selectbox[[box.label for box in app.selectbox].index("Token")].options
    assert not [option for option in options if "\\x" in option]


def test_there_are_ten_with_numbers_and_none_says_nan() -> None:
    assert [one for one in ALL if LINKS.check(one.chosen)[1]] == []  # of their links
    told = [one.told() for one in ALL]
    assert len(set(told)) == 10
    for sentence in told:
        assert re.search(r"\d", sentence)
        assert "nan" not in sentence
        assert sentence.endswith(".")


def test_the_first_two_have_the_means_of_the_stored_results() -> None:
    results = [backend.find(Request(EXAMPLES[0], untrained=seed)) for seed in (None, 0)]
    for sentence, name in ((ALL[0].told(), "corrected"), (ALL[1].told(), "coupling")):
        for result in results:
            mean = mean_off_diagonal(getattr(score_pairs(result, View()), name))
            assert f"{np.round(mean, 3) + 0.0:.3f}" in sentence


@pytest.mark.slow
def test_a_finding_leads_to_a_figure_that_is_stored(open_page) -> None:
    for one in ALL:
        chosen, _ = LINKS.check(one.chosen)
        app = open_page(one.page.title, **LINKS.write(LINKS.defaults | chosen))
        assert not app.error
        assert charts(app) or one.page.title == "Train one"
        assert not queue().active()
