"""The Compare page over the directions of two models."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from handling import boxes, press, settled
from screen import Open, charts, words
from streamlit.testing.v1 import AppTest

from coupling_core import DirectionsResult, Request, Store, cross, measure
from explorer.pages.compare_directions import question

pytestmark = pytest.mark.full

PROMPT = "The cat sat"


@pytest.fixture
def pair(tmp_path: Path) -> list[DirectionsResult]:
    folder = str(tiny.folder(tmp_path / "tiny"))
    asked = [Request(PROMPT, model=folder, kind="directions", untrained=u) for u in (None, 1)]
    return [measure(one, Store()) for one in asked]


def opened(open_page: Open, pair: list[DirectionsResult], **more: str) -> AppTest:
    a, b = pair
    return open_page("Compare", compared="directions", a=a.key, b=b.key, **more)


def test_how_far_they_are_turned_is_told_and_drawn(
    open_page: Open, pair: list[DirectionsResult]
) -> None:
    app = opened(open_page, pair, leading="3")
    assert not app.error
    assert cross(*pair, 3).verdict in words(app)
    assert "angles" in charts(app)
    app.slider(key="leading@compare").set_value(5).run()
    assert not app.exception
    assert cross(*pair, 5).verdict in words(app)


def test_the_question_is_that_of_what_differs() -> None:
    asked = Request(PROMPT, kind="directions")
    told = {
        question(asked, replace(asked, quantize="nf4")),
        question(asked, replace(asked, untrained=0)),
        question(replace(asked, revision="step1"), replace(asked, revision="step2")),
        question(asked, replace(asked, model="other")),
        question(asked, asked),
    }
    assert len(told) == 5


def test_a_lower_precision_of_a_is_measured_and_becomes_b(
    open_page: Open, pair: list[DirectionsResult]
) -> None:
    app = opened(open_page, pair)
    app.button(key="form-bfloat16@compare").click().run()
    app = settled(press(app, "Measure A in bfloat16"))
    lower = measure(replace(pair[0].request, dtype="bfloat16"), Store())
    assert app.query_params["b"] == lower.key
    assert cross(pair[0], lower).verdict in words(app)


def test_without_a_choice_a_model_is_held_against_its_twin(open_page: Open) -> None:
    app = open_page("Compare", compared="directions")
    assert not boxes(app)
    assert "angles" in charts(app)


@pytest.mark.real
def test_jacobians_are_taken_in_each_other_s_bases(
    open_page: Open, pair: list[DirectionsResult]
) -> None:
    app = press(opened(open_page, pair), "Take the Jacobians of both")
    assert not app.error
    told = {one.label: float(one.value.replace("\u2212", "-")) for one in app.metric}
    assert {"A in the bases of B, same block", "B in A, other blocks"} <= set(told)
    assert np.isfinite(list(told.values())).all()
    assert "crossed" in charts(app)


def test_what_is_of_the_other_kind_is_told_and_not_shown(
    open_page: Open, pair: list[DirectionsResult]
) -> None:
    a, b = pair
    app = open_page("Compare", a=a.key, b=b.key)
    told = [one.value for one in app.warning]
    assert [key for key, text in zip((a.key, b.key), told, strict=True) if key not in text] == []
    assert cross(*pair).verdict not in words(app)
    assert "map-A" in charts(app)
