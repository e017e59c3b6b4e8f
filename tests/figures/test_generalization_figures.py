"""Figures over many models: the traces carry the numbers of the tables, and gaps are told."""

from dataclasses import replace

import numpy as np
import pytest
from cases import VIEW, planted
from checks import trace
from sweep_table import KS, sweep_of, zoo

from coupling_core import InputError, figures
from coupling_core.analysis import statistics as st
from coupling_core.figures import style
from coupling_core.figures.export import on_paper
from coupling_core.figures.generalization import family_looks
from coupling_core.figures.generalization_words import once

RUN = "coupling-explorer/mini-64"


@pytest.fixture(scope="module")
def table():
    return sweep_of(zoo())


@pytest.fixture(scope="module")
def means(table):
    return st.model_means(table, 8)


@pytest.fixture(scope="module")
def by_k(table):
    return st.means_by_k(table)


def families_of(figure):
    return [one for one in figure.data if one.mode == "markers" and one.name != "chance"]


# ---- two numbers of each model


@pytest.mark.parametrize(
    ("x", "y"), [("coupling", "loss"), ("coupling", "score"), ("parameters", "coupling")]
)
def test_a_symbol_a_model_stands_at_its_numbers(means, x, y):
    figure, twin = figures.over_models(means, x, y), figures.over_models_table(means, x, y)
    rows = twin.set_index("model")
    drawn = families_of(figure)
    assert len(twin) == (12 if y == "score" else 19)
    assert sum(len(one.x) for one in drawn) == len(twin)
    for one in drawn:
        own = rows.loc[list(one.customdata)]
        assert set(own["family"]) == {one.name}
        np.testing.assert_array_equal(one.x, own[x])
        np.testing.assert_array_equal(one.y, own[y])
        bars, other = (one.error_x, one.error_y) if x == "coupling" else (one.error_y, one.error_x)
        np.testing.assert_allclose(own["coupling"] + bars.array, own["high"])
        np.testing.assert_allclose(own["coupling"] - bars.arrayminus, own["low"])
        assert other.array is None
        opened = [symbol.endswith("-open") for symbol in one.marker.symbol]
        assert opened == list(~own["trained"])
    assert f"{len(twin)} models" in figure.layout.meta["alt"]


def test_sizes_against_performance_have_no_bars(means):
    figure = figures.over_models(means, "training_tokens", "score")
    assert all(one.error_x.array is None is one.error_y.array for one in families_of(figure))
    assert "low" not in figures.over_models_table(means, "training_tokens", "score")


def test_checkpoints_are_joined_in_the_order_of_their_steps(means):
    shuffled = replace(means, rows=means.rows.sample(frac=1, random_state=3))
    (line,) = [
        one
        for one in figures.over_models(shuffled, "coupling", "loss").data
        if one.name and one.name.startswith("run ")
    ]
    run = means.rows[means.rows["run"] == RUN].sort_values("step")
    assert line.name == f"run {RUN}"
    np.testing.assert_array_equal(line.x, run["coupling"])
    np.testing.assert_array_equal(line.y, run["loss"])


def test_fits_are_drawn_with_their_bands_and_told(means):
    points = st.pair(means, "coupling", "loss")
    fits = [st.fit(points), st.fit(points, "exponential")]
    figure = figures.over_models(means, "coupling", "loss", fits)
    for found, dash in zip(fits, ("solid", "dash"), strict=True):
        (line,) = [one for one in figure.data if one.uid == found.form]
        np.testing.assert_array_equal(line.x, found.x)
        np.testing.assert_array_equal(line.y, found.y)
        assert (line.line.dash, line.legend) == (dash, "legend2")
        assert f"R² = {found.r_squared_y:.2f}" in line.name
        assert line.name in figure.layout.meta["alt"]
        assert f"{found.slope:.3g}" in figure.layout.meta["caption"]
    bands = [one for one in figure.data if one.name == "band"]
    for found, band in zip(fits, bands, strict=True):
        np.testing.assert_array_equal(band.y, np.concatenate([found.low, found.high[::-1]]))
    twin = figures.fits_table(fits)
    assert list(twin["slope"]) == [found.slope for found in fits]
    assert list(twin["clustered_p"]) == [found.over_clusters.p for found in fits]


def test_a_fit_that_is_none_is_told_and_not_drawn(means):
    few = replace(means, rows=means.rows[:2])
    found = st.fit(st.pair(few, "coupling", "loss"))
    figure = figures.over_models(few, "coupling", "loss", [found])
    assert not [one for one in figure.data if one.name == "band"]
    assert "No linear fit: only 2 models have both coupling" in figure.layout.meta["caption"]
    assert figures.fits_table([found])["reason"][0] == found.reason


