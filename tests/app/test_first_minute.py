"""What somebody sees who comes for the first time: an answer, figures, and only then the rest."""

from typing import Any

import pytest
from screen import PAGES, Open, charts, words
from streamlit.testing.v1 import AppTest

from coupling_core.analysis.scores import score_pairs
from coupling_core.analysis.verdict import verdict
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES

CHINESE = "你好 is a greeting"


def plain_words(app: AppTest) -> str:
    return words(app).replace("\\", "")


def test_start_says_in_numbers_whether_blocks_are_coupled(open_page: Open, gallery: Any) -> None:
    app = open_page("Start")
    trained, twin = gallery[0, True], gallery[0, False]
    examples = [gallery[number, True] for number in range(len(EXAMPLES))]
    told = str(verdict(trained, twin, View(), examples))
    assert "Blocks 9-16 are coupled" in told
    assert told in plain_words(app)


def test_raw_scores_keep_verdict_and_chance_floor(open_page: Open, gallery: Any) -> None:
    told = plain_words(open_page("Start", raw="1"))
    trained, twin = gallery[0, True], gallery[0, False]
    examples = [gallery[number, True] for number in range(len(EXAMPLES))]
    assert str(verdict(trained, twin, View(), examples, corrected=False)) in told
    floor = score_pairs(trained, View()).mean().chance
    assert f"the chance floor, {floor:.3f} in the mean" in told


def test_the_verdict_is_of_the_trained_model_whichever_map_is_shown(open_page: Open) -> None:
    app = open_page("Start", untrained="0")
    assert "Blocks 9-16 are coupled" in plain_words(app)


def test_provenance_and_tools_come_after_the_figures(open_page: Open) -> None:
    app = open_page("Start")
    shown = list(app._tree)
    charts_at = [at for at, node in enumerate(shown) if getattr(node, "type", "") == "plotly_chart"]
    labels = [str(getattr(getattr(node, "proto", None), "popover", "")) for node in shown]
    (line,) = [at for at, label in enumerate(labels) if "token 10 of 10" in label]
    assert line > max(charts_at)


def test_there_is_one_switch_of_the_twin(open_page: Open) -> None:
    for title in ("Start", "Layer graph"):
        app = open_page(title)
        keys = [each.key for each in (*app.toggle, *app.segmented_control)]
        assert len([key for key in keys if key.startswith("untrained@")]) == 1
    assert open_page("Depth").toggle(key="untrained@sidebar").value is False


def test_method_has_contents_and_no_controls(open_page: Open) -> None:
    app = open_page("Method")
    assert not app.sidebar.selectbox
    assert not app.sidebar.number_input
    (contents,) = [part.value for part in app.markdown if "(#section-1)" in part.value]
    titles = [header.value for header in app.header]
    for number, title in enumerate(titles, start=1):
        assert f"[{title}](#section-{number})" in contents
    assert len(titles) > 10


@pytest.mark.real
def test_a_click_on_a_token_chooses_it(open_page: Open) -> None:
    app = open_page("Depth")
    (line,) = [each for each in app.pills if each.key.startswith("token@chips")]
    assert line.value == 10
    line.set_value(3).run()
    assert app.query_params["token"] == "3"
    assert "token 3 is measured" in words(app)


@pytest.mark.real
@pytest.mark.parametrize("prompt", ["The cat sat ", "The cat sat  "])
def test_a_space_at_the_end_is_told_and_can_be_cut(open_page: Open, prompt: str) -> None:
    app = open_page("Depth", prompt=prompt)
    assert "The prompt ends in a space, which is a token of its own" in app.warning[0].value
    assert "the one that is measured" in app.warning[0].value
    next(button for button in app.button if button.label == "Cut the space").click().run()
    assert app.query_params["prompt"] == "The cat sat"
    assert not app.warning


@pytest.mark.real
def test_a_prompt_without_a_space_at_its_end_is_told_nothing(open_page: Open) -> None:
    assert not open_page("Depth", prompt="The cat sat").warning


@pytest.mark.real
def test_characters_of_several_tokens_are_shown_once(open_page: Open) -> None:
    app = open_page("Depth", prompt=CHINESE)
    (shown,) = [part.proto.body for part in app.get("html") if 'class="tokens"' in part.proto.body]
    assert "\\x" not in shown
    assert shown.count("好") == 1
    assert 'class="shared"' in shown
    options = app.selectbox[[box.label for box in app.selectbox].index("Token")].options
    assert not [option for option in options if "\\x" in option]


@pytest.mark.real
def test_what_is_lacking_of_the_twin_is_measured_in_one_click(open_page: Open) -> None:
    app = open_page("Start", untrained="7")
    assert "Measure the untrained twin too" in [button.label for button in app.button]
    assert "matrix-trained" in charts(app)


@pytest.mark.real
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"blocks": "9-99"}, "block 99 is out of range: this model has blocks 1..30"),
        ({"blocks": "nine"}, "blocks 'nine' cannot be read"),
        ({"token": "99"}, "token 99 does not exist: this prompt has tokens 1..10"),
        ({"k": "577"}, "K = 577 is more than the model's width, 576"),
    ],
)
@pytest.mark.parametrize("title", ["Start", "Depth", "Layer graph"])
def test_one_bad_value_costs_no_page(
    open_page: Open, title: str, query: dict[str, str], told: str
) -> None:
    app = open_page(title, **query)
    assert not app.error
    assert told in app.warning[0].value.replace("\\", "")
    assert "scores" in charts(app) or "graph" in charts(app)


def test_a_range_that_one_model_lacks_is_kept_for_the_next(open_page: Open) -> None:
    app = open_page("Depth", blocks="9-99")
    assert app.query_params["blocks"] == "9-99"
    app.switch_page(PAGES["Method"]).run()
    assert app.query_params["blocks"] == "9-99"
