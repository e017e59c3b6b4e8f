"""Seconds predicted before a measurement: the formulas, the fit, and what is refused by them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import cost as benchmark
from coupling_core import Request
from coupling_core.measuring import cost
from coupling_core.measuring.cost import Rates, coefficients, parts, predict_seconds, shorter
from coupling_core.measuring.probe import Probe

RATES = Rates(4e10, 5e10)
SMALL = Probe(
    "small", "Small", 30_000_000, "float32", None, 8,
    blocks=12, width=512, block_parameters=2_000_000, widest=2048, causal=True,
)  # fmt: skip
COMMITTED = json.loads(
    (Path(__file__).parents[2] / "benchmarks" / "results" / "cost.json").read_text()
)["results"]
SORTS = [sort for sort in benchmark.SORTS if Request("-", **sort).sort in coefficients()]
"""Those that were fitted; of a kind that was not, no seconds are predicted."""


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: Request("-", **sort).sort)
def test_every_sort_has_all_its_coefficients_and_more_takes_longer(sort):
    request = Request("-", **sort)
    fitted = coefficients()[request.sort]
    assert list(fitted) == [name for name in parts(request, SMALL, 10) if name not in cost.ASSUMED]
    assert min(fitted.values()) >= 0
    assert max(fitted.values()) > 0
    once = predict_seconds(request, SMALL, 10, RATES)
    wide = replace(SMALL, width=1024, block_parameters=8_000_000, parameters=110_000_000)
    deep = replace(SMALL, blocks=24, parameters=60_000_000)
    assert predict_seconds(request, wide, 10, RATES) > once
    assert predict_seconds(request, SMALL, 40, RATES) >= once
    assert predict_seconds(request, deep, 10, RATES) >= once
    assert predict_seconds(request, SMALL, 10, Rates(2e10, 5e10)) > once
    assert predict_seconds(request, SMALL, 10, Rates(4e10, 2e10)) >= once


def test_a_fit_finds_planted_coefficients():
    points = [one for one in COMMITTED["points"] if one["sort"] == "trajectory"]
    planted = dict.fromkeys(points[0]["parts"], 0.0) | {"step": 2e-3, "products": 3.0}
    points = [one | {"seconds": benchmark.predicted(one, planted)} for one in points]
    found = benchmark.fit(points)
    assert found == pytest.approx(planted, abs=1e-6)
    assert benchmark.errors(points, found)["most"] < 1e-6


def test_what_ships_is_the_fit_of_the_committed_points():
    for sort in SORTS:
        name = Request("-", **sort).sort
        points = [one for one in COMMITTED["points"] if one["sort"] == name]
        assert benchmark.fit(points) == pytest.approx(coefficients()[name]), name
        kept = [one for at, one in enumerate(points) if at % benchmark.HELD_OUT]
        held_out = benchmark.errors(points[:: benchmark.HELD_OUT], benchmark.fit(kept))
        assert held_out == pytest.approx(COMMITTED["errors"][name]), name


def test_a_cheaper_request_is_one_that_does():
    large = Request("-", k=200)
    longest = (1 + 1e-9) * predict_seconds(Request("-"), SMALL, 40, RATES)
    assert shorter(large, SMALL, 40, RATES, longest) == ({"k": 50}, 0)
    between = Request("-", kind="self")
    longest = predict_seconds(between, SMALL, 9, RATES)
    assert shorter(between, SMALL, 40, RATES, longest) == ({}, 9)
    assert shorter(between, SMALL, 40, RATES, 0.0) == ({}, 0)


def test_a_rate_is_operations_over_seconds():
    ticks = iter(range(100))
    once = 2 * cost.PRODUCT**3
    assert cost.product_rates(lambda: float(next(ticks))) == Rates(once, once)


def test_a_machine_is_as_fast_as_it_was_seen_to_be(monkeypatch):
    """Whoever comes while another program computes is not told that it takes twice as long."""
    looked, now = iter([Rates(5.0, 7.0), Rates(2.0, 8.0), Rates(9.0, 1.0)]), [0.0]
    monkeypatch.setattr(cost, "product_rates", lambda: next(looked))
    monkeypatch.setattr(cost, "_seen", [])
    monkeypatch.setattr(cost.time, "monotonic", lambda: now[0])
    cost._rates.cache_clear()
    found = []
    for now[0] in (0.0, 1.0, 2 * cost.LOOK, 4 * cost.LOOK):
        found.append(cost.machine_rates())
    assert found == [(5.0, 7.0), (5.0, 7.0), (5.0, 8.0), (9.0, 8.0)]
    cost._rates.cache_clear()


@pytest.mark.parametrize("means", [{}, {"block": 3}], ids=["all blocks", "one block"])
def test_a_fixed_token_has_partners_on_one_side_only_unless_both_are_read(means):
    def seconds(causal=True, **asked):
        found = replace(SMALL, causal=causal)
        return predict_seconds(Request("-", **means, **asked), found, 40, RATES)

    first, last = ({"token": token} for token in (1, -1))
    assert seconds(kind="fixed-input", **last) < 0.6 * seconds(kind="fixed-input", **first)
    assert seconds(kind="fixed-output", **first) < seconds(kind="fixed-output", **last)
    both = [seconds(causal=False, kind="fixed-input", **at) for at in (first, last)]
    assert both[0] == both[1]
