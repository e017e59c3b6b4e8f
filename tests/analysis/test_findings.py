"""What a sweep's table is said to show: every sentence on planted tables, and its numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sweep_table import KS, model_row, sweep_of, zoo

from coupling_core.analysis import statistics
from coupling_core.analysis.findings import Findings, Question, every_k, find, performances

MODELS = zoo()
TABLE = sweep_of(MODELS)
RISING = np.linspace(0.1, 0.5, 8)
WOBBLE = 0.01 * np.array([1, -1, 2, 0, -2, 1, -1, 0])


@pytest.fixture(scope="module")
def found():
    return find(TABLE, Question(8))


def ask(models, **question) -> Findings:
    """What a sweep of these models says at K = 8."""
    return find(sweep_of(models), Question(8, **question))


def alone(x, y, *, against="loss", family=None):
    """Models that stand alone, with this coupling and this performance."""
    own = family or [f"F{i}" for i in range(len(x))]
    return [
        model_row(f"model {i}", *each, **{against: score})
        for i, (*each, score) in enumerate(zip(own, x, y, strict=True))
    ]


def run_of(name, coupling, loss):
    """The checkpoints of a training run, at steps 0, 100, 200 and so on."""
    return [
        model_row(f"{name}@step{step}", name, at, id=name, revision=f"step{step}")
        | {"step": float(step), "loss": of}
        for step, at, of in zip(range(0, 10_000, 100), coupling, loss, strict=False)
    ]


# ---- the correlation, and its numbers


@pytest.mark.parametrize("against", ["loss", "score"])
def test_the_first_sentence_has_the_numbers_of_the_statistics(against):
    for method, oracle in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        found = find(TABLE, Question(8, against=against, method=method))
        pair = statistics.pair(statistics.model_means(TABLE, 8), "coupling", against)
        one = statistics.correlate(pair, method, by="family").over_clusters
        per_model = TABLE[TABLE["k"] == 8].groupby("model").mean(numeric_only=True)
        known = per_model.dropna(subset=[against])
        r, _ = oracle(known["corrected"], known[against])
        assert f"n = {len(known)} models" in found.shows[0]
        assert f"= {r:.2f}" in found.shows[0]
        if against == "loss":
            assert f"{one.low:.2f} to {one.high:.2f}, {one.p_told}" in found.shows[0]
        else:  # four families alone have leaderboard scores
            assert one.reason in found.shows[0]
        assert found.shows[4] == statistics.leave_one_family_out(found.points, method).verdict


def test_what_counts_as_one_is_the_family_where_there_are_several():
    for models, by, of in (
        (MODELS, "family", "families"),
        (MODELS[:3], "run", "training runs"),
        (MODELS[12:], "family", "families"),
    ):
        found = ask(models)
        assert found.by == by
        units = {one.over_clusters.of for one in (*found.correlations.values(), *found.fits)}
        assert units == {found.partial.partial.over.of} == {of}


def test_the_measure_and_the_k_are_those_of_the_question(found):
    for measure, k in (("coupling", 4), ("alignment", 16), ("corrected", 0.1)):
        rows = TABLE[TABLE["width"] == 160] if k < 1 else TABLE
        other = find(rows, Question(k, measure))
        of_measure = rows[rows["k"] == (16 if k < 1 else k)].groupby("model")[measure].mean()
        by_model = other.means.rows.set_index("model")["coupling"]
        np.testing.assert_allclose(by_model, of_measure[by_model.index])
        assert other.to_pandas()[measure].to_list() == other.means.rows["coupling"].to_list()
    assert find(TABLE, Question(8.0)).shows == found.shows


# ---- whether the claim is borne out


def decided(found):
    """What is concluded of the claim that better models are more coupled."""
    words = {"neither": "neither for nor against", "unknown": "no test of"}
    words |= {"for": "agrees with", "against": "goes against"}
    return next(name for name, part in words.items() if part in found.shows[1])


def test_the_sign_agrees_with_the_claim_or_goes_against_it():
    for against, sign, conclusion in (
        ("loss", -1, "for"),
        ("loss", 1, "against"),
        ("score", 1, "for"),
        ("score", -1, "against"),
        ("loss", 0, "neither"),
    ):
        found = ask(alone(RISING, 5 + sign * RISING + WOBBLE, against=against), against=against)
        p = found.correlations["pearson"].over_clusters.p
        assert p > 0.05 if sign == 0 else p < 0.01
        assert decided(found) == conclusion


def test_of_too_few_families_nothing_is_said_for_or_against():
    """However sure it looks where models are taken for independent."""
    rising = np.linspace(0.1, 0.5, 40)
    found = ask(alone(rising, 5 - rising, family=[*"ABCD"] * 10))
    assert found.correlations["pearson"].p < 1e-9
    assert decided(found) == "unknown"


def test_where_lines_and_ranks_disagree_neither_is_said():
    """Far points make Pearson's r negative, while the ranks rise."""
    rising, rng = np.linspace(0.1, 0.5, 60), np.random.default_rng(0)
    far = 9 + np.arange(6.0)
    models = alone(np.append(rising, far), np.append(5 + rising, -far + rng.normal(size=6)))
    found = ask(models)
    r, rho = (found.correlations[method] for method in ("pearson", "spearman"))
    assert r.estimate < 0 < rho.estimate
    assert max(r.over_clusters.p, rho.over_clusters.p) < 0.05
    assert decided(found) == "neither"


