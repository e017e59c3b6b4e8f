"""Statistics over models against scipy and statsmodels on planted data, and what is degenerate."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from sweep_table import model_row, points_of, sweep_of, zoo

from coupling_core import mean_interval
from coupling_core.analysis import statistics as st
from coupling_core.analysis.scores import MIN_NUMBERS, k_of, p_words
from coupling_core.analysis.statistics import resampling

TABLE = sweep_of(zoo())
OF_SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}


@pytest.fixture(scope="module")
def means():
    return st.model_means(TABLE, 4)


def left_out(points, statistic, back=lambda z: z):
    """Interval and p by leaving out each family, step by step."""
    family = points.rows["family"]
    whole, names = statistic(points), family.unique()
    moved = np.array([statistic(points.keep(family != name)) - whole for name in names])
    n = len(names)
    error = np.sqrt((n - 1) / n * np.sum(moved**2))
    carried = np.sum(moved**2) ** 2 / np.sum(moved**4)
    t = stats.t(max(1, min(n, 3 * carried) - 2))
    half = t.ppf(0.975) * error
    return back(whole - half), back(whole + half), 2 * t.sf(abs(whole) / error)


def fisher(method):
    return lambda points: np.arctanh(OF_SCIPY[method](points.x, points.y).statistic)


def interval(over):
    return over.low, over.high, over.p


def normal_points(n=40, slope=-0.8, seed=0, **more):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.3, 0.1, n)
    return points_of(x, 4 + slope * x + rng.normal(0, 0.1, n), **more)


# ---- a row a model


def test_means_are_over_prompts_with_the_interval_of_scores(means):
    assert list(means.rows["model"]) == list(TABLE["model"].unique())
    own = TABLE[(TABLE["model"] == "Beta-1") & (TABLE["k"] == 4)]["corrected"]
    row, expected = means.rows.set_index("model").loc["Beta-1"], mean_interval(own.to_numpy())
    assert (row["coupling"], row["low"], row["high"]) == pytest.approx(
        (own.mean(), expected.low, expected.high)
    )
    assert (row["prompts"], row["without"], row["family"], row["k"]) == (12, 0, "Beta", 4)


def test_prompts_without_a_number_are_left_out_and_counted():
    broken = TABLE.copy()
    broken.loc[(broken["model"] == "Beta-1") & (broken["tokens"] < 10), "corrected"] = np.nan
    broken.loc[broken["model"] == "Beta-2", "corrected"] = np.nan
    means = st.model_means(broken, 4)
    rows = means.rows.set_index("model")
    assert tuple(rows.loc["Beta-1", ["prompts", "without"]]) == (10, 2)
    assert tuple(rows.loc["Beta-2", ["prompts", "without"]]) == (0, 12)
    assert rows.loc["Beta-2", ["coupling", "low", "high"]].isna().all()
    assert len(st.pair(means, "coupling", "loss")) == len(rows) - 1


def test_a_share_of_the_width_is_each_models_own_k():
    found = st.model_means(TABLE, 0.1)  # widths 160, 640 and 1920, and K up to 16
    assert set(found.rows["k"]) == {16}
    assert "Beta-2" in found.absent
    assert [k_of(0.1, 576), k_of(0.001, 64), k_of(7, 64)] == [58, 1, 7]


def test_the_subsets_of_table_4(means):
    kept = {name: set(st.subset(means, name).rows["model"]) for name in st.SUBSETS}
    rows = means.rows
    assert kept["all"] == set(rows["model"])
    assert kept["7b"] == {"Alpha-2"}  # 7.0e9; the next is 7.7e9
    assert kept["above-45"] == set(rows["model"][rows["score"] > 45])
    assert 0 < len(kept["above-45"]) < 12
    assert not {"Alpha-0, untrained (seed 0)", "coupling-explorer/mini-64@step0"} & kept["trained"]
    assert {m for m in kept["last"] if "mini" in m} == {"coupling-explorer/mini-64@step4000"}
    assert len(kept["last"]) == 14
    assert not {m for m in kept["tokens-known"] if m.startswith(("Delta", "Alpha-0, untrained"))}
    assert len({m for m in kept["tokens-known"] if "mini" in m}) == 5  # step 0 has seen none


# ---- fits


def test_a_line_is_that_of_statsmodels():
    points = normal_points(family=[*"abcde"] * 8)
    found = st.fit(points)
    plain = sm.OLS(points.y, sm.add_constant(points.x)).fit()
    assert (found.intercept, found.slope) == pytest.approx(tuple(plain.params))
    assert (found.n, found.r_squared, found.r_squared_y, found.p) == pytest.approx(
        (40, plain.rsquared, plain.rsquared, plain.pvalues[1])
    )
    expected = (*plain.conf_int()[1], plain.pvalues[1])
    assert interval(found.over_models) == pytest.approx(expected)
    robust = left_out(points, lambda p: stats.linregress(p.x, p.y).slope)
    assert interval(found.over_clusters) == pytest.approx(robust)
    band = plain.get_prediction(sm.add_constant(found.x)).conf_int()
    np.testing.assert_allclose(np.stack([found.low, found.high], 1), band)
    assert (found.x[0], found.x[-1]) == (points.x.min(), points.x.max())


def test_an_exponential_explains_the_logarithm_and_says_how_much_of_y():
    points = points_of(normal_points().x, np.exp(normal_points().y))
    found, line = st.fit(points, "exponential"), stats.linregress(points.x, np.log(points.y))
    assert (found.slope, found.p) == pytest.approx((line.slope, line.pvalue))
    assert found.r_squared == pytest.approx(line.rvalue**2)
    left = points.y - np.exp(line.intercept + line.slope * points.x)
    assert found.r_squared_y == pytest.approx(1 - left.var() / points.y.var(), rel=0.05)
    assert found.r_squared_y != pytest.approx(found.r_squared, abs=1e-6)
    model = sm.OLS(np.log(points.y), sm.add_constant(points.x)).fit()
    band = model.get_prediction(sm.add_constant(found.x)).conf_int()
    np.testing.assert_allclose(np.log([found.low, found.high]), band.T)


def test_sizes_that_span_decades_go_in_as_logarithms(means):
    points = st.pair(means, "parameters", "coupling")
    assert points.log_x
    line = stats.linregress(np.log10(points.x), points.y)
    found = st.fit(points)
    assert found.slope == pytest.approx(line.slope)
    np.testing.assert_allclose(found.y, line.intercept + line.slope * np.log10(found.x))
    assert not st.pair(means, "layers", "coupling").log_x  # 8 to 36
    assert not st.pair(means, "coupling", "loss").log_x


DEGENERATE = {
    "none": ([], []),
    "one": ([0.1], [2.0]),
    "two": ([0.1, 0.2], [2.0, 1.0]),
    "same x": ([0.1] * 5, [1.0, 2, 3, 4, 5]),
    "same y": ([1.0, 2, 3, 4, 5], [0.1] * 5),
    "same but for rounding": ([0.3, 0.1 + 0.2, 0.3], [1.0, 2, 3]),
}


def test_where_nothing_can_go_together_there_is_a_reason_and_no_number():
    for x, y in DEGENERATE.values():
        points = points_of(x, y)
        every = [st.fit(points, form) for form in ("linear", "exponential")]
        for found in (*every, *(st.correlate(points, method) for method in OF_SCIPY)):
            assert found.reason
            assert found.over_models.reason == found.over_clusters.reason == found.reason
            assert np.isnan([found.p, found.over_models.low, found.over_clusters.high]).all()
        assert found.reason in st.leave_one_family_out(points).verdict


def test_reasons_and_what_n_counts(means, snapshot):
    said = {name: st.correlate(points_of(x, y)).reason for name, (x, y) in DEGENERATE.items()}
    said["exponential"] = st.fit(points_of([0.1, 0.2, 0.3], [1.0, 0.0, 2.0]), "exponential").reason
    few = st.correlate(normal_points(family=[*"abcd"] * 10))
    said["few families"] = few.over_clusters.reason
    prompts = st.prompt_trends(sweep_of(zoo(), prompts=4), "tokens", 4)
    assert not np.isnan(prompts.mean.estimate)
    said["few prompts"] = prompts.mean.over.reason
    said["checkpoints"] = st.pair(means, "coupling", "loss").counted
    said["models alone"] = points_of([1.0, 2, 3], [1.0, 2, 3]).counted
    said["p"] = [p_words(p) for p in (0.0421, 0.000999, 0.0)]
    said["names of K"] = [st.model_means(TABLE, k).k_name for k in (0.1, 4)]
    assert said == snapshot


def test_few_models_or_families_have_a_fit_and_no_interval():
    three = points_of([0.1, 0.2, 0.3], [3.0, 2.1, 1.0])
    assert not st.fit(three).reason
    found = st.correlate(three)
    assert found.estimate == pytest.approx(np.corrcoef(three.x, three.y)[0, 1])
    assert f"at least {MIN_NUMBERS}" in found.over_models.reason
    assert np.isnan(interval(found.over_models)).all()
    points = normal_points(family=[*"abcd"] * 10)
    for found in (st.fit(points), st.correlate(points)):
        assert found.over_clusters.reason
        assert np.isnan(interval(found.over_clusters)).all()
        assert found.over_models.reason == ""
    by_run = st.correlate(points, by="run").over_clusters
    assert (by_run.of, by_run.units, by_run.reason) == ("training runs", 40, "")


# ---- correlations


def test_correlations_are_those_of_scipy_and_their_intervals_leave_out_each():
    points = normal_points()
    families = normal_points(36, family=[f"f{i % 7 % 6}" for i in range(36)])
    for method, oracle in OF_SCIPY.items():
        found = st.correlate(points, method)
        assert (found.n, found.estimate, found.p) == pytest.approx(
            (40, *oracle(points.x, points.y))
        )
        one_by_one = left_out(points, fisher(method), np.tanh)
        assert interval(found.over_models) == pytest.approx(one_by_one)
        over = st.correlate(families, method).over_clusters
        assert interval(over) == pytest.approx(left_out(families, fisher(method), np.tanh))
        assert over.units == 6
    perfect = st.correlate(points_of(np.arange(8.0), np.arange(8.0)))
    assert (perfect.over_models.low, perfect.over_models.high) == pytest.approx((1, 1))


def test_what_one_family_makes_has_no_interval():
    """Without the first family nothing varies."""
    x, y = np.zeros(14), np.zeros(14)
    x[:4], y[:4] = [1, 2, 3, 4], [2, 1, 4, 3]
    points = points_of(x, y, ["a"] * 4 + [f"f{i // 2}" for i in range(10)])
    for found in (st.correlate(points), st.correlate(points, "spearman"), st.fit(points)):
        assert "one of 6 families" in found.over_clusters.reason
        assert np.isnan(interval(found.over_clusters)).all()


def test_a_statistic_of_points_that_do_not_vary_is_none():
    rng, of = np.random.default_rng(0), resampling.coefficient
    x, y = rng.integers(0, 5, 12).astype(float), rng.normal(size=12)  # with ties
    for method, oracle in OF_SCIPY.items():
        assert resampling.correlation(x, y, method) == pytest.approx(oracle(x, y).statistic)
        assert np.isnan(resampling.correlation(0 * x + 0.3, y, method))
    assert [of(x, y), of(x, y, 2)] == pytest.approx([np.polyfit(x, y, n)[0] for n in (1, 2)])
    assert np.isnan([of(0 * x, y), of(np.sign(x), y, 2)]).all()


def test_models_that_repeat_their_family_make_no_interval_shorter():
    few = normal_points(15)
    many = replace(few, rows=few.rows.loc[few.rows.index.repeat(4)])
    found, expected = st.correlate(many), st.correlate(few).over_models
    assert interval(found.over_clusters) == pytest.approx(interval(expected))
    assert found.over_clusters.units == 15
    assert found.over_models.high < found.over_clusters.high


# ---- families


def artefact(seed=0, families=8, each=6, apart=1.0):
    """Families that lie apart along a line, and in each of them nothing."""
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(families), each)
    x, y = apart * family + 0.4 * rng.normal(size=(2, len(family)))
    return points_of(x, y, [f"F{f}" for f in family])


def test_a_planted_family_artefact_is_doubted_and_a_correlation_within_families_is_not():
    for method in OF_SCIPY:
        found = st.leave_one_family_out(artefact(), method)
        assert found.overall.estimate > 0.9
        assert found.overall.over_clusters.p < 0.01
        assert found.between_only
        assert found.within.over.p > 0.05
        assert found.between.estimate == pytest.approx(1, abs=0.02)
        assert "rests on" in found.verdict
        assert not found.lost
    few = st.leave_one_family_out(artefact(families=5))  # with one left out, too few are left
    assert (few.is_significant, few.lost) == (True, ())
    assert "significant" not in few.verdict
    within = st.leave_one_family_out(normal_points(slope=-3, family=[*"abcdefgh"] * 5))
    assert within.within.over.p < 1e-3
    assert within.within.over.high < 0
    assert not within.between_only


def test_families_that_a_correlation_needs_are_named():
    noise = np.random.default_rng(8).normal(size=10)
    found = st.leave_one_family_out(points_of(np.arange(10.0), 0.3 * np.arange(10) + noise))
    assert found.is_significant
    needed = [name for name, left in found.without.items() if left.over_clusters.p >= 0.05]
    assert 0 < len(needed) < 5
    assert found.lost == tuple(needed)
    assert f"without {needed[0]}" in found.verdict


def test_a_family_that_turns_the_sign_is_named():
    x = np.concatenate([np.linspace(0, 1, 8), np.linspace(3, 4, 8)])
    for sign in (1, -1):
        y = sign * np.concatenate([-np.linspace(0, 1, 8), np.linspace(3, 4, 8)])
        found = st.leave_one_family_out(points_of(x, y, ["down"] * 8 + ["up"] * 8))
        assert (found.turned, found.strongest) == (("up",), "up")
        assert "turns without up" in found.verdict
        left = st.correlate(points_of(x[:8], y[:8]))
        assert found.without["up"].estimate == pytest.approx(left.estimate)


def test_a_correlation_that_families_reverse_is_between_them_only():
    x = np.concatenate([np.linspace(0, 1, 8) + 2 * family for family in range(6)])
    noise = np.random.default_rng(0).normal(0, 0.1, 48)
    y = 2 * np.floor(x / 2) - 0.5 * (x % 2) + noise
    found = st.leave_one_family_out(points_of(x, y, np.repeat([*"abcdef"], 8)))
    assert found.overall.estimate > 0.5
    assert found.within.estimate < -0.5
    assert found.within.over.p < 0.05
    assert found.between_only


def test_within_families_is_a_regression_with_a_level_for_each():
    points = normal_points(family=[*"abcd"] * 10)
    levels = np.eye(4)[[0, 1, 2, 3] * 10]
    model = sm.OLS(points.y, np.column_stack([points.x, levels])).fit()
    within = st.leave_one_family_out(points).within
    assert within.p == pytest.approx(model.pvalues[0])
    assert model.df_resid == 35
    of_one = st.leave_one_family_out(normal_points(10)).within
    assert of_one.reason
    assert np.isnan(of_one.p)


# ---- partial correlation


def confounded(through, seed=0, n=60):
    """Models whose coupling and loss go with size; `through` is what is between them beside."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(8, 11, n)
    coupling = 0.1 * size + rng.normal(0, 0.05, n)
    loss = 8 - 0.5 * size - through * (coupling - 0.1 * size) + rng.normal(0, 0.2, n)
    rows = [
        model_row(f"m{i}", f"f{i % 6}", 0, parameters=10 ** size[i], loss=loss[i]) for i in range(n)
    ]
    means = st.model_means(sweep_of(rows, prompts=2), 4)
    return replace(means, rows=means.rows.assign(coupling=coupling))


