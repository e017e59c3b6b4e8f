"""Figures over many models: the traces carry the numbers of the tables, and gaps are told."""

from dataclasses import replace

import numpy as np
import pytest
from checks import trace
from sweep_table import sweep_of, zoo

from coupling_core import Question, figures, find
from coupling_core.analysis import statistics as st
from coupling_core.figures import style
from coupling_core.figures.generalization import family_looks

TABLE = sweep_of(zoo())
RUN = "coupling-explorer/mini-64"


@pytest.fixture(scope="module")
def means():
    return st.model_means(TABLE, 8)


@pytest.fixture(scope="module")
def by_k():
    return st.means_by_k(TABLE)


def test_a_symbol_a_model_stands_at_its_numbers(means):
    for x, y in (("coupling", "loss"), ("coupling", "score"), ("parameters", "coupling")):
        figure, twin = figures.over_models(means, x, y), figures.over_models_table(means, x, y)
        rows = twin.set_index("model")
        assert figure.layout.xaxis.type == ("log" if x == "parameters" else None)
        drawn = [one for one in figure.data if one.mode == "markers" and one.name != "chance"]
        assert sum(len(one.x) for one in drawn) == len(twin) == (12 if y == "score" else 19)
        for one in drawn:
            own = rows.loc[list(one.customdata)]
            assert set(own["family"]) == {one.name}
            np.testing.assert_array_equal(one.x, own[x])
            np.testing.assert_array_equal(one.y, own[y])
            both = (one.error_x, one.error_y)
            bars, other = both if x == "coupling" else both[::-1]
            np.testing.assert_allclose(own["coupling"] + bars.array, own["high"])
            np.testing.assert_allclose(own["coupling"] - bars.arrayminus, own["low"])
            assert other.array is None
            opened = [symbol.endswith("-open") for symbol in one.marker.symbol]
            assert opened == list(~own["trained"])


def test_checkpoints_are_joined_in_the_order_of_their_steps(means):
    shuffled = replace(means, rows=means.rows.sample(frac=1, random_state=3))
    line = trace(figures.over_models(shuffled, "coupling", "loss"), f"run {RUN}")
    run = means.rows[means.rows["run"] == RUN].sort_values("step")
    np.testing.assert_array_equal(line.x, run["coupling"])
    np.testing.assert_array_equal(line.y, run["loss"])


def test_fits_are_drawn_with_their_bands_and_a_fit_that_is_none_is_told(means):
    points = st.pair(means, "coupling", "loss")
    fits = [st.fit(points), st.fit(points, "exponential")]
    figure = figures.over_models(means, "coupling", "loss", fits)
    bands = [one for one in figure.data if one.name == "band"]
    for found, band in zip(fits, bands, strict=True):
        (line,) = [one for one in figure.data if one.uid == found.form]
        np.testing.assert_array_equal(line.x, found.x)
        np.testing.assert_array_equal(line.y, found.y)
        assert f"R² = {found.r_squared_y:.2f}" in line.name
        np.testing.assert_array_equal(band.y, np.concatenate([found.low, found.high[::-1]]))
    few = replace(means, rows=means.rows[:2])
    none = st.fit(st.pair(few, "coupling", "loss"))
    figure = figures.over_models(few, "coupling", "loss", [none])
    assert "band" not in {one.name for one in figure.data}
    assert none.reason in figure.layout.meta["caption"]
    table = figures.fits_table([*fits, none])
    np.testing.assert_array_equal(table["slope"], [*(f.slope for f in fits), np.nan])
    assert list(table["clustered_p"][:2]) == [found.over_clusters.p for found in fits]
    assert table["reason"][2] == none.reason


def test_what_figures_over_models_say(means, by_k, snapshot):
    points = st.pair(means, "coupling", "loss")
    nobody = replace(means, rows=means.rows[:0], absent=("Elsewhere",))
    trends = st.prompt_trends(TABLE, "tokens", 8)
    shown = {
        "over models": figures.over_models(means, "coupling", "loss", [st.fit(points)]),
        "some without": figures.over_models(means, "coupling", "score"),
        "nobody": figures.over_models(nobody, "coupling", "loss"),
        "by K": figures.coupling_by_k(by_k),
        "correlation by K": figures.correlation_by_k(find(TABLE).correlations_by_k, "loss"),
        "by prompt": figures.coupling_by_prompt(trends, "Beta-1"),
        "without families": figures.without_families(st.leave_one_family_out(points)),
        "trends": figures.prompt_correlations(trends),
    }
    assert {name: dict(figure.layout.meta) for name, figure in shown.items()} == snapshot


