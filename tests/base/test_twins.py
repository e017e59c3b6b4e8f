"""What is drawn beside a result is of the same prompt and kind, or is refused."""

from dataclasses import replace

import pytest
from cases import random_result, trajectory_result

import coupling_core as cc


def test_a_twin_of_the_same_tokens_is_drawn_and_no_other() -> None:
    one = trajectory_result()
    beside = one.plot("line-shape", twin=trajectory_result(seed=1)).figure
    assert len(beside.data) > len(one.plot("line-shape", twin=None).figure.data)
    other = replace(one, tokens=(*one.tokens[:-1], " hat"))
    for twin in (True, "untrained", random_result(), other):
        with pytest.raises(cc.InputError, match="twin"):
            one.plot("line-shape", twin=twin)