def test_a_planted_confounder_leaves_no_partial_correlation():
    found = st.partial_correlation(confounded(0), "loss")
    assert st.correlate(st.pair(confounded(0), "coupling", "loss")).estimate < -0.7
    assert abs(found.partial.estimate) < 0.25
    assert found.partial.over_models.low < 0 < found.partial.over_models.high
    assert found.partial.p > 0.05
    assert found.given == ("log10 parameters",)


def test_what_the_confounder_does_not_account_for_is_left():
    means = confounded(8)
    found, rows = st.partial_correlation(means, "loss"), means.rows
    design = np.column_stack([rows["coupling"], np.ones(60), np.log10(rows["parameters"])])
    plain = sm.OLS(rows["loss"].to_numpy(), design).fit()
    t = plain.tvalues[0]
    assert found.partial.p == pytest.approx(plain.pvalues[0])
    assert plain.df_resid == 57
    assert found.partial.estimate == pytest.approx(t / np.sqrt(t**2 + 57))
    assert found.partial.estimate < -0.7
    log = dict(zip(rows["model"], np.log10(rows["parameters"]), strict=True))

    def partial(points):
        size = sm.add_constant(np.array([log[name] for name in points.rows["model"]]))
        u, v = (sm.OLS(values, size).fit().resid for values in (points.x, points.y))
        return np.arctanh(stats.pearsonr(u, v).statistic)

    over, points = found.partial.over, st.pair(means, "coupling", "loss")
    assert interval(over) == pytest.approx(left_out(points, partial, np.tanh))
    assert over.units == 6
    assert over.p < 0.01


