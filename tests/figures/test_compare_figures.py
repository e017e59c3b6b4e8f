"""A comparison as it is drawn: two maps in one range, their difference round 0, two spectra."""

import numpy as np
import pytest
from cases import SCORES, VIEW, planted, random_result
from checks import trace
from masked import masked

from coupling_core import View, figures
from coupling_core.analysis.compare import compare
from coupling_core.figures.export import on_paper
from coupling_core.figures.style import CORRECTED_RANGE, DIFFERENCE_LIMIT


@pytest.fixture(scope="module")
def same():
    return compare(random_result(0), random_result(1), View(k=6))


@pytest.fixture(scope="module")
def other():
    """Five blocks against three."""
    return compare(planted(SCORES), planted(np.eye(3)), VIEW)


def test_both_maps_have_one_range_and_their_own_scores(same):
    raw = compare(random_result(0), random_result(1), View(k=6), corrected=False)
    for found, bounds in ((same, CORRECTED_RANGE), (raw, (0, 1))):
        a, b = (figures.compared_map(found, side).data[0] for side in "AB")
        off = ~np.eye(len(a.z), dtype=bool)
        assert a.z[off] == pytest.approx(found.a_values[off], abs=1e-6)
        assert b.z[off] == pytest.approx(found.b_values[off], abs=1e-6)
        assert (a.zmin, a.zmax) == (b.zmin, b.zmax) == bounds
    assert raw.a_values == pytest.approx(raw.a_scores.coupling)


def test_the_difference_is_drawn_round_zero(same):
    shown = figures.difference(same).data[0]
    off = ~np.eye(len(shown.z), dtype=bool)
    assert shown.z[off] == pytest.approx((same.a_values - same.b_values)[off], abs=1e-6)
    assert np.isnan(np.diag(shown.z)).all()
    assert (shown.zmin, shown.zmax) == (-DIFFERENCE_LIMIT, DIFFERENCE_LIMIT)
    bar = dict(zip(shown.colorbar.tickvals, shown.colorbar.ticktext, strict=True))
    assert bar == {-0.3: "≤ \u22120.3", -0.15: "\u22120.15", 0: "0", 0.15: "0.15", 0.3: "≥ 0.3"}
    middle = shown.colorscale[len(shown.colorscale) // 2]
    assert middle[0] == 0.5


def test_every_map_selects_by_the_numbers_of_a(other):
    pairs = [[[row, column] for column in (1, 3, 5)] for row in (1, 3, 5)]
    maps = [figures.compared_map(other, "A"), figures.compared_map(other, "B")]
    for figure in (*maps, figures.difference(other)):
        assert np.array(trace(figure, "pairs").customdata).tolist() == pairs
    assert list(maps[1].layout.xaxis.ticktext) == ["1", "2", "3"]
    assert list(maps[0].layout.xaxis.ticktext) == ["1", "3", "5"]


def test_the_selected_pair_is_outlined_at_the_same_place_on_every_map(other):
    maps = [figures.compared_map(other, side, selected=(5, 3)) for side in "AB"]
    for figure in (*maps, figures.difference(other, selected=(5, 3))):
        (square,) = figure.layout.shapes
        assert (square.x0, square.x1, square.y0, square.y1) == (0.5, 1.5, 1.5, 2.5)
    assert not figures.difference(other, selected=(2, 3)).layout.shapes


def test_what_comparisons_say(same, other, snapshot):
    whole, matched = figures.difference(same), figures.difference(other)
    said = {
        "difference": dict(whole.layout.meta),
        "matched blocks": dict(matched.layout.meta),
        "all three": dict(figures.comparison(same).layout.meta),
        "bar": whole.data[0].colorbar.title.text,
        "hover": trace(matched, "pairs").text[1, 0],
    }
    assert masked(said) == snapshot
    page = on_paper(whole, same.a, same.view)
    assert "B: random at token" in page.layout.annotations[0].text.replace("<br>", " ")


def test_what_one_of_the_two_lacks_is_grey_and_named():
    found = compare(planted(SCORES, rank=np.array([8, 8, 0, 8, 8])), planted(SCORES), VIEW)
    (grey,) = [t for t in figures.difference(found).data if t.showlegend]
    assert np.array_equal(grey.z == 0, np.isnan(found.difference) | np.eye(5, dtype=bool))
    named = [t.name for t in figures.comparison(found).data if t.showlegend]
    assert grey.name in named
    assert len([name for name in named if "rank below K" in name]) == 1


def test_all_three_stand_in_one_file(same):
    whole = figures.comparison(same)
    maps = [t for t in whole.data if t.type == "heatmap" and not t.showlegend]
    maps = [t for t in maps if t.name in ("scores", "difference")]
    assert [np.array(t.z).shape for t in maps] == [(5, 5)] * 3
    assert [t.xaxis for t in maps] == ["x", "x2", "x3"]
    assert (maps[0].zmin, maps[0].zmax) == (maps[1].zmin, maps[1].zmax)
    assert [a.text for a in whole.layout.annotations] == ["A", "B", "A - B"]
    page = on_paper(whole, same.a, same.view)
    assert page.layout.width == whole.layout.width > page.layout.height


def test_the_spectra_lie_over_each_other(other):
    figure = figures.spectra(other, 5, 3)
    lines = {line.name: line for line in figure.data}
    assert list(lines) == [
        "A, block 5 (Jacobian)", "A, block 3 (basis)", "B, block 3 (Jacobian)", "B, block 2 (basis)"
    ]  # fmt: skip
    assert lines["B, block 3 (Jacobian)"].y == pytest.approx(other.b.singular_values[2])
    assert lines["A, block 3 (basis)"].y == pytest.approx(other.a.singular_values[2])
    assert figure.layout.yaxis.type == "log"


def test_the_table_has_every_pair_once(same):
    table = figures.differences_table(same)
    assert len(table) == 20
    assert (table.a - table.b).to_numpy() == pytest.approx(table.difference.to_numpy())
    assert list(table.difference.abs()) == sorted(table.difference.abs(), reverse=True)
