"""A shallow bidirectional model in the app: six blocks, no head, no final norm."""

import numpy as np
import pytest
from screen import Open, charts, coloured, heat, words

from coupling_core import Request, Store, View, measure, score_pairs

pytestmark = pytest.mark.real
LINK = {"model": "minilm-l6", "prompt": "What is the capital of France?"}


@pytest.fixture
def stored():
    """The trained model's result, in the store of the test."""
    return measure(Request(**LINK), Store(), device="cpu")


def test_what_would_be_measured_is_the_separator(open_page: Open) -> None:
    app = open_page("Depth", **LINK)
    assert "9 tokens, of which the tokenizer added 2; token 9 is measured." in words(app)
    chosen = next(box for box in app.selectbox if box.label == "Token")
    assert chosen.options[0] == "9 · [SEP] (special) (last)"
    assert [button.label for button in app.main.button] == ["Compute"]


def test_it_is_offered(open_page: Open) -> None:
    app = open_page("Start", **LINK)
    chosen = app.selectbox(key="model@list")
    assert chosen.value == "minilm-l6"
    assert chosen.options[:2] == ["smollm2-135m", "minilm-l6"]


def test_depth_shows_all_its_blocks(open_page: Open, stored) -> None:
    app = open_page("Depth", **LINK)
    assert not app.exception
    assert not app.warning
    text = words(app)
    assert "token 9 of 9, “\\[SEP\\]”" in text
    assert "no final norm" in text
    assert "6 of 6 SVDs certified" in text
    found = charts(app)
    np.testing.assert_allclose(
        heat(found["scores"]), coloured(score_pairs(stored, View()).corrected), rtol=1e-5
    )
    assert found["mosaic"]["layout"]["xaxis"]["ticktext"] == [str(n) for n in range(1, 7)]
    assert "Mosaic" not in [switch.label for switch in app.segmented_control]
    (line,) = [each for each in app.pills if each.key.startswith("token@chips")]
    assert line.value == 9
    assert line.options[-1] == "*\\[SEP\\]* :small[9]"
    assert "most likely" not in text


def test_the_pair_to_begin_with_is_of_two_blocks(open_page: Open, stored) -> None:
    """The pair that suits deeper models is past this one's last block."""
    app = open_page("Depth", **LINK)
    assert "Block 6 in the basis of block 5" in words(app)
    app.number_input(key="block@pair").set_value(3).run()
    assert "Block 3 in the basis of block 5" in words(app)
    assert not app.warning
    np.testing.assert_allclose(
        heat(charts(app)["matrix"]), np.abs(stored.matrices[0, 2, 4]), rtol=1e-3
    )


def test_a_pair_that_a_link_asks_for_in_vain_is_told(open_page: Open, stored) -> None:
    app = open_page("Depth", **LINK, block="9")
    assert "This model has blocks 1 to 6" in app.warning[0].value


def test_start_shows_it_beside_a_twin_that_is_not_measured(open_page: Open, stored) -> None:
    app = open_page("Start", **LINK)
    assert not app.exception
    assert not app.warning
    assert {"scores", "matrix-trained"} <= set(charts(app))
    assert app.info[0].value.startswith("Not measured yet: about ")
    assert "Measure the untrained twin too" in [button.label for button in app.button]
