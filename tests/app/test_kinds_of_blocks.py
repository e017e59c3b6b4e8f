"""Spectrum and Perturbation: what is stored shows at once, as a link or a slider chose it."""

from pathlib import Path

import pytest
import tiny
from handling import labels, press
from screen import Open, charts, unpacked
from streamlit.testing.v1 import AppTest

from coupling_core import Request, Store, measure

pytestmark = pytest.mark.full


@pytest.fixture
def link(tmp_path: Path) -> dict[str, str]:
    return {"model": str(tiny.folder(tmp_path / "tiny")), "prompt": "The cat sat"}


def names(app: AppTest, figure: str) -> list[str]:
    return [line["name"] for line in charts(app)[figure]["data"]]


def points(app: AppTest) -> list:
    """What each eigenvalue carries along: its block first."""
    found = charts(app)["eigenvalues"]["data"]
    sent = [one["customdata"] for one in found if "customdata" in one]
    return [row for rows in sent for row in (rows if isinstance(rows, list) else unpacked(rows))]


def test_eigenvalues_are_shown_of_all_blocks_or_of_one(
    open_page: Open, link: dict[str, str]
) -> None:
    result = measure(Request(**link, kind="spectrum"), Store())
    app = open_page("Spectrum", **link)
    assert len(points(app)) == result.n_blocks * result.width
    assert not [label for label in labels(app) if "directions of" in label]
    app = open_page("Spectrum", **link, only="2")
    assert {row[0] for row in points(app)} == {2}
    app.slider[0].set_value(3).run()
    assert {row[0] for row in points(app)} == {3}
    (way,) = [label for label in labels(app) if "directions of block 3" in label]
    app = press(app, way)
    assert app.title[0].value == "What do a block's directions say?"
    assert app.query_params["block"] == "3"


def test_a_size_of_noise_is_chosen_by_a_link_and_by_the_slider(
    open_page: Open, link: dict[str, str]
) -> None:
    measure(Request(**link, kind="perturbation"), Store())
    app = open_page("Perturbation", **link, noise="0.35")
    assert "block 4, first order" in names(app, "by-size")
    assert "0.3 of the embedding" in charts(app)["by-depth"]["layout"]["meta"]["alt"]
    app.select_slider(key="noise@sidebar").set_value(1.0).run()
    assert not app.exception
    assert "1 of the embedding" in charts(app)["by-depth"]["layout"]["meta"]["alt"]
    assert app.query_params["noise"] == "1"


@pytest.mark.parametrize(
    ("kind", "title", "figures"),
    [
        ("spectrum", "Spectrum", ("products", "linear-maps")),
        ("perturbation", "Perturbation", ("by-size", "radius", "by-depth")),
    ],
)
def test_the_twin_is_drawn_where_it_is_stored_and_offered_where_it_is_not(
    open_page: Open, link: dict[str, str], kind: str, title: str, figures: tuple[str, ...]
) -> None:
    measure(Request(**link, kind=kind), Store())
    app = open_page(title, **link)
    assert not [one for name in figures for one in names(app, name) if "untrained" in one]
    assert any("twin is not measured" in fold.label for fold in app.expander)
    measure(Request(**link, kind=kind, untrained=0), Store())
    app = open_page(title, **link)
    assert [
        name for name in figures if not any("untrained" in one for one in names(app, name))
    ] == []
