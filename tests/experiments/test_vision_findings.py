"""What runs of vision say of stochastic depth, coupling and accuracy, on planted numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sweep_table import model_row, sweep_of
from vision_models import picture

from coupling_core import Store, View, figures
from coupling_core.base.images import to_pixels
from coupling_core.experiments.gallery import vision_requests
from coupling_core.experiments.vision import SUITE, VisionRun
from coupling_core.experiments.vision.findings import VisionFindings
from coupling_core.experiments.vision.rates import rate_effect
from coupling_core.figures.style import CORRECTED_COLORS
from coupling_core.sources.resolved import resolve

TOKENS = SUITE.tokens
RATES = np.array([0.0, 0.1, 0.2, 0.4])


def findings(monkeypatch, coupling, accuracy, suite=SUITE):
    """Of a table where coupling and accuracy are functions of a run."""
    monkeypatch.setattr(VisionRun, "accuracy", accuracy)
    runs = [
        model_row(run.repo, f"rate {run.rate}", coupling(run), revision="main")
        for run in suite.runs
    ]
    return VisionFindings(sweep_of(runs, prompts=8, noise=0.001), 4, suite=suite)


def test_every_run_has_its_rate_its_accuracy_and_its_interval(monkeypatch):
    found = findings(monkeypatch, lambda run: 0.1 + run.rate, lambda run: 0.7 + run.seed / 100)
    rows = found.runs
    expected = [(run.rate, run.seed, 0.7 + run.seed / 100) for run in SUITE.runs]
    assert list(zip(rows["rate"], rows["seed"], rows["accuracy"], strict=True)) == expected
    assert (rows["low"] < rows["coupling"]).all()
    assert (rows["coupling"] < rows["high"]).all()
    assert set(rows["pictures"]) == {8}
    by_rate = found.by_rate("coupling")
    assert list(by_rate) == list(SUITE.rates)
    of_first = rows["coupling"][rows["rate"] == SUITE.rates[0]].to_numpy()
    t = stats.ttest_1samp(of_first, 0).confidence_interval()
    assert (by_rate[0.0].low, by_rate[0.0].high) == pytest.approx((t.low, t.high))


def noisy(of_rate, size=0.004):
    """The seed moves a number ten times as far as chance does, at every rate alike."""

    def coupling(run):
        rng = np.random.default_rng((run.seed, round(100 * run.rate)))
        return 0.1 + of_rate(run.rate) + 10 * size * run.seed + rng.normal(0, size)

    return coupling


def test_what_the_rate_does_is_told_whatever_it_is(monkeypatch):
    effects = {
        "rises": lambda rate: rate / 2,
        "falls": lambda rate: -rate / 2,
        "does not measurably change": lambda rate: 0.0,
        "along a curve": lambda rate: 0.2 * (rate in (0.1, 0.2)),
    }
    for told, of_rate in effects.items():
        found = findings(monkeypatch, noisy(of_rate), lambda run: 0.8)
        assert [word for word in effects if word in found.shows[0]] == [told]
        means = [f"{one.mean:.3f} at {rate:g}" for rate, one in found.by_rate("coupling").items()]
        assert all(mean in found.shows[0] for mean in means)
        # One accuracy in all runs: neither the rate nor coupling can be told to go with it.
        assert "cannot be told" in found.shows[1]
        assert "r = " not in found.shows[2]


def test_one_seed_a_rate_or_one_rate_tells_nothing(monkeypatch):
    found = findings(monkeypatch, noisy(lambda rate: rate), noisy(lambda rate: 0.7))
    for part in ("seed0", "rate0-"):
        few = VisionFindings(found.table[found.table["id"].str.contains(part)], 4)
        assert "cannot be told" in few.shows[0]


def runs(rates, seeds, mean, scatter=1.0, of_seed=10.0, seed=0):
    """Rate, seed and number of every run."""
    rng = np.random.default_rng(seed)
    rate, number = np.repeat(rates, seeds), np.tile(np.arange(seeds), len(rates))
    own = of_seed * rng.normal(size=seeds)
    y = mean(rate) + own[number] + scatter * rng.normal(size=len(rate))
    return rate, number.astype(float), y


def test_means_are_compared_within_seeds():
    """With as many seeds at each rate a line is that of the seeds' own differences."""
    rate, seed, y = runs(RATES, 3, lambda rate: 5 * rate)
    found = rate_effect(rate, seed, y)
    assert found.slope == pytest.approx(np.polyfit(RATES, y.reshape(4, 3).mean(1), 1)[0])
    more = rate_effect(rate, seed, y + 100 * seed)
    assert (more.line_p, more.curve_p) == pytest.approx((found.line_p, found.curve_p))
    rate, seed, y = runs(np.array([0.0, 0.2]), 6, lambda rate: 5 * rate)
    paired = rate_effect(rate, seed, y)
    assert paired.line_p == pytest.approx(stats.ttest_rel(y[6:], y[:6]).pvalue)
    assert paired.curve_p == 1
    hump = rate_effect(*runs(RATES, 3, lambda rate: 1.0 * (rate == 0.2), scatter=0))
    assert (hump.curve_p, hump.best) == (0, (0.2,))  # without scatter


