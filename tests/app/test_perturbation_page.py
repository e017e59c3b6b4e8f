"""The Perturbation page: what is stored shows at once, at the size that was chosen."""

import pytest
import tiny
from screen import charts, words

from coupling_core import Request, Store, measure


@pytest.fixture
def stored(tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    return folder, measure(Request("The cat sat", model=folder, kind="perturbation"), Store())


def names(app, figure):
    return [line["name"] for line in charts(app)[figure]["data"]]


def test_what_is_stored_shows_at_once(open_page, stored):
    folder, _ = stored
    app = open_page("Perturbation", model=folder, prompt="The cat sat")
    assert not app.exception
    assert not app.error
    assert "the product of the linear blocks is off" in words(app)
    assert {"by-size", "radius", "by-depth"} <= set(charts(app))
    assert "block 4, first order" in names(app, "by-size")


def test_a_size_is_chosen_by_a_link_and_by_the_slider(open_page, stored):
    folder, _ = stored
    app = open_page("Perturbation", model=folder, prompt="The cat sat", noise="0.35")
    assert "0.3 of the embedding" in charts(app)["by-depth"]["layout"]["meta"]["alt"]
    app.select_slider(key="noise@sidebar").set_value(1.0).run()
    assert not app.exception
    assert "1 of the embedding" in charts(app)["by-depth"]["layout"]["meta"]["alt"]
    assert app.query_params["noise"] == "1"


def test_the_twin_is_dotted_where_it_is_stored_and_offered_where_it_is_not(open_page, stored):
    folder, _ = stored
    app = open_page("Perturbation", model=folder, prompt="The cat sat")
    assert not [one for one in names(app, "radius") if "untrained" in one]
    assert any("twin is not measured" in fold.label for fold in app.expander)
    measure(Request("The cat sat", model=folder, kind="perturbation", untrained=0), Store())
    app = open_page("Perturbation", model=folder, prompt="The cat sat")
    assert not app.exception
    for figure in ("by-size", "radius", "by-depth"):
        assert any("untrained" in one for one in names(app, figure)), figure
