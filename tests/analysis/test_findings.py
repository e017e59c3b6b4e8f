"""What a sweep's table is said to show: every sentence on planted tables, and its numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sweep_table import KS, model_row, sweep_of, zoo

from coupling_core import InputError
from coupling_core.analysis import statistics
from coupling_core.analysis.findings import Findings, Question, every_k, find, performances

MODELS = zoo()
TABLE = sweep_of(MODELS)
AGAINST_CHANCE = "the claim that better models are more coupled, which asks for a"
NO_REPRODUCTION = (
    "It is no reproduction of the papers' Figure 1a, whose points are models that others trained, "
    "of up to 70 billion parameters, with their scores on benchmarks."
)
OF_LOSS = (
    "A held-out loss can be compared only between models that read the same text with the same "
    "vocabulary; models without such a loss are left out."
)
OF_FAMILIES = (
    "Families are taken for independent of each other; those that are built on one another, or on "
    "the same text, are not."
)
OF_CHECKPOINTS = (
    "Over checkpoints, coupling and performance both change with training: a correlation says that "
    "they change together, not that one makes the other."
)


def test_a_table_may_lack_a_performance_that_no_model_has():
    known = TABLE.drop(columns="score")
    assert performances(known) == ("loss",)
    expected = find(TABLE.assign(score=np.nan), Question(8))
    assert find(known, Question(8)).shows == expected.shows
    assert find(known, Question(8, against="score")).shows[0].startswith("Nothing on coupling")


def ask(models, **question) -> Findings:
    """What a sweep of these models says at K = 8."""
    return find(sweep_of(models), Question(8, **question))


def alone(x, y, *, against="loss", family=None, **sizes):
    """Models that stand alone, with this coupling and this performance."""
    own = [f"F{i}" for i in range(len(x))] if family is None else family
    return [
        model_row(f"model {i}", own[i], x[i], **{against: y[i]})
        | {name: values[i] for name, values in sizes.items()}
        for i in range(len(x))
    ]


def run_of(name, coupling, loss):
    """The checkpoints of a training run, at steps 0, 100, 200 and so on."""
    return [
        model_row(
            f"{name}@step{100 * i}",
            name,
            each,
            id=name,
            revision=f"step{100 * i}",
            step=100.0 * i,
            loss=loss[i],
        )
        for i, each in enumerate(coupling)
    ]


RISING = np.linspace(0.1, 0.5, 8)
WOBBLE = 0.01 * np.array([1, -1, 2, 0, -2, 1, -1, 0])


# ---- the correlation, and its numbers


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize("against", ["loss", "score"])
def test_the_first_sentence_has_the_numbers_of_the_statistics(method, against):
    found = find(TABLE, Question(8, against=against, method=method))
    means = statistics.model_means(TABLE, 8)
    one = statistics.correlate(statistics.pair(means, "coupling", against), method, by="family")
    per_model = TABLE[TABLE["k"] == 8].groupby("model").mean(numeric_only=True)
    known = per_model.dropna(subset=[against])
    oracle = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[method]
    r, _ = oracle(known["corrected"], known[against])
    name = {"pearson": "r", "spearman": "rho"}[method]
    words = {"loss": "held-out loss", "score": "leaderboard score"}[against]
    whole = one.over_clusters
    sure = {
        "loss": f" (95\u00a0%: {whole.low:.2f} to {whole.high:.2f}, {whole.p_told} over whole "
        "families).",
        "score": "; an interval and a p need at least 5 families; here the number is 4.",
    }[against]
    assert found.shows[0] == (
        f"Over n = {len(known)} models, mean chance-corrected score at K = 8 and {words} correlate "
        f"with {name} = {r:.2f}{sure}"
    )


@pytest.mark.parametrize(
    ("models", "by", "of"),
    [
        (MODELS, "family", "families"),
        (MODELS[:3], "run", "training runs"),
        (MODELS[12:], "family", "families"),
    ],
    ids=["5 families", "1 family", "a run and a family"],
)
def test_what_counts_as_one_is_the_family_where_there_are_several(models, by, of):
    found = ask(models)
    assert found.by == by
    assert {one.over_clusters.of for one in (*found.correlations.values(), *found.fits)} == {of}
    assert found.partial.over_clusters.of == of


def test_without_an_interval_no_p_is_told():
    found = ask(MODELS[:3])
    assert "correlate with r = -0.9" in found.shows[0]
    assert found.shows[0].endswith(
        "; an interval and a p need at least 5 training runs; here the number is 3."
    )
    assert not any("95\u00a0%" in told or "p =" in told for told in found.shows)


def test_the_fits_have_their_own_p_and_r_squared_in_units_of_the_performance():
    found = find(TABLE, Question(8))
    line, curve = (statistics.fit(found.points, form) for form in ("linear", "exponential"))
    assert f"{curve.r_squared:.2f}" != f"{curve.r_squared_y:.2f}"
    assert found.shows[3] == (
        f"Fits, in units of the held-out loss: linear R² = {line.r_squared_y:.2f} "
        f"({line.over_clusters.p_told}), exponential R² = {curve.r_squared_y:.2f} "
        f"({curve.over_clusters.p_told})."
    )
    below_zero = ask(alone(RISING, WOBBLE - RISING))
    assert "exponential" not in below_zero.shows[3]
    assert below_zero.shows[3].startswith("Fits, in units of the held-out loss: linear R² = ")


def test_the_sentence_on_families_is_their_verdict():
    found = find(TABLE, Question(8, method="spearman"))
    verdict = statistics.leave_one_family_out(found.points, "spearman").verdict
    assert verdict.startswith("Leaving out ")
    assert found.shows[4] == verdict
    assert (
        ask(alone(RISING, -RISING + WOBBLE, family=["one"] * 8))
        .shows[4]
        .startswith("With any family left out too few models remain for a correlation.")
    )


@pytest.mark.parametrize(
    ("measure", "k", "words"),
    [
        ("coupling", 4, "mean score c at K = 4"),
        ("alignment", 16, "mean alignment at K = 16"),
        ("corrected", 0.1, "mean chance-corrected score at K = 0.1 of the width"),
    ],
)
def test_measure_and_k_are_named(measure, k, words):
    rows = TABLE[TABLE["width"] == 160] if k < 1 else TABLE
    found = find(rows, Question(k, measure))
    assert f" models, {words} and held-out loss correlate" in found.shows[0]
    of_measure = rows[rows["k"] == (16 if k < 1 else k)].groupby("model")[measure].mean()
    by_model = found.means.rows.set_index("model")["coupling"]
    np.testing.assert_allclose(by_model, of_measure[by_model.index])


# ---- whether the claim is borne out


@pytest.mark.parametrize(
    ("against", "sign", "told"),
    [
        ("loss", -1, f"Its sign agrees with {AGAINST_CHANCE} negative correlation."),
        ("loss", 1, f"Its sign goes against {AGAINST_CHANCE} negative correlation."),
        ("score", 1, f"Its sign agrees with {AGAINST_CHANCE} positive correlation."),
        ("score", -1, f"Its sign goes against {AGAINST_CHANCE} positive correlation."),
    ],
)
def test_the_sign_agrees_with_the_claim_or_goes_against_it(against, sign, told):
    found = ask(alone(RISING, 5 + sign * RISING + WOBBLE, against=against), against=against)
    assert found.correlations["pearson"].over_clusters.p < 0.01
    assert found.shows[1] == told


@pytest.mark.parametrize(("against", "sign"), [("loss", "negative"), ("score", "positive")])
def test_what_is_not_significant_is_neither(against, sign):
    found = ask(alone(RISING, 5 + WOBBLE, against=against), against=against)
    assert found.correlations["pearson"].over_clusters.p > 0.05
    assert found.shows[1] == f"That is neither for nor against {AGAINST_CHANCE} {sign} correlation."


def test_of_too_few_families_nothing_is_said_for_or_against():
    """However sure it looks where models are taken for independent."""
    rising = np.linspace(0.1, 0.5, 40)
    found = ask(alone(rising, 5 - rising, family=["A", "B", "C", "D"] * 10))
    assert found.correlations["pearson"].p < 1e-9
    assert found.shows[1] == (
        f"It cannot be said whether that agrees with {AGAINST_CHANCE} negative correlation."
    )


def test_where_lines_and_ranks_disagree_neither_is_said():
    """Far points make Pearson's r negative, while the ranks rise."""
    rising, rng = np.linspace(0.1, 0.5, 60), np.random.default_rng(0)
    far = 9 + np.arange(6.0)
    models = alone(np.append(rising, far), np.append(5 + rising, -far + rng.normal(size=6)))
    found = ask(models)
    r, rho = (found.correlations[method] for method in ("pearson", "spearman"))
    assert r.estimate < 0 < rho.estimate
    assert max(r.over_clusters.p, rho.over_clusters.p) < 0.05
    assert found.shows[1].startswith("That is neither for nor against ")


