"""What runs of vision say of stochastic depth, coupling and accuracy, on planted numbers."""

import numpy as np
import pytest
from scipy import stats
from sweep_table import model_row, sweep_of
from vision_models import picture

from coupling_core import Certificate, InputError, View, figures
from coupling_core.images import to_pixels
from coupling_core.vision import SUITE, VisionRun
from coupling_core.vision.findings import VisionFindings, every_k, over_seeds

TOKENS = SUITE.tokens


def findings(monkeypatch, coupling, accuracy, before=None):
    """Of a table where coupling and accuracy are functions of a run."""
    monkeypatch.setattr(VisionRun, "accuracy", accuracy)
    runs = [
        model_row(run.repo, f"rate {run.rate}", coupling(run), revision="main")
        for run in SUITE.runs
    ]
    if before is not None:
        first = [run for run in SUITE.runs if run.rate == min(SUITE.rates)]
        runs += [
            model_row(f"{run.repo}@epoch0", "none", before, id=run.repo, revision="epoch0")
            for run in first
        ]
    return VisionFindings(sweep_of(runs, prompts=8, noise=0.001), 4)


def test_every_run_has_its_rate_its_accuracy_and_its_interval(monkeypatch):
    found = findings(monkeypatch, lambda run: 0.1 + run.rate, lambda run: 0.7 + run.seed / 100)
    rows = found.runs
    assert list(zip(rows["rate"], rows["seed"], strict=True)) == [
        (run.rate, run.seed) for run in SUITE.runs
    ]
    assert list(rows["accuracy"]) == [0.7 + run.seed / 100 for run in SUITE.runs]
    assert (rows["low"] < rows["coupling"]).all()
    assert (rows["coupling"] < rows["high"]).all()
    assert set(rows["pictures"]) == {8}
    by_rate = found.by_rate("coupling")
    assert list(by_rate) == list(SUITE.rates)
    of_first = rows["coupling"][rows["rate"] == SUITE.rates[0]].to_numpy()
    t = stats.ttest_1samp(of_first, 0).confidence_interval()
    assert (by_rate[0.0].low, by_rate[0.0].high) == pytest.approx((t.low, t.high))


def test_a_relation_is_told_whichever_way_it_falls(monkeypatch):
    def noise(run):
        return 0.002 * ((run.seed * 7 + round(run.rate * 10) * 3) % 5)

    up = findings(monkeypatch, lambda run: 0.1 + run.rate / 2 + noise(run), lambda run: 0.8)
    assert "rises with the rate" in up.shows[0]
    assert "no correlation with the rate" in up.shows[1]  # all runs are equally accurate
    down = findings(
        monkeypatch, lambda run: 0.4 - run.rate / 2 + noise(run), lambda run: 0.9 - run.rate
    )
    assert "falls with the rate" in down.shows[0]
    assert "rises with coupling" in down.shows[2]
    none = findings(
        monkeypatch, lambda run: 0.2 + noise(run), lambda run: 0.8 + ((run.seed * 5) % 3) / 100
    )
    assert "does not go with the rate beyond chance" in none.shows[0]


def test_runs_of_one_rate_are_compared_with_each_other_only(monkeypatch):
    """Rates move both numbers the same way; within a rate they go against each other."""
    found = findings(
        monkeypatch,
        lambda run: run.rate + run.seed / 50,
        lambda run: 0.5 + run.rate - run.seed / 50,
    )
    assert found.with_accuracy.estimate > 0.9
    assert found.within_rates.estimate < -0.9
    assert found.within_rates.df == len(SUITE.runs) - len(SUITE.rates) - 1
    assert "falls with it" in found.shows[2]


def test_the_beginning_of_training_is_apart(monkeypatch):
    found = findings(monkeypatch, lambda run: 0.3, lambda run: 0.8, before=0.02)
    assert len(found.runs) == len(SUITE.runs)
    assert found.untrained.n == len(SUITE.seeds)
    assert found.untrained.mean == pytest.approx(0.013, abs=0.005)
    assert findings(monkeypatch, lambda run: 0.3, lambda run: 0.8).untrained.n == 0


def test_what_was_not_measured_is_said(monkeypatch):
    found = findings(monkeypatch, lambda run: 0.3, lambda run: 0.8)
    with pytest.raises(InputError, match="between all tokens"):
        _ = VisionFindings(found.table, 4, kind="self").runs
    assert every_k(found.table) == (4, 8, 16)


