"""What keeps people from taking a result for what it is not."""

from dataclasses import replace

import numpy as np
import pytest
from cases import random_result

import coupling_core as cc


def test_a_result_and_three_scores_are_not_taken_for_numbers():
    depth = random_result()
    scores = depth.scores(k=3)
    for found in (depth, scores, scores.mean(), scores[1, 2]):
        for take in (np.asarray, np.mean):
            with pytest.raises(cc.InputError):
                take(found)
    for take in (float, "{:.3f}".format, abs, lambda of: 1 - of, lambda of: of > of):
        with pytest.raises(cc.InputError):
            take(scores.mean())
    assert np.array([depth, depth], object).tolist() == [depth, depth]
    for other in (scores.corrected, 1.0, None):
        assert (scores == other) is False
        assert (other == scores) is False


def test_a_notebook_shows_a_result_with_its_prompt_escaped():
    hostile = replace(random_result(), tokens=("a", "b", "c", "<script>alert(1)</script>"))
    shown = hostile._repr_html_()
    assert "plotly" in shown
    assert "<script>alert" not in shown.split("<div")[0]