@pytest.mark.parametrize(("seeds", "told"), [(3, False), (8, True)])
def test_accuracy_and_coupling_are_compared_among_runs_of_one_rate(monkeypatch, seeds, told):
    """Rates move both numbers the same way; within a rate they go against each other."""
    suite = replace(SUITE, seeds=tuple(range(seeds)))

    def own(run):
        return np.random.default_rng((run.seed, round(run.rate * 100))).normal()

    found = findings(
        monkeypatch,
        lambda run: run.rate + run.seed / 50 + own(run) / 100,
        lambda run: 0.5 + run.rate - run.seed / 50,
        suite=suite,
    )
    assert found.with_accuracy.estimate > 0.5
    within, over = found.within_rates, found.within_rates.over
    assert within.estimate < -0.8
    assert over.of == "seeds"
    assert ("accuracy falls with coupling" in found.shows[2]) is told
    assert ("at least 5 seeds" in found.shows[2]) is not told


def test_the_figure_of_runs_has_every_run_once_and_accuracies_in_percent(monkeypatch):
    found = findings(monkeypatch, lambda run: 0.1 + run.rate, lambda run: 0.7 + run.seed / 100)
    names = {"rate": "Rate", "coupling": "Score", "accuracy": "Accuracy"}
    means = found.by_rate("coupling")
    scores = figures.vision_runs(found.runs, "rate", "coupling", names, means)
    (mean,) = (trace for trace in scores.data if trace.uid == "mean")
    assert list(mean.y) == [one.mean for one in means.values()]
    points = [trace for trace in scores.data if trace.mode == "markers"]
    assert [trace.name for trace in points] == [f"Seed {seed}" for seed in SUITE.seeds]
    assert {tuple(trace.x) for trace in points} == {SUITE.rates}
    of = figures.vision_runs(found.runs, "rate", "accuracy", names, found.by_rate("accuracy"))
    (one,) = (trace for trace in of.data if trace.name == "Seed 1" and trace.mode == "markers")
    assert list(one.y) == pytest.approx([71.0] * len(SUITE.rates))


def test_a_click_on_a_patch_gives_its_token():
    drawn = figures.picture(to_pixels(picture(28, 28, 1)), TOKENS, 6)
    tokens = next(t for t in drawn.data if t.name == "tokens")
    assert list(tokens.customdata) == list(range(1, len(TOKENS) + 1))
    # token 6 is the first patch of the second row
    assert (TOKENS[5], tokens.x[5], tokens.y[5]) == ("patch 2,1", 3.0, 10.0)
    (chosen,) = (shape for shape in drawn.layout.shapes if shape.name == "selected")
    assert (chosen.x0, chosen.y0, chosen.x1, chosen.y1) == (-0.5, 6.5, 6.5, 13.5)


@pytest.fixture(scope="module")
def shipped():
    found = [Store().find(request, resolve(request).identity) for request in vision_requests()]
    assert None not in found
    return dict(zip(SUITE.rates, found, strict=True))


def test_maps_of_all_rates_share_one_range(shipped):
    view = View(10)
    drawn = figures.rate_maps(shipped, view, selected=(2, 3))
    maps = [t for t in drawn.data if str(t.name).startswith("rate ")]
    assert [t.name for t in maps] == [f"rate {rate:g}" for rate in SUITE.rates]
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == CORRECTED_COLORS
    assert sum(shape.name == "selected" for shape in drawn.layout.shapes) == len(SUITE.rates)
    # Plotly keeps only one of axes square that match one another.
    own = [drawn.layout[f"yaxis{number}"] for number in ("", "2", "3", "4")]
    assert [(axis.scaleanchor, axis.matches) for axis in own] == [(t.xaxis, None) for t in maps]
    table = figures.rate_maps_table(shipped, view)
    for rate, trace in zip(SUITE.rates, maps, strict=True):
        of_rate = table["corrected"][table["rate"] == rate].to_numpy()
        off = ~np.eye(len(trace.z), dtype=bool)
        assert np.allclose(of_rate[off.ravel()], trace.z[off], atol=1e-6)
        assert np.isnan(trace.z[~off]).all()


def test_what_ships_is_certified_and_takes_the_sneaker_for_one(shipped):
    for result in shipped.values():
        assert result.certified
        assert (result.tokens, result.token) == (TOKENS, 1)
        assert result.next_tokens[0][0].lower().startswith("sneaker")