# ---- nothing to be said


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (MODELS[:2], "only 2 models have both coupling and loss, and 3 are needed"),
        (
            alone(RISING, [np.nan] * 7 + [3.0]),
            "only 1 model has both coupling and loss, and 3 are needed",
        ),
        (alone(RISING, [np.nan] * 8), "no model has both coupling and loss, and 3 are needed"),
        (alone(RISING, [3.0] * 8), "all 8 models have the same loss, so nothing can go with it"),
    ],
    ids=["2 models", "1 loss", "no loss", "one loss for all"],
)
def test_where_there_is_no_correlation_one_sentence_says_why(models, told):
    found = ask(models)
    assert found.shows == (f"Nothing on coupling and held-out loss: {told}.",)
    assert found.does_not_show == ()


# ---- the course of training


LOSSES = [8, 7, 6, 5, 4.5, 4, 3.5, 3.2, 3]
FALLS = [0.0, 0.2, 0.5, 0.45, 0.4, 0.33, 0.3, 0.22, 0.15]
EARLY = [0.0, 0.4, 0.35, 0.3, 0.24, 0.2, 0.16, 0.1, 0.05]
RISES = [0.02, 0.07, 0.12, 0.17, 0.195, 0.22, 0.245, 0.26, 0.27]


def test_a_fall_is_told_with_its_place_and_height():
    found = ask(
        run_of("falls", FALLS, LOSSES)
        + run_of("early", EARLY, LOSSES)
        + run_of("rises", RISES, LOSSES)
    )
    at = found.means.rows.set_index("model")["coupling"]
    top = (at["falls@step200"] + at["early@step100"]) / 2
    end = (at["falls@step800"] + at["early@step800"]) / 2
    assert found.shows[2].startswith(
        "In 2 of 3 training runs coupling falls after its highest checkpoint, by more than "
        f"checkpoints and prompts scatter: from {top:.3f} on average, at steps 100 to 200, to "
        f"{end:.3f} at the last."
    )
    alone = ask(run_of("falls", FALLS, LOSSES) + run_of("rises", RISES, LOSSES))
    assert alone.shows[2].startswith("In 1 of 2 training runs coupling falls after ")
    assert "at step 200, to " in alone.shows[2]