def test_who_is_not_drawn_is_named(means):
    caption = figures.over_models(means, "coupling", "score").layout.meta["caption"]
    assert f"because coupling or score is missing: {RUN}@step0, " in caption
    assert "and 3 more." in caption
    absent = figures.over_models(replace(means, absent=("Elsewhere",)), "coupling", "loss")
    assert "Not measured at K = 8: Elsewhere." in absent.layout.meta["caption"]
    nobody = figures.over_models(replace(means, rows=means.rows[:0]), "coupling", "loss")
    assert nobody.layout.meta["alt"].endswith("no model has both numbers.")


def test_axes_are_logarithmic_where_sizes_span_decades(means):
    types = {
        x: figures.over_models(means, x, "coupling").layout.xaxis.type
        for x in ("parameters", "width", "training_tokens", "layers")
    }
    assert types == {"parameters": "log", "width": "log", "training_tokens": "log", "layers": None}
    assert figures.over_models(means, "coupling", "loss").layout.xaxis.type is None


def test_chance_is_a_line_at_zero_or_a_floor_a_model(table, means):
    figure = figures.over_models(means, "coupling", "loss")
    assert [shape.x0 for shape in figure.layout.shapes] == [0]
    upright = figures.over_models(means, "layers", "coupling")
    assert [shape.y0 for shape in upright.layout.shapes] == [0]
    raw = st.model_means(table, 8, "coupling")
    figure = figures.over_models(raw, "coupling", "loss")
    assert not figure.layout.shapes
    floors = trace(figure, "chance")
    np.testing.assert_array_equal(floors.x, [0.5] * 19)
    assert sorted(floors.y) == sorted(means.rows["loss"])
    assert "chance floor" in figure.layout.meta["caption"]


def test_families_differ_without_their_colours_and_keep_their_looks():
    looks = family_looks([f"F{i:02}" for i in range(20)])
    assert len(set(looks.values())) == 20
    colors, symbols = zip(*looks.values(), strict=True)
    assert len(set(symbols[:8])) == 8
    assert len(set(colors[:9])) == 9
    assert family_looks(["b", "a"]) == family_looks(["a", "b", "a"])


def test_a_file_carries_the_caption_and_the_source(means):
    figure = figures.over_models(means, "coupling", "loss", source="Sweep one")
    page = on_paper(figure, planted(), VIEW)
    assert "Sweep one" in page.layout.annotations[-1].text
    assert figure.layout.meta["title"] == "loss against coupling"


# ---- against K


def test_coupling_against_k_is_a_line_a_model_with_gaps(by_k):
    without = {k: v for k, v in by_k.items()}
    rows = by_k[8].rows
    without[8] = replace(by_k[8], rows=rows[rows["model"] != "Beta-1"])
    figure, twin = figures.coupling_by_k(without), figures.coupling_by_k_table(without)
    assert len(figure.data) == 19
    for one in figure.data:
        own = twin[twin["model"] == one.customdata[0]].set_index("k").reindex(KS)
        np.testing.assert_array_equal(one.x, KS)
        np.testing.assert_array_equal(one.y, own["coupling"])
        np.testing.assert_allclose(one.y + one.error_y.array, own["high"])
        assert np.isnan(one.y[1]) == (one.customdata[0] == "Beta-1")
        assert not one.connectgaps
    in_legend = [one.name for one in figure.data if one.showlegend]
    assert sorted(in_legend) == ["Alpha", "Beta", "Delta", "Gamma", "mini-64"]
    assert [shape.y0 for shape in figure.layout.shapes] == [0]
    assert "K = 4" in figure.layout.meta["alt"]


def test_raw_coupling_against_k_has_floors(table):
    figure = figures.coupling_by_k(st.means_by_k(table, "coupling"))
    floors = [one for one in figure.data if one.name == "chance"]
    assert len(floors) == 19
    assert {tuple(one.y) for one in floors} == {(0.5, 0.5, 0.5)}


def test_the_correlation_against_k_has_both_intervals(by_k):
    found = st.correlations_by_k(by_k, "loss", "spearman")
    found[32] = st.correlate(st.pair(replace(by_k[8], rows=by_k[8].rows[:2]), "coupling", "loss"))
    found[64] = replace(found[16], over_clusters=replace(found[16].over_clusters, p=0.06))
    figure, twin = figures.correlation_by_k(found, "loss"), figures.correlation_by_k_table(found)
    line, outer = trace(figure, "correlation"), trace(figure, "outer")
    np.testing.assert_array_equal(line.y, [one.estimate for one in found.values()])
    np.testing.assert_allclose(line.y + line.error_y.array, twin["high"])
    np.testing.assert_allclose(outer.y - outer.error_y.arrayminus, twin["outer_low"])
    assert list(line.customdata) == [19, 19, 19, 2, 19]
    assert list(line.marker.symbol) == ["circle"] * 3 + ["circle-open"] * 2
    assert np.isnan(line.y[3])
    assert "K = 32: only 2 models have both" in figure.layout.meta["alt"]
    assert "Spearman's" in figure.layout.yaxis.title.text


