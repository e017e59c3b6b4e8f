"""What is drawn beside a result is of the same prompt and kind, or is refused in words."""

from dataclasses import replace

import pytest
from cases import random_result, trajectory_result

import coupling_core as cc


def test_a_twin_of_the_same_tokens_is_drawn() -> None:
    one, other = trajectory_result(), trajectory_result()
    drawn = one.plot("line-shape", twin=other).figure
    assert "twin" in [trace.name for trace in drawn.data] or len(drawn.data) > 1
    assert one.plot("line-shape", twin=None).figure.data


@pytest.mark.parametrize("twin", [True, "untrained", random_result()])
def test_what_is_no_such_result_is_refused(twin) -> None:
    with pytest.raises(cc.InputError, match="twin is the trajectory result of another model"):
        trajectory_result().plot("line-shape", twin=twin)


def test_another_prompt_is_no_twin() -> None:
    one = trajectory_result()
    other = replace(one, tokens=(*one.tokens[:-1], " hat"))
    with pytest.raises(cc.InputError, match=r"twin has other tokens, .* and not .*untrained=0"):
        one.plot("line-shape", twin=other)
