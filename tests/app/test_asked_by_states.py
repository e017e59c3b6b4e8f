"""What the states of pages ask for, where a link leaves it open."""

import pytest

from explorer.pages.tokens.state import TokensState
from explorer.pages.training.state import TrainingState


@pytest.mark.parametrize(("step", "shown"), [(70, 64), (96, 64), (97, 128), (9999, 128)])
def test_a_training_run_is_shown_at_the_nearest_step_and_of_two_at_the_earlier(
    step: int, shown: int
) -> None:
    assert TrainingState(step=step).nearest_step((0, 64, 128)) == shown


def test_the_token_that_is_fixed_is_the_one_that_all_others_are_compared_with() -> None:
    assert TokensState(kind="fixed-input").fixed_token == 1
    assert TokensState(kind="fixed-output").fixed_token == -1
    assert TokensState(kind="fixed-output", fixed=3).fixed_token == 3
