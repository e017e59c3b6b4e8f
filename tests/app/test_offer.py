"""Before anything is computed: what it is of, and what it would cost."""

import re

import pytest
from screen import Open, words
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.real
PROMPT = "The cat sat on the mat because it was"


def test_tokens_and_cost_are_shown(open_page: Open) -> None:
    app = open_page("Depth", prompt=PROMPT)
    text = words(app)
    assert "9 tokens; token 9 is measured." in text
    assert "of computing after" in text
    assert "where the gallery was made; this machine may differ" in text
    assert [b.label for b in app.main.button] == ["Compute"]
    assert not app.get("plotly_chart")


def test_a_token_past_the_prompt_is_told_and_the_last_is_offered(open_page: Open) -> None:
    app = open_page("Depth", prompt=PROMPT, token="10")
    assert "token 10 does not exist: this prompt has tokens 1..9" in app.warning[0].value
    assert "token 9 is measured" in words(app)
    assert [b.label for b in app.main.button] == ["Compute"]


def seconds(app: AppTest) -> float:
    """What the page says that computing takes."""
    (found,) = re.findall(r"About \*\*([\d.]+) (s|min)\*\* of computing", words(app))
    return float(found[0]) * {"s": 1, "min": 60}[found[1]]


def test_a_long_prompt_is_told_to_take_longer(open_page: Open) -> None:
    """What a block costs grows with the prompt: the estimate of one token said 7 s of 53."""
    short = seconds(open_page("Depth", prompt=PROMPT))
    app = open_page("Depth", prompt=" ".join([PROMPT] * 330))
    assert re.search(r"2,9\d\d tokens|3,\d\d\d tokens", words(app))
    assert seconds(app) > 4 * short