def test_the_course_is_that_of_the_steps_and_not_of_the_rows():
    falls = run_of("falls", FALLS, LOSSES)
    assert "at step 200, " in ask(falls).shows[2]
    quiet = [sweep_of(models, noise=0) for models in (falls, falls[::-1], falls[2:] + falls[:2])]
    assert len({find(table, Question(8)).shows[2] for table in quiet}) == 1


@pytest.mark.parametrize("noise", [0, 0.02], ids=["prompts agree", "prompts scatter"])
@pytest.mark.parametrize(
    "course",
    [
        RISES,
        [0.0, 0.3, 0.5, 0.2],
        [0.2] * 9,
        0.2 + 1e-6 * np.array([0, 1, 3, -1, 2, -2, 1, 0, -1]),
        [0.0, 0.1, 0.2, 0.301, 0.299, 0.3, 0.302, 0.298, 0.3],
        [0.0, 0.3, 0.5, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2],
        [*RISES[:-1], np.nan],
    ],
    ids=["rises", "too few", "flat", "flat to 1e-6", "plateau", "the same twice", "end unknown"],
)
def test_a_highest_checkpoint_before_the_last_is_no_fall(course, noise):
    models = run_of("run", course, LOSSES[: len(course)])
    assert "falls" not in " ".join(find(sweep_of(models, noise=noise), Question(8)).shows)


def test_prompts_that_do_not_agree_make_no_fall():
    """The mean over the prompts falls steadily, for one of them falls far and the others rise."""
    table = sweep_of(run_of("run", [0.2] * 9, LOSSES), noise=0)
    steps = table["step"] / 800
    table["corrected"] += np.where(table["prompt"] == "prompt 3", -3 * steps, 0.2 * steps)
    found = find(table, Question(8))
    assert (found.means.rows.sort_values("step")["coupling"].diff().dropna() < 0).all()
    assert found.shows[2] == ""


