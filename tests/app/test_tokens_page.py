"""The Tokens page: what is stored shows at once, and one selection leads through it."""

from pathlib import Path

import numpy as np
import pytest
from screen import PAGES, Open, charts, heat, words

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import Request, View
from coupling_core.experiments.gallery import EXAMPLES, token_requests
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.pages.tokens.page import window
from explorer.pages.tokens.state import TokensState
from explorer.panels.strip import brief

LONG = Request(" and so on" * 20, kind="self", block=12, other_block=11)


@pytest.fixture(scope="session")
def stored():
    """The committed comparisons: in two blocks, each token with itself and to one output; means."""
    found = [Store().find(request, resolve(request).identity) for request in token_requests()]
    assert None not in found
    return found


def grid(app) -> np.ndarray:
    return heat(charts(app)["tokens"])


def test_it_opens_on_a_stored_comparison(open_page: Open, stored) -> None:
    app = open_page("Tokens")
    assert not app.exception
    expected = score_positions(stored[0], View()).corrected
    np.testing.assert_allclose(grid(app), expected, rtol=1e-5)
    assert "in blocks 12 and 11, each token with itself" in words(app)
    assert not queue().active()
    assert "token" not in brief(stored[0], View())  # each is taken with itself: none is chosen


def test_modes_and_the_mean_are_stored_too(open_page: Open, stored) -> None:
    app = open_page("Tokens")
    app.segmented_control(key="kind@tokens").set_value("fixed-output").run()
    np.testing.assert_allclose(grid(app), score_positions(stored[1], View()).corrected, rtol=1e-5)
    assert app.query_params["kind"] == "fixed-output"
    app.segmented_control(key="kind@tokens").set_value("self").run()
    app.segmented_control(key="all_pairs@tokens").set_value(True).run()
    np.testing.assert_allclose(grid(app), score_positions(stored[2], View()).corrected, rtol=1e-5)
    assert "over 900 pairs of blocks: c = " in words(app)
    assert not app.exception


def test_another_mode_is_offered_with_its_cost(open_page: Open) -> None:
    app = open_page("Tokens", kind="fixed-input", fixed="3")
    assert "Not measured yet" in words(app)
    assert app.number_input(key="fixed@tokens-fixed-input").value == 3
    assert [button.label for button in app.main.button][-1] == "Compute"


def test_the_selection_opens_its_matrix(open_page: Open, stored) -> None:
    app = open_page("Tokens", token="6", other="3")
    matrix = heat(charts(app)["matrix"])
    np.testing.assert_allclose(matrix, np.abs(stored[0].matrices[0, 5, 2]), rtol=1e-3)
    (outline,) = charts(app)["tokens"]["layout"]["shapes"]
    assert (outline["x0"], outline["y0"]) == (1.5, 4.5)
    text = words(app)
    assert "Block 12, token 6: certified" in text
    assert "Block 11, token 3: certified" in text


def test_number_inputs_and_chips_select_the_same_as_a_click(open_page: Open) -> None:
    app = open_page("Tokens")
    app.number_input(key="other_token@pair-10").set_value(4).run()
    app.pills[0].set_value(7).run()
    assert dict(app.query_params)["token"] in ("7", ["7"])
    assert dict(app.query_params)["other"] in ("4", ["4"])
    (outline,) = charts(app)["tokens"]["layout"]["shapes"]
    assert (outline["x0"], outline["y0"]) == (2.5, 5.5)
    app.switch_page(PAGES["Depth"]).run()
    assert "Not measured yet" in words(app)  # at that token


def test_the_last_token_has_one_name(open_page: Open) -> None:
    app = open_page("Tokens", token="3")
    app.number_input(key="token@pair-10").set_value(10).run()
    assert "token" not in app.query_params  # which is what Depth has stored


def test_the_pair_of_blocks_is_that_of_every_page(open_page: Open) -> None:
    app = open_page("Depth", block="3", basis="20")
    app.switch_page(PAGES["Tokens"]).run()
    assert app.number_input(key="block@pair").value == 3
    assert "Not measured yet" in words(app)


def test_matrices_take_the_place_of_scores(open_page: Open, stored) -> None:
    app = open_page("Tokens", tiles="1")
    z = heat(charts(app)["tokens"])
    np.testing.assert_allclose(z[:16, :16], np.abs(stored[0].matrices[0, 0, 0]), rtol=1e-3)


def test_a_k_that_no_mean_is_kept_at_is_said(open_page: Open) -> None:
    app = open_page("Tokens", all="1", k="45")
    assert "kept at K = 1, 2, 3, 5" in app.error[0].value


def test_views_start_no_job(open_page: Open, stored, tmp_path: Path) -> None:
    app = open_page("Tokens")
    app.number_input(key="k@sidebar").set_value(10).run()
    app.segmented_control(key="role@tokens").set_value("B").run()
    app.segmented_control(key="raw@tokens").set_value(True).run()
    expected = score_positions(stored[0], View(10, role="B")).coupling
    np.testing.assert_allclose(grid(app), expected, rtol=1e-5)
    assert not queue().active()
    assert not (tmp_path / "store").exists()


def test_a_run_opens_on_its_page(open_page: Open) -> None:
    wanted = Request(EXAMPLES[0], kind="fixed-output", block=12, other_block=11)
    state = TokensState(kind="fixed-input", token=5).of_request(wanted, 50)
    assert state.token_request(state.block, state.basis) == wanted
    assert state.token == TokensState.token
    mean = TokensState().of_request(Request("x", kind="self"), 50)
    assert mean.all_pairs
    assert mean.token_request(12, 11) == Request("x", kind="self")


@pytest.mark.parametrize(
    ("n", "first", "chosen", "shown"),
    [
        (10, 0, 4, (1, 10)),
        (10, 1, 4, (1, 10)),
        (100, 0, 1, (1, 32)),
        (100, 0, 50, (33, 64)),
        (100, 0, 64, (33, 64)),
        (100, 0, 65, (65, 96)),
        (100, 0, 100, (97, 100)),
        (100, 33, 1, (33, 64)),
        (100, 97, 1, (97, 100)),
        (100, 34, 50, (33, 64)),  # no part begins at 34
    ],
)
def test_a_window_holds_the_selected_token_or_the_chosen_part(n, first, chosen, shown) -> None:
    assert window(n, first, chosen) == tuple(range(shown[0], shown[1] + 1))


def test_every_figure_has_an_alternative_text_and_a_table(open_page: Open) -> None:
    app = open_page("Tokens")
    found = app.get("plotly_chart")
    assert len(found) == 5
    assert all(len(chart.proto.alt) > 60 for chart in found)
    assert [fold.label for fold in app.main.expander] == ["Table and files"] * len(found)
