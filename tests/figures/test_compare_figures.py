"""A comparison as it is drawn: two maps in one range, their difference round 0, two spectra."""

import numpy as np
import pytest
from cases import SCORES, VIEW, planted, random_result
from checks import trace
from masked import masked

from coupling_core import View, figures
from coupling_core.analysis.compare import compare
from coupling_core.figures.export import on_paper
from coupling_core.figures.style import CORRECTED_COLORS, DIFFERENCE_LIMIT

SAME = compare(random_result(0), random_result(1), View(k=6))
OTHER = compare(planted(SCORES), planted(np.eye(3)), VIEW)
"""Five blocks against three."""
OFF = ~np.eye(5, dtype=bool)


def test_both_maps_have_one_range_and_their_own_scores():
    raw = compare(SAME.a, SAME.b, View(k=6), corrected=False)
    for found, bounds in ((SAME, CORRECTED_COLORS), (raw, (0, 1))):
        for side, values in (("A", found.a_values), ("B", found.b_values)):
            shown = figures.compared_map(found, side).data[0]
            assert shown.z[OFF] == pytest.approx(values[OFF], abs=1e-6)
            assert (shown.zmin, shown.zmax) == bounds
    assert raw.a_values == pytest.approx(raw.a_scores.coupling)


def test_the_difference_is_drawn_round_zero():
    shown = figures.difference(SAME).data[0]
    assert shown.z[OFF] == pytest.approx((SAME.a_values - SAME.b_values)[OFF], abs=1e-6)
    assert np.isnan(np.diag(shown.z)).all()
    assert (shown.zmin, shown.zmax) == (-DIFFERENCE_LIMIT, DIFFERENCE_LIMIT)
    assert list(shown.colorbar.tickvals) == [-0.3, -0.15, 0, 0.15, 0.3]
    assert shown.colorscale[len(shown.colorscale) // 2][0] == 0.5


def test_every_map_selects_by_the_numbers_of_a():
    pairs = [[[row, column] for column in (1, 3, 5)] for row in (1, 3, 5)]
    maps = [figures.compared_map(OTHER, side, selected=(5, 3)) for side in "AB"]
    for figure in (*maps, figures.difference(OTHER, selected=(5, 3))):
        assert np.array(trace(figure, "pairs").customdata).tolist() == pairs
        (square,) = figure.layout.shapes
        assert (square.x0, square.x1, square.y0, square.y1) == (0.5, 1.5, 1.5, 2.5)
    assert [list(m.layout.xaxis.ticktext) for m in maps] == [["1", "3", "5"], ["1", "2", "3"]]
    assert not figures.difference(OTHER, selected=(2, 3)).layout.shapes


def test_what_comparisons_say(snapshot):
    whole, matched = figures.difference(SAME), figures.difference(OTHER)
    said = {
        "difference": dict(whole.layout.meta),
        "matched blocks": dict(matched.layout.meta),
        "all three": dict(figures.comparison(SAME).layout.meta),
        "bar": whole.data[0].colorbar.title.text,
        "hover": trace(matched, "pairs").text[1, 0],
    }
    assert masked(said) == snapshot
    page = on_paper(whole, SAME.a, SAME.view)
    assert "B: random at token" in page.layout.annotations[0].text.replace("<br>", " ")


def test_what_one_of_the_two_lacks_is_grey_and_named():
    found = compare(planted(SCORES, rank=np.array([8, 8, 0, 8, 8])), planted(SCORES), VIEW)
    (grey,) = [t for t in figures.difference(found).data if t.showlegend]
    assert np.array_equal(grey.z == 0, np.isnan(found.difference) | ~OFF)
    named = [t.name for t in figures.comparison(found).data if t.showlegend]
    assert grey.name in named
    assert len([name for name in named if "rank below K" in name]) == 1