@pytest.mark.parametrize(
    ("course", "bends"),
    [(FALLS, True), ([*np.linspace(0, 0.3, 8), *[0.3] * 7], True), (RISES, False)],
    ids=["falls", "plateau", "straight"],
)
def test_that_no_line_describes_a_run_rests_on_its_curvature(course, bends):
    losses = LOSSES if len(course) == 9 else np.linspace(8, 3, 15)
    told = ask(run_of("run", course, losses)).shows[2]
    assert ("is curved by more than checkpoints scatter: no straight line" in told) is bends
    assert ("In 1 of 1 training run coupling against held-out loss is curved" in told) is bends


def test_what_stands_alone_has_no_course():
    assert ask(alone(RISING[::-1], RISING + WOBBLE)).shows[2] == ""


# ---- given the sizes


def test_the_sizes_given_are_named_and_those_left_out_too():
    found = find(TABLE, Question(8))
    given = statistics.partial_correlation(
        statistics.model_means(TABLE, 8), "loss", given=statistics.SIZES
    )
    assert found.shows[5] == (
        "Given log10 parameters, layers, log10 width, the correlation (Pearson's) is "
        f"{given.partial.estimate:.2f} ({given.over_clusters.told}). Not accounted for: "
        "training tokens: it is not known of 5 of the 19 models."
    )


def test_sizes_that_leave_nothing_are_told():
    assert ask(MODELS[:3]).shows[5] == (
        "Given log10 parameters, layers: 3 models leave no degree of freedom beside 3 regressors."
    )
    assert ask(alone(RISING, -RISING + WOBBLE)).shows[5] == (
        "No size of these models is known and varies, so that none is accounted for."
    )


def test_the_sizes_account_for_a_correlation_that_only_they_make():
    layers = np.arange(8.0)
    models = alone(
        0.05 * layers + WOBBLE,
        9 - layers + 10 * WOBBLE[[3, 0, 5, 1, 7, 2, 6, 4]],
        layers=layers,
    )
    found = ask(models)
    assert "r = -0.9" in found.shows[0]
    assert abs(found.partial.partial.estimate) < 0.75
    assert found.partial.over_clusters.p > 0.05
    assert found.shows[5].startswith("Given layers, the correlation (Pearson's) is ")


# ---- what must not be concluded


@pytest.mark.parametrize(
    ("models", "against", "told"),
    [
        (MODELS, "loss", (OF_FAMILIES, OF_CHECKPOINTS, OF_LOSS, NO_REPRODUCTION)),
        (MODELS[:12], "loss", (OF_FAMILIES, OF_LOSS, NO_REPRODUCTION)),
        (MODELS[:12], "score", (OF_FAMILIES,)),
        (MODELS[:3], "score", ("All are of one family: of others nothing is said.",)),
        (alone(RISING, RISING + WOBBLE), "loss", (OF_FAMILIES, OF_LOSS, NO_REPRODUCTION)),
    ],
    ids=["checkpoints", "families, loss", "families, score", "1 family", "alone, loss"],
)
def test_what_it_does_not_show_begins_with_what_n_counts(models, against, told):
    found = ask(models, against=against)
    assert found.does_not_show == (found.points.counted, *told)
    assert found.points.counted.startswith(f"n = {len(found.points)} counts models: ")


# ---- the question, and what a table has


def test_a_share_of_the_width_is_another_k_for_each_model():
    wide = [row | {"width": (40.0, 80.0, 160.0)[i % 3]} for i, row in enumerate(MODELS[:12])]
    found = find(sweep_of(wide), Question(0.1))
    rows = found.means.rows.set_index("model")
    assert set(rows["k"]) == {4, 8, 16}
    table = sweep_of(wide)
    one = table[(table["model"] == "Beta-2") & (table["k"] == 16)]
    assert rows.loc["Beta-2", "coupling"] == pytest.approx(one["corrected"].mean())
    assert "at K = 0.1 of the width and held-out loss" in found.shows[0]


