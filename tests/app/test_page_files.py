"""A page as one file: each figure with its sentence and origin; names that people can read."""

import re
from typing import Any

import pytest
from screen import Open, charts
from streamlit.testing.v1 import AppTest

PAGES = {
    "Start": ("K-50", "SmolLM2-135M-Instruct"),
    "Depth": ("K-50", "SmolLM2-135M-Instruct"),
    "Tokens": ("K-50", "SmolLM2-135M-Instruct"),
    "Trajectories": ("", "SmolLM2-135M-Instruct"),
    "Layer graph": ("K-50", "SmolLM2-135M-Instruct"),
    "Training": ("K-8", "mini-64"),
    "Compare": ("K-50", "SmolLM2-135M-Instruct"),
    "What if": ("", "SmolLM2-135M-Instruct"),
}
"""What the names of a page's files say of K and of the model."""


def whole_file(app: AppTest) -> str:
    return app.session_state["_whole"].file().decode()


def names(app: AppTest) -> list[str]:
    """What files are called, by the buttons and by the cameras of the figures."""
    cameras = [re.search(r'"filename": "([^"]+)"', c.proto.config) for c in app.get("plotly_chart")]
    return [found[1] for found in cameras if found]


@pytest.mark.parametrize("title", [*PAGES, "Vision"])
def test_a_page_is_a_file_that_needs_no_network(open_page: Open, title: str) -> None:
    app = open_page(title)
    text = whole_file(app)
    figures = charts(app)
    assert figures
    assert text.count('role="img"') == len(figures)
    assert text.count("Plotly.newPlot(") == len(figures)
    assert f"<h1>{title}</h1>" in text
    fetched = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", text)
    assert fetched == []
    labels = [button.proto.label for button in app.get("download_button")]
    assert "This page (.html)" in labels


@pytest.mark.parametrize("title", PAGES)
def test_its_figures_say_what_they_are_of(open_page: Open, title: str) -> None:
    k, model = PAGES[title]
    app = open_page(title)
    text = whole_file(app)
    assert model in text
    for name, figure in charts(app).items():
        told: Any = figure["layout"]["title"]["text"]
        whose = "mini-64" if "mini-64" in name else model  # What if ends with a small model
        assert whose.partition("-")[0] in told, name
        assert "K = " in told or not k or name == "paths", name
    for name in names(app):
        assert model in name or "mini-64" in name
        assert k in name or "paths" in name, name


def test_what_start_says_is_in_its_file(open_page: Open) -> None:
    assert "<p>Blocks 9-16 are coupled" in whole_file(open_page("Start"))


def test_a_comparison_says_what_both_are(open_page: Open) -> None:
    figure = charts(open_page("Compare"))["map-A-B"]
    first, second = figure["layout"]["title"]["text"].split("<br>")
    assert first.startswith("A: SmolLM2-135M-Instruct, K = 50, “")
    assert second.startswith("B: SmolLM2-135M-Instruct, untrained (seed 0), K = 50, “")