# ---- against prompts


@pytest.mark.parametrize("x", ["tokens", "difficulty"])
def test_the_prompts_of_one_model_over_the_trends_of_all(table, x):
    trends = st.prompt_trends(table, x, 8)
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
    assert f"{own.spearman:.2f}" in figure.layout.meta["alt"]


def test_a_model_without_a_trend_is_told(table):
    broken = table.copy()
    broken.loc[broken["model"] == "Beta-1", "corrected"] = np.nan
    trends = st.prompt_trends(broken, "tokens", 8)
    figure = figures.coupling_by_prompt(trends, "Beta-1")
    assert "trend" not in {one.name for one in figure.data}
    assert "Beta-1 has no line: 0 prompts have both" in figure.layout.meta["caption"]
    assert "12 of its prompts lack a number" in figure.layout.meta["caption"]
    with pytest.raises(InputError, match="'nobody' is not in this sweep: it has Alpha-0"):
        figures.coupling_by_prompt(trends, "nobody")
    forest = figures.prompt_correlations(trends)
    missing = trace(forest, "no estimate")
    assert (list(missing.y), missing.text[0]) == (
        ["Beta-1"],
        "0 prompts have both tokens and coupling, and 3 are needed",
    )


# ---- forests


def rows_of(figure, name):
    """(row: (estimate, low, high)) of the traces of that name."""
    found = {}
    for one in [one for one in figure.data if one.name == name]:
        for row, at, up, down in zip(
            one.customdata, one.x, one.error_x.array, one.error_x.arrayminus, strict=True
        ):
            found[row] = (at, at - down, at + up)
    return found


def test_each_family_left_out_is_a_row_of_the_forest(means):
    found = st.leave_one_family_out(st.pair(means, "coupling", "loss"))
    figure, twin = figures.without_families(found), figures.without_families_table(found)
    drawn, outer = rows_of(figure, "estimate"), rows_of(figure, "outer")
    assert list(twin["row"]) == [
        "all models",
        *(f"without {name}" for name in ("Alpha", "Beta", "Gamma", "Delta", "mini-64")),
        "within families",
        "between families",
    ]
    assert list(figure.layout.yaxis.categoryarray) == list(twin["row"][::-1])
    left = found.without["Beta"]
    expected = (left.estimate, left.over_models.low, left.over_models.high)
    assert drawn["without Beta"] == pytest.approx(expected)
    assert drawn["within families"] == pytest.approx(
        (found.within.estimate, found.within.low, found.within.high)
    )
    whole = found.overall.over_clusters
    assert outer["all models"] == pytest.approx((found.overall.estimate, whole.low, whole.high))
    for row in twin.to_dict("records"):
        assert drawn[row["row"]] == pytest.approx((row["estimate"], row["low"], row["high"]))
    assert found.verdict in figure.layout.meta["alt"]
    assert found.points.counted in figure.layout.meta["caption"]


def test_a_row_without_an_estimate_says_why(means):
    rows = means.rows[means.rows["family"].isin(["Alpha", "Beta"])]
    points = st.pair(replace(means, rows=rows), "coupling", "score")
    found = st.leave_one_family_out(points.keep(np.arange(len(points)) < 5))
    figure = figures.without_families(found)
    missing = trace(figure, "no estimate")
    assert "without Alpha" in missing.y
    assert missing.text[list(missing.y).index("without Alpha")].startswith("only 2 models have")
    assert "without Alpha" not in rows_of(figure, "estimate")


def test_trends_of_models_are_a_forest_with_their_mean_first(table):
    trends = st.prompt_trends(table, "tokens", 8)
    figure, twin = figures.prompt_correlations(trends), figures.trends_table(trends)
    drawn = rows_of(figure, "estimate")
    assert twin["row"][0] == "mean of 19 models"
    assert drawn["mean of 19 models"] == pytest.approx(
        (trends.mean, trends.interval.low, trends.interval.high)
    )
    for one in trends.models:
        assert drawn[one.model] == pytest.approx(
            (one.spearman, one.interval.low, one.interval.high)
        )
    assert "Beta-1: Spearman's correlation" in figure.layout.meta["alt"]


def test_why_there_is_no_interval_is_said_once() -> None:
    why = "an interval and a p need at least 5 families; here the number is 3"
    other = "an interval and a p need at least 5 prompts; here the number is 4"
    told = once([f"r = 1; {why}.", f"Slope 2 ({why}).", f"n = 4 ({other})."])
    assert told == [f"r = 1; {why}.", "Slope 2.", f"n = 4 ({other})."]
