"""The Spectrum page: what is stored shows at once, all blocks or one."""

import pytest
import tiny
from screen import charts, unpacked

from coupling_core import Request, Store, measure


@pytest.fixture
def stored(tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    return folder, measure(Request("The cat sat", model=folder, kind="spectrum"), Store())


def points(app):
    found = charts(app)["eigenvalues"]["data"]
    sent = [one["customdata"] for one in found if "customdata" in one]
    return [row for rows in sent for row in (rows if isinstance(rows, list) else unpacked(rows))]


def test_what_is_stored_shows_at_once(open_page, stored):
    folder, result = stored
    app = open_page("Spectrum", model=folder, prompt="The cat sat")
    assert not app.exception
    assert not app.error
    assert any("depart from normal ones" in one.value for one in app.markdown)
    assert len(points(app)) == result.n_blocks * result.width
    assert {"eigenvalues", "linear-maps", "products"} <= set(charts(app))


def test_one_block_is_chosen_by_a_slider_and_by_a_link(open_page, stored):
    folder, _ = stored
    app = open_page("Spectrum", model=folder, prompt="The cat sat")
    assert not [button for button in app.button if "directions of" in button.label]
    app = open_page("Spectrum", model=folder, prompt="The cat sat", only="2")
    assert {row[0] for row in points(app)} == {2}
    app.slider[0].set_value(3).run()
    assert {row[0] for row in points(app)} == {3}
    assert not app.exception
    (way,) = [button for button in app.button if "directions of block 3" in button.label]
    way.click().run()
    assert "Directions" in app.title[0].value or "directions" in app.title[0].value
    assert app.query_params["block"] == "3"


def test_the_twin_is_dotted_where_it_is_stored_and_offered_where_it_is_not(open_page, stored):
    folder, _ = stored
    app = open_page("Spectrum", model=folder, prompt="The cat sat")
    assert not [one for one in names(app, "products") if "untrained" in one]
    assert any("twin is not measured" in fold.label for fold in app.expander)
    measure(Request("The cat sat", model=folder, kind="spectrum", untrained=0), Store())
    app = open_page("Spectrum", model=folder, prompt="The cat sat")
    assert not app.exception
    assert "effective rank, untrained" in names(app, "products")
    assert "departure, untrained" in names(app, "linear-maps")


def names(app, figure):
    return [line["name"] for line in charts(app)[figure]["data"]]