def test_sizes_that_say_nothing_are_left_out_and_named():
    means = confounded(8)
    tokens = np.where(np.arange(60) < 3, np.nan, 1e12)
    rows = means.rows.assign(
        width=means.rows["parameters"] * 2, training_tokens=tokens, layers=32.0
    )
    found = st.partial_correlation(replace(means, rows=rows), "loss")
    assert set(found.left_out) == {"layers", "width", "training_tokens"}
    assert "3 of the 60 models" in found.left_out["training_tokens"]
    assert set(found.given) == {"log10 parameters"}
    assert found.partial.n == 60


def test_what_sizes_leave_nothing_of_has_a_reason():
    means = confounded(8, n=4)
    rows = means.rows.assign(layers=[1.0, 3, 2, 7], width=[5.0, 1, 2, 2])
    few = st.partial_correlation(replace(means, rows=rows), "loss")
    assert "4 regressors" in few.partial.reason
    assert np.isnan([few.partial.estimate, few.partial.over.p]).all()
    means = confounded(0)
    rows = means.rows.assign(coupling=np.log10(means.rows["parameters"]))
    determined = st.partial_correlation(replace(means, rows=rows), "loss")
    assert determined.partial.reason
    assert np.isnan(determined.partial.estimate)


# ---- prompts


