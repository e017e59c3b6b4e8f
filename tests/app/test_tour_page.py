"""The page Tour: a guess before each answer, and answers that say what the figures show."""

import re

import numpy as np
import pytest
from handling import boxes, numbers, press
from screen import charts, coloured, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core import Request, View, score_pairs
from coupling_core.experiments.gallery import EXAMPLES
from explorer.asking.queue import queue
from explorer.pages.tour.state import STOPS, TourState
from explorer.pages.tour.stops import ALL
from explorer.server import backend

pytestmark = pytest.mark.full

OPEN_AT_ONCE = (2, 5)
"""Stops whose figure is looked at before the guess."""
FIGURES = {
    1: {"reaction"},
    2: {"two-bases", "in-the-other-basis"},
    3: {"untrained"},
    4: {"trained", "untrained"},
    5: {"trained-map", "matrix-trained", "matrix-untrained"},
    6: {"random-bases"},
    7: {"step", "corrected", "loss"},
    8: {"trained", "exchange"},
    9: {"map-576", "map-640"},
}


def guess(app: AppTest, number: int) -> AppTest:
    return app.radio[0].set_value(str(number)).run()


@pytest.mark.parametrize("stop", range(1, STOPS + 1))
def test_a_guess_comes_before_figure_and_answer(open_page, stop) -> None:
    app = open_page("Tour", stop=str(stop))
    of = ALL[stop - 1]
    told = of.told(TourState(stop=stop)).split(".")[0]
    assert bool(charts(app)) == (stop in OPEN_AT_ONCE)
    assert not boxes(app)
    app = guess(app, of.right)
    assert set(charts(app)) == FIGURES[stop]
    assert told in app.success[0].value
    app = guess(app, (of.right + 1) % 3)
    assert not app.success
    assert of.answers[of.right] in app.info[0].value
    assert not queue().active()


def test_guesses_stay_as_one_goes_on_and_back_until_one_begins_anew(open_page) -> None:
    app = press(guess(open_page("Tour"), 2), "Next")
    assert app.radio[0].value is None
    app = press(guess(app, 1), "Back")
    assert app.radio[0].value == "2"
    assert app.query_params["guesses"] == "21"
    app = press(press(app, "Next"), "Next")
    assert set(charts(press(app, "Show me"))) == FIGURES[3]  # who does not want to guess
    assert app.info

    app = open_page("Tour", stop="9", guesses="111111111", draws="20")
    assert "does not prove" in words(app)
    press(app, "From the beginning")
    assert ALL[0].title in [one.value for one in app.header]
    assert app.radio[0].value is None
    assert not {"guesses", "stop"} & set(app.query_params)


def test_maps_and_means_are_those_of_the_stored_results(open_page) -> None:
    app = open_page("Tour", stop="4", guesses="---2", model="mini-64", block="3", basis="7")
    for name, untrained in {"trained": None, "untrained": 0}.items():
        scores = score_pairs(backend.find(Request(EXAMPLES[0], untrained=untrained)), View())
        found = heat(charts(app)[name])
        np.testing.assert_allclose(found, coloured(scores.corrected), rtol=1e-5)
        off = ~np.eye(30, dtype=bool)
        off[-1] = False  # the last block has the final norm too
        mean = f"{scores.corrected[off].mean() + 0.0:.3f}".replace("-0.000", "0.000")
        assert mean in app.success[0].value


def test_the_answer_about_chance_is_right_and_counts_what_was_drawn(open_page) -> None:
    app = press(press(open_page("Tour", stop="6", guesses="-----2"), "Draw"), "Draw")
    raw, floor, result = map(
        float, re.search(r"\(([\d.]+) - ([\d.]+)\) / .* = (\d\.\d+)", app.success[0].value).groups()
    )
    assert result == pytest.approx((raw - floor) / (1 - floor), abs=6e-4)
    assert "10" in app.success[0].value
    points = numbers(charts(app)["random-bases"]["data"][0]["x"])
    assert len(points) == 10
    assert np.abs(points - floor).max() < 0.01