def test_an_interval_over_seeds_is_that_of_student():
    one, none = over_seeds(np.array([0.5])), over_seeds(np.array([]))
    assert (one.mean, one.n, none.n) == (0.5, 1, 0)
    assert np.isnan([one.low, one.high, none.mean]).all()
    rng = np.random.default_rng(0)
    draws = [over_seeds(rng.normal(2, 1, 3)) for _ in range(2000)]
    assert 0.935 < np.mean([found.low <= 2 <= found.high for found in draws]) < 0.965


def test_the_figure_of_runs_has_every_run_once(monkeypatch):
    found = findings(monkeypatch, lambda run: 0.1 + run.rate, lambda run: 0.7 + run.seed / 100)
    names = {"rate": "Rate", "coupling": "Score", "accuracy": "Accuracy"}
    by_rate = figures.vision_runs(
        found.runs, "rate", "coupling", names, found.by_rate("coupling"), chosen="0.2"
    )
    points = {t.name: t for t in by_rate.data if t.mode == "markers"}
    assert list(points) == [f"Seed {seed}" for seed in SUITE.seeds]
    for trace in points.values():
        assert tuple(trace.x) == SUITE.rates
        assert tuple(trace.customdata) == tuple(f"{rate:g}" for rate in SUITE.rates)
    (mean,) = (t for t in by_rate.data if t.uid == "mean")
    assert list(mean.y) == [one.mean for one in found.by_rate("coupling").values()]
    assert "At rate 0.4" in by_rate.layout.meta["alt"]
    against = figures.vision_runs(found.runs, "coupling", "accuracy", names)
    points = {t.name: t for t in against.data if t.mode == "markers"}
    assert list(points) == [f"Rate {rate:g}" for rate in SUITE.rates]
    assert against.layout.xaxis.title.text == "Score"


def test_a_click_on_a_patch_gives_its_token():
    drawn = figures.picture(to_pixels(picture(28, 28, 1)), TOKENS, 6)
    tokens = next(t for t in drawn.data if t.name == "tokens")
    assert list(tokens.customdata) == list(range(1, len(TOKENS) + 1))
    assert (tokens.x[0], tokens.y[0] < 0) == (3.0, True)  # the class token, above the picture
    # token 6 is the first patch of the second row
    assert TOKENS[5] == "patch 2,1"
    assert (tokens.x[5], tokens.y[5]) == (3.0, 10.0)
    (chosen,) = (shape for shape in drawn.layout.shapes if shape.name == "selected")
    assert (chosen.x0, chosen.y0, chosen.x1, chosen.y1) == (-0.5, 6.5, 6.5, 13.5)
    assert figures.patch_grid(TOKENS) == (4, 4, 1)
    assert figures.patch_grid(("a", "b")) == (0, 0, 2)


def test_maps_of_all_rates_share_one_range(gallery_of_vision):
    view = View(10)
    drawn = figures.rate_maps(gallery_of_vision, view, selected=(2, 3))
    maps = [t for t in drawn.data if t.type == "heatmap"]
    assert [t.name for t in maps] == [f"rate {rate:g}" for rate in SUITE.rates]
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == (-0.1, 0.6)
    assert sum(shape.name == "selected" for shape in drawn.layout.shapes) == len(SUITE.rates)
    for axis, trace in zip(("x", "x2", "x3", "x4"), maps, strict=True):
        assert trace.xaxis == axis
    table = figures.rate_maps_table(gallery_of_vision, view)
    for rate, trace in zip(SUITE.rates, maps, strict=True):
        of_rate = table["corrected"][table["rate"] == rate].to_numpy()
        assert np.allclose(of_rate, np.asarray(trace.z).ravel(), atol=1e-6)


def test_what_ships_is_certified_and_takes_the_sneaker_for_one(gallery_of_vision):
    for result in gallery_of_vision.values():
        assert result.certified
        assert all(isinstance(one, Certificate) for one in result.certificates)
        assert result.tokens == TOKENS
        assert result.token == 1
        assert result.next_tokens[0][0].lower().startswith("sneaker")


@pytest.fixture(scope="module")
def gallery_of_vision():
    from coupling_core import Store
    from coupling_core.gallery import vision_requests
    from coupling_core.identity import identify

    found = [Store().find(request, identify(request)) for request in vision_requests()]
    assert None not in found
    return dict(zip(SUITE.rates, found, strict=True))
