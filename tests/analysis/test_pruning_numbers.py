"""Rankings of blocks by numbers, the prices of what they remove, and what is said of them."""

import numpy as np
import pytest

from coupling_core import InputError
from coupling_core.analysis.pruning import rankings, words
from coupling_core.analysis.pruning.prices import Cut, curve, price
from coupling_core.analysis.pruning.study import Study
from coupling_core.base.edits import Removal, Step

PREDICTED = np.array([4, 6, 10])
AS_IT_WAS = (8.0, 6.0, 10.0)


def study(**changes) -> Study:
    """Three blocks; the coupling's first costs less than any random one, the last more."""
    draws = [Cut("random", n, (2,), (n + 9.0, 15.0, 25.0), ()) for n in range(1, 21)]
    named = [
        Cut("coupling", 0, (1,), (4.0, 6.0, 10.0), AS_IT_WAS),
        Cut("last", 0, (2,), (40.0, 60.0, 100.0), (4.0, 6.0, 10.0)),
    ]
    said = {"model": "toy", "asked": {"model": "toy"}, "digest": "d", "source": "some texts"}
    said |= {"parameters": 10_000_000, "block_parameters": (1_000_000, 2_000_000, 500_000)}
    said |= {"ranked_on": ("a", "b"), "judged_on": ("c", "d", "e"), "cuts": (*named, *draws)}
    said |= {"predicted": tuple(PREDICTED.tolist()), "own_loss": (2.0, 3.0, 5.0)}
    return Study(**said | changes)


def test_coupling_with_neighbours_is_the_mean_of_both_directions():
    scores = np.array([[9.0, 0.1, 7], [0.3, 9, 0.5], [7, 0.7, 9]])
    np.testing.assert_allclose(rankings.neighbour_coupling(scores), [0.2, 0.4, 0.6])
    scores = np.full((3, 3), np.nan)
    scores[1, 2] = scores[2, 1] = 0.2
    found = rankings.neighbour_coupling(scores)
    assert np.isnan(found[0])
    assert rankings.first_of(found, largest=True) == (2, 3, 1)  # what is unknown goes last


def test_ranges_and_orders():
    numbers = np.array([0.3, 0.1, 0.1, 0.2])
    assert rankings.first_of(numbers, largest=False) == (2, 3, 4, 1)
    assert rankings.first_of(numbers, largest=True) == (1, 4, 2, 3)
    ranking, judging = rankings.split(7)  # texts rank or judge, and never both
    assert (list(ranking), list(judging)) == ([0, 3, 6], [1, 2, 4, 5])
    orders = rankings.random_orders(5)
    assert orders == rankings.random_orders(5)
    assert len({*orders}) > 10
    assert all(sorted(order) == [1, 2, 3, 4, 5] for order in orders)


def test_cosines_and_angles_are_those_of_states_and_the_range_that_turns_least_is_found():
    states = np.array([[[1.0, 0]], [[1, 1]], [[0, 2]]])  # turned by 45 degrees, twice
    np.testing.assert_allclose(rankings.block_cosines(states), [[np.sqrt(0.5)]] * 2)
    angles = rankings.angular_distances(states[:, 0])
    np.testing.assert_allclose(angles[0], [0, 0.25, 0.5], atol=1e-7)
    angles = np.abs(np.subtract.outer(*[np.array([0.0, 1, 1.1, 1.25, 3])] * 2))
    for count, expected in ((1, (2,)), (2, (2, 3)), (3, (1, 2, 3))):
        assert rankings.nearest_range(angles, count) == expected


def test_a_price_is_a_mean_over_tokens_with_its_interval_over_texts():
    found = price((4.0, 6.0, 10.0), PREDICTED)
    assert (found.loss, found.low, found.high) == pytest.approx((1, 1, 1))
    found = price(AS_IT_WAS, PREDICTED)
    assert found.loss == pytest.approx(24 / 20)
    assert 1 <= found.low < found.loss < found.high <= 2


def test_a_ranking_is_held_against_random_draws():
    within = Cut("kl", 0, (3,), (19.0, 15.0, 25.0), (0.0,) * 3)
    coupling, last, random, other = curve((*study().cuts, within), PREDICTED)
    assert (coupling.verdict, coupling.beats) == ("better", 20)
    assert (last.verdict, last.beats) == ("worse", 0)
    assert other.verdict == "within"
    losses = [(n + 49.0) / 20 for n in range(1, 21)]
    assert random.left_out.loss == pytest.approx(np.median(losses))
    assert random.left_out.low == pytest.approx(np.quantile(losses, 0.05))


def test_a_study_comes_back_from_its_file_and_as_a_table(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(study().to_json())
    assert Study.read(path) == study()
    table = study().to_pandas()
    assert list(table.by) == ["coupling", "last", "random"]
    assert study().point("last", 1).left_out.loss == table.loss[1]
    with pytest.raises(InputError, match="9 blocks by last"):
        study().point("last", 9)
    assert (table.megabytes[0], table.tied_loss[1]) == pytest.approx((4.0, 1.0))


def test_sentences_claim_no_more_than_the_draws_bear_out():
    assert "better than random" in words.verdict(study())
    plain = study(cuts=tuple(c for c in study().cuts if c.by != "random"))
    assert "random" not in words.verdict(plain)
    worse = next(line for line in words.findings(study()) if line.startswith("Last"))
    assert "worse than random" in worse
    assert "better" not in worse
    assert "in 1 of 2" in words.findings(study())[-1]
    for losses, told in (
        ((4.0, 6.0, 10.0), "rises from 0.500 to 1.000"),
        ((1.0, 1.5, 2.5), "falls from 0.500 to 0.250"),
        ((2.001, 3.001, 5.002), "rises from 0.50000 to 0.50020"),
    ):
        cut = Cut("coupling", 0, (1,), losses, AS_IT_WAS)
        assert told in words.verdict(study(cuts=(cut,)))


def test_a_removal_says_what_runs_in_each_slot():
    def runs(removal):
        return [[step.blocks[0] for step in steps] for steps in removal.slots(5)]

    assert runs(Removal((2, 3))) == [[1], [], [], [4], [5]]
    assert runs(Removal((1, 3, 4), tied=True)) == [[2], [2], [2], [5], [5]]
    assert Removal((2,)).slots(3)[0] == (Step((1,)),)
    for blocks in ((1, 1), (0,), (1, 2, 3), (4,)):
        with pytest.raises(InputError):
            Removal(blocks).slots(3)
