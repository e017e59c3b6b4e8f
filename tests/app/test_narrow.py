"""Models narrower than the default K of 50: no page refuses them at a K that nobody chose."""

from pathlib import Path

import numpy as np
import pytest
import tiny
from screen import Open, charts, coloured, heat, words

from coupling_core import Request, Store, measure

WIDTH = 32
RANK = WIDTH - 1
"""What a layer norm leaves of it, and so the K at which the model is looked at."""


@pytest.fixture(scope="module")
def link(tmp_path_factory) -> dict[str, str]:
    folder: Path = tiny.folder(tmp_path_factory.mktemp("models") / "narrow", "gpt2")
    return {"model": str(folder), "prompt": "The cat sat"}


@pytest.mark.parametrize("title", ["Depth", "Layer graph", "Tokens"])
def test_it_is_offered_before_anything_is_measured(
    open_page: Open, link: dict[str, str], title: str
) -> None:
    app = open_page(title, **link)
    assert not app.error
    assert "Compute" in [button.label for button in app.button]


@pytest.mark.parametrize(
    ("title", "figure", "asked"),
    [
        ("Depth", "scores", {}),
        ("Layer graph", "graph", {}),
        ("Tokens", "tokens", {"kind": "self", "block": 4, "other_block": 3}),
    ],
)
def test_it_is_looked_at_with_all_that_it_has(
    open_page: Open, link: dict[str, str], title: str, figure: str, asked: dict
) -> None:
    found = measure(Request(**link, **asked), Store(), device="cpu")
    assert (found.width, found.default_k) == (WIDTH, RANK)
    app = open_page(title, **link)
    assert not app.error
    assert f"K = {RANK}" in words(app)
    assert figure in charts(app)
    assert app.number_input(key="k@sidebar").value == WIDTH
    assert "k" not in app.query_params
    if figure == "scores":
        np.testing.assert_allclose(
            heat(charts(app)["scores"]), coloured(found.scores().corrected), rtol=1e-5
        )


def test_a_k_that_was_chosen_and_is_too_large_is_told(
    open_page: Open, link: dict[str, str]
) -> None:
    measure(Request(**link), Store(), device="cpu")
    app = open_page("Depth", **link)
    app.number_input(key="k@sidebar").set_value(WIDTH + 5).run()
    assert "K = 37 is more than the model's width, 32; K = 31 is shown" in app.warning[0].value
    assert "scores" in charts(app)
    app.number_input(key="k@sidebar").set_value(4).run()
    assert not app.warning
    assert "K = 4" in words(app)