def test_trends_over_prompts_are_those_of_scipy():
    found = st.prompt_trends(TABLE, "tokens", 4)
    assert len(found.models) == 19
    for trend in found.models:
        own = TABLE[(TABLE["model"] == trend.model) & (TABLE["k"] == 4)]
        line = stats.linregress(own["tokens"], own["corrected"])
        rho = stats.spearmanr(own["tokens"], own["corrected"]).statistic
        assert (trend.rho.estimate, trend.slope, trend.intercept) == pytest.approx(
            (rho, line.slope, line.intercept)
        )
        assert trend.rho.over.units == 12
    mean, over = np.mean([trend.rho.estimate for trend in found.models]), found.mean.over
    assert found.mean.estimate == pytest.approx(mean)
    assert over.low < mean < over.high


def test_prompts_are_left_out_for_all_models_together():
    """Every model has the same coupling on each prompt: many models say no more than one."""
    table = sweep_of([model_row(f"m{i}", "f", 0.3) for i in range(10)], prompts=40)
    first = table["model"] == "m0"
    table["corrected"] = np.tile(table["corrected"][first], 10)
    trends = st.prompt_trends(table, "difficulty", 4)
    one, many = st.prompt_trends(table[first], "difficulty", 4).mean.over, trends.mean.over
    for other in (one, trends.models[3].rho.over):
        assert (many.low, many.high) == pytest.approx((other.low, other.high))
    assert many.high - many.low > 0.3
    assert many.units == 40


def test_prompts_without_a_number_do_not_count():
    broken = TABLE.copy()
    broken.loc[broken["prompt"] == "prompt 3", "difficulty"] = np.nan
    broken.loc[broken["model"] == "Beta-1", "corrected"] = np.nan
    broken.loc[(broken["model"] == "Beta-0") & (broken["tokens"] > 30), "corrected"] = np.nan
    found = {t.model: t for t in st.prompt_trends(broken, "difficulty", 4).models}
    assert (len(found["Beta-2"].prompt), found["Beta-2"].without) == (11, 1)
    assert "prompt 3" not in found["Beta-2"].prompt
    assert len(found["Beta-0"].x) == 8
    assert found["Beta-1"].rho.reason.startswith("0 prompts")
    constant = st.prompt_trends(broken.assign(difficulty=2.0), "difficulty", 4)
    assert constant.mean.reason
    assert constant.models[0].rho.reason
