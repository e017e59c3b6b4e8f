"""The Compare page over the directions of two models."""

import time
from dataclasses import replace

import numpy as np
import pytest
import tiny
from screen import charts, words

from coupling_core import Request, Store, cross, measure
from explorer.asking.queue import queue
from explorer.pages.compare_directions import question

PROMPT = "The cat sat"


@pytest.fixture
def pair(tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    asked = [Request(PROMPT, model=folder, kind="directions", untrained=u) for u in (None, 1)]
    return [measure(one, Store()) for one in asked]


def opened(open_page, pair, **more):
    a, b = pair
    return open_page("Compare", compared="directions", a=a.key, b=b.key, **more)


def test_how_far_they_are_turned_is_told_and_drawn(open_page, pair):
    app = opened(open_page, pair)
    assert not app.exception
    assert not app.error
    assert cross(*pair).verdict in words(app)
    assert "angles" in charts(app)
    assert "They differ in model" in words(app)


def test_the_number_of_directions_is_chosen(open_page, pair):
    app = opened(open_page, pair, leading="3")
    assert cross(*pair, 3).verdict in words(app)
    app.slider(key="leading@compare").set_value(5).run()
    assert not app.exception
    assert cross(*pair, 5).verdict in words(app)


def test_the_question_is_that_of_what_differs():
    asked = Request(PROMPT, kind="directions")
    told = {
        question(asked, replace(asked, quantize="nf4")),
        question(asked, replace(asked, untrained=0)),
        question(replace(asked, revision="step1"), replace(asked, revision="step2")),
        question(asked, replace(asked, model="other")),
        question(asked, asked),
    }
    assert told == {
        "What nf4 did to each block",
        "What training did to each block",
        "What training did between the two steps",
        "Where the weights of B differ",
        "A model against itself",
    }


def test_a_lower_precision_of_a_is_measured_and_becomes_b(open_page, pair):
    app = opened(open_page, pair)
    app.button(key="form-bfloat16@compare").click().run()
    (compute,) = [one for one in app.button if one.label == "Measure A in bfloat16"]
    compute.click().run()
    end = time.monotonic() + 120
    while queue().active() and time.monotonic() < end:
        time.sleep(0.1)
    app.run()
    assert not app.exception
    assert "What bfloat16 did to each block" in [one.value for one in app.header]
    lower = measure(replace(pair[0].request, dtype="bfloat16"), Store())
    assert app.query_params["b"] == lower.key
    assert cross(pair[0], lower).verdict in words(app)


def test_without_a_choice_a_model_is_held_against_its_twin(open_page):
    app = open_page("Compare", compared="directions")
    assert not app.exception
    assert not app.error
    assert "independent ones would" in words(app)


@pytest.mark.real
def test_jacobians_are_taken_in_each_other_s_bases(open_page, pair):
    app = opened(open_page, pair)
    (take,) = [one for one in app.button if one.label == "Take the Jacobians of both"]
    take.click().run()
    assert not app.exception
    assert not app.error
    told = {one.label: float(one.value.replace("\u2212", "-")) for one in app.metric}
    assert {"A in the bases of B, same block", "B in A, other blocks"} <= set(told)
    assert np.isfinite(list(told.values())).all()
    assert "crossed" in charts(app)


def test_what_is_of_the_other_kind_is_told_and_not_shown(open_page, pair):
    a, b = pair
    app = open_page("Compare", a=a.key, b=b.key)
    assert not app.exception
    assert [one.value for one in app.warning] == [
        f"The result {key} is of directions of blocks, and scores of pairs are compared: change "
        "what is compared, or choose another result. Another one is shown."
        for key in (a.key, b.key)
    ]
    assert cross(*pair).verdict not in words(app)
    assert "map-A" in charts(app)
