"""What a notebook does first, with every sort of model that one may have there."""

import doors
import pytest


@pytest.mark.full
@pytest.mark.parametrize("made", [doors.of_transformers, doors.by_ones_own_hand])
def test_every_line_of_a_notebook_runs(made, tmp_path):
    doors.goes_through(made, tmp_path)
