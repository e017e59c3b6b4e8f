"""What goes wrong is told in words, on the page where it goes wrong."""

import pytest
from screen import Open, words

from coupling_core.sources.identity import ALIASES


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"model": "no-such-model"}, "Model 'no-such-model' is unknown"),
        ({"model": "/no/such/folder"}, "Model '/no/such/folder': there is no such file or folder"),
        ({"rev": "main"}, "Revision 'main' was given with 'smollm2-135m'"),
    ],
)
def test_a_wrong_request_is_told(open_page: Open, query: dict[str, str], expected: str) -> None:
    app = open_page("Depth", **query)
    assert expected in app.error[0].value
    assert not app.exception


def test_an_empty_prompt_is_told(open_page: Open) -> None:
    app = open_page("Depth", prompt="A text of one's own")
    app.text_area(key="prompt@own").set_value("  ").run()
    assert app.error[0].value.startswith("The prompt is empty")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"k": "many"}, "k='many' became 50: an integer is expected"),
        ({"k": "0"}, "k='0' became 50: an integer of at least 1 is expected"),
        ({"p": "0.5"}, "p='0.5' became 1"),
        ({"token": "0"}, "token='0' became -1"),
        ({"def": "mine"}, "def='mine' became paper: one of paper, released"),
        ({"colour": "red"}, "colour is not known here"),
        ({"suites": "mini-1"}, "suites='mini-1' became mini-64: suite 'mini-1' is unknown"),
        ({"suites": "mini-64,mini-64-sd,mini-128,pythia-70m"}, "at most 3 names are expected"),
        ({"step": "-1"}, "step='-1' became 0: an integer of at least 0 is expected"),
    ],
)
def test_what_a_link_gets_wrong_is_cleaned_and_told(
    open_page: Open, query: dict[str, str], told: str
) -> None:
    app = open_page("Start", **query)
    assert told in app.warning[0].value
    assert not app.query_params
    assert not app.exception
    app.run()
    assert not app.warning


def test_a_pair_past_the_last_block_is_cut_and_told(open_page: Open) -> None:
    app = open_page("Depth", block="99")
    assert "blocks 1 to 30" in app.warning[0].value
    assert "Block 30 in the basis of block 11" in words(app)


def test_a_demo_offers_its_own_models_only(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUPLING_MODE", "demo")
    app = open_page("Start", model="/etc")
    assert "model='/etc' is not offered here" in app.warning[0].value
    first, second, *runs = app.selectbox(key="model@list").options
    assert [first, second] == list(ALIASES)
    assert all(run.startswith("mini-") for run in runs)


def test_a_k_that_is_not_stored_is_told_with_a_way_back(open_page: Open) -> None:
    app = open_page("Depth", k="80")
    assert "goes up to 50" in app.info[0].value
    next(b for b in app.button if b.label == "Use K = 50 instead").click().run()
    assert not app.info
    assert "Block 12 in the basis of block 11" in words(app)
