"""What may be chosen of a model of one's own, and for how long it then learns."""

import pytest

from coupling_core.experiments.own import plans
from coupling_core.experiments.own.plans import BLOCKS, WIDTHS, OwnPlan


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_model_takes_longer_than_it_may(blocks, width):
    control, pushed = (
        OwnPlan("a", blocks=blocks, width=width, goal=goal) for goal in (None, "raise")
    )
    assert pushed.steps == control.steps
    assert pushed.steps[0] == 0
    assert len(pushed.steps) >= 6
    assert control.seconds < pushed.seconds <= plans.LONGEST


def test_small_models_learn_for_all_steps_and_large_ones_for_fewer():
    assert OwnPlan("a").steps == plans.STEPS
    assert OwnPlan("a", blocks=12, width=128).steps[-1] == 100
