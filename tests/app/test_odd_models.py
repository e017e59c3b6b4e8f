"""Models that are narrower, shallower or other than those that ship."""

from pathlib import Path

import numpy as np
import pytest
import tiny
from handling import labels
from screen import Open, charts, coloured, heat, words

from coupling_core import Request, Store, View, measure, score_pairs

pytestmark = pytest.mark.full

WIDTH = 32
RANK = WIDTH - 1
"""What a layer norm leaves of it, and so the K at which the model is looked at."""
BIDIRECTIONAL = {"model": "minilm-l6", "prompt": "What is the capital of France?"}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A link to one that is narrower than the default K of 50."""
    folder: Path = tiny.folder(tmp_path_factory.mktemp("models") / "narrow", "gpt2")
    return {"model": str(folder), "prompt": "The cat sat"}


@pytest.mark.parametrize(
    ("title", "figure", "asked"),
    [
        ("Depth", "scores", {}),
        ("Layer graph", "graph", {}),
        ("Tokens", "tokens", {"kind": "self", "block": 4, "other_block": 3}),
    ],
)
def test_a_narrow_model_is_offered_and_looked_at_with_all_that_it_has(
    open_page: Open, narrow: dict[str, str], title: str, figure: str, asked: dict
) -> None:
    app = open_page(title, **narrow)
    assert not app.error
    assert "Compute" in labels(app)
    found = measure(Request(**narrow, **asked), Store(), device="cpu")
    assert (found.width, found.default_k) == (WIDTH, RANK)
    app = open_page(title, **narrow)
    assert not app.error
    assert f"K = {RANK}" in words(app)
    assert figure in charts(app)
    assert app.number_input(key="k@sidebar").value == WIDTH
    assert "k" not in app.query_params


def test_a_k_that_was_chosen_and_is_too_large_for_it_is_told(
    open_page: Open, narrow: dict[str, str]
) -> None:
    found = measure(Request(**narrow), Store(), device="cpu")
    app = open_page("Depth", **narrow)
    app.number_input(key="k@sidebar").set_value(WIDTH + 5).run()
    assert all(number in app.warning[0].value for number in ("37", "32", "31"))
    scores = coloured(found.scores().corrected)
    np.testing.assert_allclose(heat(charts(app)["scores"]), scores, rtol=1e-5)
    app.number_input(key="k@sidebar").set_value(4).run()
    assert not app.warning
    assert "K = 4" in words(app)


@pytest.mark.real
def test_a_bidirectional_model_is_measured_at_its_separator(open_page: Open) -> None:
    app = open_page("Depth", **BIDIRECTIONAL)
    assert "token 9 is measured" in words(app)
    chosen = next(box for box in app.selectbox if box.label == "Token")
    assert "[SEP]" in chosen.options[0]
    assert [button.label for button in app.main.button] == ["Compute"]
    stored = measure(Request(**BIDIRECTIONAL), Store(), device="cpu")
    app = open_page("Depth", **BIDIRECTIONAL)
    assert not app.warning
    found = charts(app)
    scores = coloured(score_pairs(stored, View()).corrected)
    np.testing.assert_allclose(heat(found["scores"]), scores, rtol=1e-5)
    assert found["mosaic"]["layout"]["xaxis"]["ticktext"] == [str(n) for n in range(1, 7)]
    (line,) = [each for each in app.pills if each.key.startswith("token@chips")]
    assert line.value == 9
    assert "most likely" not in words(app)


@pytest.mark.real
def test_a_shallow_model_has_a_pair_of_its_own_to_begin_with(open_page: Open) -> None:
    """The pair that suits deeper models is past this one's last block."""
    stored = measure(Request(**BIDIRECTIONAL), Store(), device="cpu")
    app = open_page("Depth", **BIDIRECTIONAL)
    assert "Block 6 in the basis of block 5" in words(app)
    app.number_input(key="block@pair").set_value(3).run()
    assert "Block 3 in the basis of block 5" in words(app)
    assert not app.warning
    matrix = np.abs(stored.matrices[0, 2, 4])
    np.testing.assert_allclose(heat(charts(app)["matrix"]), matrix, rtol=1e-3)
    app = open_page("Start", **BIDIRECTIONAL)
    assert not app.warning
    assert {"scores", "matrix-trained"} <= set(charts(app))
    assert "Measure the untrained twin too" in labels(app)
    chosen = app.selectbox(key="model@list")
    assert (chosen.value, chosen.options[:2]) == ("minilm-l6", ["smollm2-135m", "minilm-l6"])
