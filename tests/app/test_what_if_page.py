"""The What if page: what is stored shows at once, the map of effects beside that of coupling."""

import numpy as np
import tiny
from screen import charts, heat

from coupling_core import EffectView, Request, Store, effect_maps, measure


def test_a_stored_result_is_drawn_beside_the_coupling_of_its_blocks(open_page, tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    result = measure(Request("The cat sat", model=folder, kind="what-if"), Store())
    measure(Request("The cat sat", model=folder, k=8), Store())
    app = open_page("What if", model=folder, prompt="The cat sat", k="8", edit="replace")
    assert not app.exception
    assert not app.error
    found = heat(charts(app)["effects"])
    expected = effect_maps(result, EffectView()).replace
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(found[apart], np.log10(expected[apart]), rtol=1e-3, atol=1e-3)
    assert np.isnan(found[~apart]).all()
    assert heat(charts(app)["scores"]).shape == (4, 4)
    assert any("is missed least" in one.value for one in app.markdown)
    lines = charts(app)["effects-by-block"]["data"]
    assert [line["name"] for line in lines][:2] == ["skip", "repeat"]
