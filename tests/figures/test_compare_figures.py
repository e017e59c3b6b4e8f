"""A comparison as it is drawn: two maps in one range, their difference round 0, two spectra."""

import numpy as np
import pytest
from cases import SCORES, VIEW, planted, random_result
from checks import trace

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
    a, b = (figures.compared_map(same, side).data[0] for side in "AB")
    off = ~np.eye(len(a.z), dtype=bool)
    assert a.z[off] == pytest.approx(same.a_values[off], abs=1e-6)
    assert b.z[off] == pytest.approx(same.b_values[off], abs=1e-6)
    assert (a.zmin, a.zmax) == (b.zmin, b.zmax) == CORRECTED_RANGE


def test_raw_scores_have_theirs():
    found = compare(random_result(0), random_result(1), View(k=6), corrected=False)
    shown = figures.compared_map(found, "A").data[0]
    off = ~np.eye(len(shown.z), dtype=bool)
    assert shown.z[off] == pytest.approx(found.a_scores.coupling[off], abs=1e-6)
    assert (shown.zmin, shown.zmax) == (0, 1)


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
    assert shown.colorbar.title.text.startswith("A - B, chance-corrected score")


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


def test_the_hover_text_has_both_scores(other):
    text = trace(figures.difference(other), "pairs").text[1, 0]
    assert text == (
        "Jacobian of block 3 in the basis of block 1<br>"
        "A 0.700, B (blocks 2 and 1) 0.000<br>A - B +0.700"
    )


def test_what_one_of_the_two_lacks_is_grey_and_named():
    found = compare(planted(SCORES, rank=np.array([8, 8, 0, 8, 8])), planted(SCORES), VIEW)
    figure = figures.difference(found)
    itself = "a block with itself: 1 in both"
    grey = trace(figure, f"{itself}, or no score in one of the two")
    assert np.array_equal(grey.z == 0, np.isnan(found.difference) | np.eye(5, dtype=bool))
    whole = figures.comparison(found)
    named = [t.name for t in whole.data if t.showlegend]
    of_one = "a block with itself: always 1"
    assert sorted(named) == [
        f"{itself}, or no score in one of the two",
        of_one,
        f"{of_one}, or undefined (rank below K)",
    ]


def test_the_words_have_the_means_and_both_sources(same):
    figure = figures.difference(same)
    alt, source = figure.layout.meta["alt"], figure.layout.meta["source"]
    assert f"means are {same.a_values[same.counted].mean():.3f}" in alt
    assert "Over 20 pairs" in alt
    assert source.startswith("A: random at token 4 of 4")
    assert "Between them: the model itself, under one name: its weights" in source
    page = on_paper(figure, same.a, same.view)
    assert "B: random at token" in page.layout.annotations[0].text.replace("<br>", " ")


def test_matched_blocks_are_explained(other):
    assert "nearest relative depth" in figures.difference(other).layout.meta["caption"]
    assert "5 against 3" in figures.difference(other).layout.meta["source"]


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