def test_all_that_is_said_of_a_sweep(found, snapshot):
    assert {"shows": found.shows, "does not show": found.does_not_show} == snapshot


def test_where_there_is_no_correlation_one_sentence_says_why():
    for models, why in (
        (MODELS[:2], "2 models with"),
        (alone(RISING, [np.nan] * 7 + [3.0]), "1 model with"),
        (alone(RISING, [np.nan] * 8), "0 models with"),
        (alone(RISING, [3.0] * 8), "the same loss"),
    ):
        found = ask(models)
        assert len(found.shows) == 1
        assert why in found.shows[0]
        assert found.does_not_show == ()


# ---- the course of training


LOSSES = [8, 7, 6, 5, 4.5, 4, 3.5, 3.2, 3]
FALLS = [0.0, 0.2, 0.5, 0.45, 0.4, 0.33, 0.3, 0.22, 0.15]
EARLY = [0.0, 0.4, 0.35, 0.3, 0.24, 0.2, 0.16, 0.1, 0.05]
RISES = [0.02, 0.07, 0.12, 0.17, 0.195, 0.22, 0.245, 0.26, 0.27]


def test_a_fall_is_told_with_its_place_and_height():
    runs = {"falls": FALLS, "early": EARLY, "rises": RISES}
    found = ask([one for name, course in runs.items() for one in run_of(name, course, LOSSES)])
    at = found.means.rows.set_index("model")["coupling"]
    top = (at["falls@step200"] + at["early@step100"]) / 2
    end = (at["falls@step800"] + at["early@step800"]) / 2
    assert "2 of 3 training runs coupling falls" in found.shows[2]
    assert f"{top:.3f} on average, at steps 100 to 200, to {end:.3f}" in found.shows[2]


def test_the_course_is_that_of_the_steps_and_not_of_the_rows():
    falls = run_of("falls", FALLS, LOSSES)
    assert "at step 200, " in ask(falls).shows[2]
    quiet = [sweep_of(models, noise=0) for models in (falls, falls[::-1], falls[2:] + falls[:2])]
    assert len({find(table, Question(8)).shows[2] for table in quiet}) == 1


def test_a_highest_checkpoint_before_the_last_is_no_fall():
    plateau = [0.0, 0.1, 0.2, 0.301, 0.299, 0.3, 0.302, 0.298, 0.3]
    at_once = [0.0, 0.3, 0.5, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2]
    for course in ([0.0, 0.3, 0.5, 0.2], plateau, at_once, [*RISES[:-1], np.nan]):
        assert "falls" not in " ".join(ask(run_of("run", course, LOSSES)).shows)
    assert ask(alone(RISING[::-1], RISING + WOBBLE)).shows[2] == ""