def test_chance_is_a_line_at_zero_or_a_floor_a_model(means):
    figure = figures.over_models(means, "coupling", "loss")
    assert [shape.x0 for shape in figure.layout.shapes] == [0]
    upright = figures.over_models(means, "layers", "coupling")
    assert [shape.y0 for shape in upright.layout.shapes] == [0]
    raw = figures.over_models(st.model_means(TABLE, 8, "coupling"), "coupling", "loss")
    for other in (raw, figures.over_models(means, "layers", "loss")):
        assert not other.layout.shapes
    floors = trace(raw, "chance")
    np.testing.assert_array_equal(floors.x, [0.5] * 19)
    assert sorted(floors.y) == sorted(means.rows["loss"])


def test_families_differ_without_their_colours_and_keep_their_looks():
    looks = family_looks([f"F{i:02}" for i in range(20)])
    assert len(set(looks.values())) == 20
    _, symbols = zip(*looks.values(), strict=True)
    assert len(set(symbols[:8])) == 8
    assert family_looks(["b", "a"]) == family_looks(["a", "b", "a"])


def test_the_correlation_against_k_has_both_intervals(by_k):
    found = find(TABLE, Question(8, method="spearman")).correlations_by_k
    found[32] = st.correlate(st.pair(replace(by_k[8], rows=by_k[8].rows[:2]), "coupling", "loss"))
    found[64] = replace(found[16], over_clusters=replace(found[16].over_clusters, p=0.06))
    figure, twin = figures.correlation_by_k(found, "loss"), figures.correlations_table(found, "k")
    line, outer = trace(figure, "correlation"), trace(figure, "outer")
    np.testing.assert_array_equal(line.y, [one.estimate for one in found.values()])
    np.testing.assert_allclose(line.y + line.error_y.array, twin["high"])
    np.testing.assert_allclose(outer.y - outer.error_y.arrayminus, twin["outer_low"])
    assert list(line.customdata) == [19, 19, 19, 2, 19]
    assert list(line.marker.symbol) == ["circle"] * 3 + ["circle-open"] * 2
    assert np.isnan(line.y[3])
    assert f"K = 32: {found[32].reason}" in figure.layout.meta["alt"]


def test_the_prompts_of_one_model_over_the_trends_of_all():
    for x in ("tokens", "difficulty"):
        trends = st.prompt_trends(TABLE, x, 8)
        figure = figures.coupling_by_prompt(trends, "Beta-1")
        own = next(one for one in trends.models if one.model == "Beta-1")
        dots, twin = trace(figure, "prompts"), figures.by_prompt_table(own, x)
        np.testing.assert_array_equal(dots.x, twin[x])
        np.testing.assert_array_equal(dots.y, twin["coupling"])
        assert list(dots.customdata) == list(twin["prompt"])
        line = trace(figure, "trend")
        np.testing.assert_allclose(line.y, own.intercept + own.slope * np.asarray(line.x))
        assert len(figure.data) == 20
        assert trace(figure, "Beta-0").line.color != style.ACCENT == line.line.color


def test_a_model_without_a_trend_is_told():
    broken = TABLE.assign(corrected=TABLE["corrected"].where(TABLE["model"] != "Beta-1"))
    trends = st.prompt_trends(broken, "tokens", 8)
    figure = figures.coupling_by_prompt(trends, "Beta-1")
    assert "trend" not in {one.name for one in figure.data}
    reason = next(one.rho.reason for one in trends.models if one.model == "Beta-1")
    assert reason in figure.layout.meta["caption"]
    missing = trace(figures.prompt_correlations(trends), "no estimate")
    assert (list(missing.y), missing.text[0]) == (["Beta-1"], reason)


def rows_of(figure, name):
    """(row: (estimate, low, high)) of the traces of that name."""
    return {
        row: (at, at - down, at + up)
        for one in figure.data
        if one.name == name
        for row, at, up, down in zip(
            one.customdata, one.x, one.error_x.array, one.error_x.arrayminus, strict=True
        )
    }


def test_trends_of_models_are_a_forest_with_their_mean_first():
    trends = st.prompt_trends(TABLE, "tokens", 8)
    figure, twin = figures.prompt_correlations(trends), figures.correlations_table(trends.rows)
    drawn = rows_of(figure, "estimate")
    first = (trends.mean.estimate, trends.mean.over.low, trends.mean.over.high)
    assert drawn[twin["row"][0]] == pytest.approx(first)
    for one in trends.models:
        expected = (one.rho.estimate, one.rho.over.low, one.rho.over.high)
        assert drawn[one.model] == pytest.approx(expected)