def test_a_whole_number_is_the_same_k_whether_or_not_it_is_written_as_a_float():
    assert find(TABLE, Question(8.0)).shows == find(TABLE, Question(8)).shows


@pytest.mark.parametrize("k", [7, 7.5, 0, -1, float("nan"), float("inf"), 0.001])
def test_a_k_that_the_table_lacks_is_refused(k):
    with pytest.raises(InputError, match=r"K must be|no model of the table was measured at K"):
        find(TABLE, Question(k))


def test_a_subset_that_leaves_nobody_is_refused():
    with pytest.raises(InputError, match="no model is left: score > 45"):
        ask(alone(RISING, RISING), subset="above-45")


def test_a_table_without_depth_wise_rows_is_refused():
    paths = TABLE.assign(kind="trajectory")
    with pytest.raises(InputError, match="no depth-wise result"):
        find(paths, Question(8))
    assert every_k(paths) == ()


def test_rows_of_other_kinds_do_not_count():
    more = TABLE.assign(kind="self", corrected=99.0)
    both = pd.concat([more, TABLE])
    assert find(both, Question(8)).shows == find(TABLE, Question(8)).shows


def test_shares_of_the_width_that_were_asked_for_stand_after_the_k_of_all_models():
    assert every_k(TABLE, (8, 0.25, 0.1)) == (*KS, 0.1, 0.25)
    assert every_k(TABLE[TABLE["kind"] == "self"], (0.1,)) == ()


def test_every_k_is_what_all_models_have():
    assert every_k(TABLE) == KS
    lacking = TABLE[(TABLE["model"] != "Beta-1") | (TABLE["k"] != 8)]
    assert every_k(lacking) == (4, 16)


def test_performances_are_those_that_somebody_has():
    assert performances(TABLE) == ("loss", "score")
    assert performances(TABLE.assign(score=np.nan)) == ("loss",)
    assert performances(TABLE.assign(loss=np.nan)) == ("score",)
    assert performances(TABLE.assign(loss=np.nan, score=np.nan)) == ()


def test_trends_are_of_the_subset_and_of_the_last_checkpoints_where_asked():
    found = find(TABLE, Question(8, subset="trained"))
    names = [one.model for one in found.trends("tokens").models]
    assert len(names) == 17
    assert "Alpha-0, untrained (seed 0)" not in names
    last = [one.model for one in found.trends("tokens", last=True).models]
    assert [name for name in last if "step" in name] == ["coupling-explorer/mini-64@step4000"]
    assert len(last) == 13


def test_by_k_is_the_subset_at_every_k_and_its_correlations():
    found = find(TABLE, Question(8, subset="last", method="spearman"))
    assert list(found.by_k) == list(KS)
    for_16 = statistics.pair(found.by_k[16], "coupling", "loss")
    assert len(for_16) == len(found.points) == 14
    one = statistics.correlate(for_16, "spearman", by="family")
    assert found.correlations_by_k[16] == one


# ---- what is wrong with the numbers


def test_a_whole_sweep_has_no_doubts():
    measured = TABLE.assign(key=TABLE["model"] + TABLE["prompt"])
    plan = {"total": 19 * 12, "kinds": ["depth"]}
    assert find(measured, Question(8)).doubts(plan) == ()
    assert find(measured, Question(8)).doubts({}) == ()


def test_doubts_are_counted():
    broken = TABLE.assign(key=TABLE["model"] + TABLE["prompt"])
    broken.loc[broken.index[:5], "certified"] = False
    at_8 = broken.index[broken["k"] == 8]
    broken.loc[at_8[:2], "corrected"] = np.nan
    broken = broken[broken["prompt"] != "prompt 11"]
    plan = {"total": 2 * 19 * 12, "kinds": ["depth", "trajectory"]}
    assert find(broken, Question(8)).doubts(plan) == (
        "5 of 627 rows rest on an SVD that failed its certificate",
        "2 scores are undefined and are left out of the means",
        "19 of 228 measurements are missing",
    )


@pytest.mark.parametrize("measure", ["corrected", "coupling", "alignment"])
def test_a_table_names_the_measure_that_was_asked_for(measure):
    found = find(TABLE, Question(8, measure))
    table = found.to_pandas()
    assert table[measure].to_list() == found.means.rows["coupling"].to_list()
    assert {"corrected", "coupling", "alignment"} & set(table) == {measure}