def test_prompts_that_do_not_agree_make_no_fall():
    """The mean over the prompts falls steadily, for one of them falls far and the others rise."""
    table = sweep_of(run_of("run", [0.2] * 9, LOSSES), noise=0)
    steps = table["step"] / 800
    table["corrected"] += np.where(table["prompt"] == "prompt 3", -3 * steps, 0.2 * steps)
    found = find(table, Question(8))
    assert (found.means.rows.sort_values("step")["coupling"].diff().dropna() < 0).all()
    assert found.shows[2] == ""


# ---- given the sizes


def test_the_sizes_given_are_named_and_those_left_out_too(found):
    told, means = found.shows[5], statistics.model_means(TABLE, 8)
    given = statistics.partial_correlation(means, "loss")
    assert told.startswith(f"Given {', '.join(given.given)},")
    assert f"{given.partial.estimate:.2f} ({given.partial.over.told})" in told
    assert "5 of the 19 models" in told
    assert "3 regressors" in ask(MODELS[:3]).shows[5]
    assert "Given" not in ask(alone(RISING, -RISING + WOBBLE)).shows[5]


# ---- what must not be concluded


def test_what_it_does_not_show_depends_on_what_was_counted():
    for models, against, about in (
        (MODELS, "loss", ["Families", "Over checkpoints", "A held-out loss", "It is no"]),
        (MODELS[:12], "loss", ["Families", "A held-out loss", "It is no"]),
        (MODELS[:12], "score", ["Families"]),
        (MODELS[:3], "score", ["All are of one family"]),
    ):
        found = ask(models, against=against)
        first, *rest = found.does_not_show
        assert first == found.points.counted
        assert [told[: len(begins)] for told, begins in zip(rest, about, strict=True)] == about


# ---- the question, and what a table has


def test_performances_are_those_that_somebody_has():
    assert performances(TABLE) == ("loss", "score")
    assert performances(TABLE.assign(loss=np.nan)) == ("score",)
    assert performances(TABLE.assign(loss=np.nan, score=np.nan)) == ()
    lacking = TABLE.drop(columns="score")
    assert performances(lacking) == ("loss",)
    assert len(find(lacking, Question(8, against="score")).shows) == 1


def test_rows_of_other_kinds_do_not_count(found):
    both = pd.concat([TABLE.assign(kind="self", corrected=99.0), TABLE])
    assert find(both, Question(8)).shows == found.shows
    assert every_k(TABLE.assign(kind="trajectory")) == ()


def test_every_k_is_what_all_models_have():
    assert every_k(TABLE) == KS
    lacking = TABLE[(TABLE["model"] != "Beta-1") | (TABLE["k"] != 8)]
    assert every_k(lacking) == (4, 16)
    assert every_k(TABLE, (8, 0.25, 0.1)) == (*KS, 0.1, 0.25)


def test_trends_and_curves_by_k_are_of_the_subset():
    found = find(TABLE, Question(8, subset="trained"))
    names = [one.model for one in found.trends("tokens").models]
    assert (len(names), "Alpha-0, untrained (seed 0)" in names) == (17, False)
    last = [one.model for one in found.trends("tokens", last=True).models]
    assert len(last) == 13
    assert [name for name in last if "step" in name] == ["coupling-explorer/mini-64@step4000"]
    found = find(TABLE, Question(8, subset="last", method="spearman"))
    assert list(found.by_k) == list(KS)
    for_16 = statistics.pair(found.by_k[16], "coupling", "loss")
    assert len(for_16) == len(found.points) == 14
    one = statistics.correlate(for_16, "spearman", by="family")
    assert found.correlations_by_k[16] == one


def test_doubts_are_counted():
    broken = TABLE.assign(key=TABLE["model"] + TABLE["prompt"])
    whole = {"total": 19 * 12, "kinds": ["depth"]}
    assert find(broken, Question(8)).doubts(whole) == ()
    broken.loc[broken.index[:5], "certified"] = False
    broken.loc[broken.index[broken["k"] == 8][:2], "corrected"] = np.nan
    broken = broken[broken["prompt"] != "prompt 11"]
    plan = {"total": 2 * 19 * 12, "kinds": ["depth", "trajectory"]}
    doubts = find(broken, Question(8)).doubts(plan)
    for told, counted in zip(doubts, ("5 of 627", "2 scores", "19 of 228"), strict=True):
        assert told.startswith(counted)
