"""The Tokens page: what is stored shows at once, and one selection leads through it."""

import numpy as np
import pytest
from handling import shipped
from screen import charts, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core import View, score_positions
from coupling_core.experiments.gallery import token_requests
from explorer.asking.queue import queue
from explorer.pages.tokens.page import window
from explorer.panels.strip import brief

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def stored():
    """The committed comparisons: in two blocks, each token with itself and to one output; means."""
    return [shipped(request) for request in token_requests()]


def expect_corrected(app: AppTest, result) -> None:
    expected = score_positions(result, View()).corrected
    np.testing.assert_allclose(heat(charts(app)["tokens"]), expected, rtol=1e-5)


def outline(app: AppTest) -> tuple[float, float]:
    (square,) = charts(app)["tokens"]["layout"]["shapes"]
    return square["x0"], square["y0"]


def test_modes_and_the_mean_are_stored_too(open_page, stored) -> None:
    app = open_page("Tokens")
    expect_corrected(app, stored[0])
    assert "token" not in brief(stored[0], View())  # each is taken with itself: none is chosen
    app.segmented_control(key="kind@tokens").set_value("fixed-output").run()
    expect_corrected(app, stored[1])
    assert app.query_params["kind"] == "fixed-output"
    app.segmented_control(key="kind@tokens").set_value("self").run()
    app.segmented_control(key="all_pairs@tokens").set_value(True).run()
    expect_corrected(app, stored[2])
    assert "over 900 pairs of blocks" in words(app)


def test_a_selection_opens_its_matrix_and_views_start_no_job(open_page, stored, tmp_path) -> None:
    app = open_page("Tokens", token="6", other="3")
    matrix = heat(charts(app)["matrix"])
    np.testing.assert_allclose(matrix, np.abs(stored[0].matrices[0, 5, 2]), rtol=1e-3)
    assert outline(app) == (1.5, 4.5)
    app.number_input(key="other_token@pair-10").set_value(4).run()
    app.pills[0].set_value(7).run()
    assert (app.query_params["token"], app.query_params["other"]) == ("7", "4")
    assert outline(app) == (2.5, 5.5)
    app.number_input(key="token@pair-10").set_value(10).run()
    assert "token" not in app.query_params  # the last token has one name: Depth has it stored
    app.number_input(key="k@sidebar").set_value(10).run()
    app.segmented_control(key="role@tokens").set_value("B").run()
    app.segmented_control(key="raw@tokens").set_value(True).run()
    expected = score_positions(stored[0], View(10, role="B")).coupling
    np.testing.assert_allclose(heat(charts(app)["tokens"]), expected, rtol=1e-5)
    assert not queue().active()
    assert not (tmp_path / "store").exists()


def test_a_window_holds_the_selected_token_or_the_chosen_part() -> None:
    shown = {  # tokens, the part that was chosen, the selected token: the first and the last
        (10, 0, 4): (1, 10),
        (10, 1, 4): (1, 10),
        (100, 0, 1): (1, 32),
        (100, 0, 50): (33, 64),
        (100, 0, 64): (33, 64),
        (100, 0, 65): (65, 96),
        (100, 0, 100): (97, 100),
        (100, 33, 1): (33, 64),
        (100, 97, 1): (97, 100),
        (100, 34, 50): (33, 64),  # no part begins at 34
    }
    found = {asked: window(*asked) for asked in shown}
    assert found == {asked: tuple(range(a, b + 1)) for asked, (a, b) in shown.items()}
