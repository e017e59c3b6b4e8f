"""What helps people who mistake a call: one test of each; none of it is a number."""

from dataclasses import replace

import numpy as np
import pytest
from cases import random_result

import coupling_core as cc
from coupling_core.base.keywords import known_keywords
from coupling_core.base.showing import in_short


def test_a_keyword_is_answered_with_the_one_that_was_meant():
    class Number:
        """With a method."""

        @known_keywords
        def over(self, value, *, by=2):
            """A value over another."""
            return value / by

    assert (Number().over(3), Number().over(value=3, by=1)) == (1.5, 3)
    for args, named, meant in (
        ((1,), {"bye": 3}, "'by'"),
        ((), {"by": 3}, "value"),
        ((3, 2), {}, "by="),
    ):
        with pytest.raises(cc.InputError, match=meant):
            Number().over(*args, **named)


def test_a_name_that_is_none_is_answered_with_the_one_that_was_meant():
    for found, name, meant in (
        (random_result(), "verdit", "'verdict'"),
        (random_result(), "coupling", ".scores("),
        (random_result().scores(k=3), "to_csv", "to_pandas()"),
    ):
        assert not hasattr(found, name)
        with pytest.raises(AttributeError) as refused:
            getattr(found, name)
        assert meant in str(refused.value)


def test_a_result_and_three_scores_are_not_taken_for_numbers():
    depth = random_result()
    scores = depth.scores(k=3)
    three = scores.mean()
    for found in (depth, scores, three, scores[1, 2]):
        for take in (np.asarray, np.mean):
            with pytest.raises(cc.InputError):
                take(found)
    for take in (float, "{:.3f}".format, abs, lambda of: 1 - of, lambda of: of > of):
        with pytest.raises(cc.InputError):
            take(three)
    corrected, coupling, chance = three
    assert three == (corrected, coupling, chance)
    assert np.array([depth, depth], object).tolist() == [depth, depth]
    for other in (scores.corrected, 1.0, None):
        assert (scores == other) is False
        assert (other == scores) is False


def test_a_result_shows_itself_in_a_line_and_a_notebook_and_escapes_its_prompt():
    depth = random_result()
    assert repr(depth) == (
        "DepthResult(random, 'The cat sat down', 5 blocks, token 4 of 4 ' down', K <= 8, certified)"
    )
    partial = replace(depth, jacobian_norm=np.full(5, np.nan))
    first, *others = depth.certificates
    failed = replace(depth, certificates=(replace(first, certified=False, reason="large"), *others))
    assert len({repr(each) for each in (depth, partial, failed)}) == 3
    assert "blocks: 40 of them" in in_short(cc.View(blocks=tuple(range(1, 41))))
    hostile = replace(depth, tokens=("a", "b", "c", "<script>alert(1)</script>"))
    shown = hostile._repr_html_()
    assert "plotly" in shown
    assert "<script>alert" not in shown.split("<div")[0]


def test_what_is_offered_of_a_result_is_for_who_looks_at_it():
    depth = random_result()
    assert {"scores", "plot", "tokens", "default_k", "matrix"} <= {*dir(depth)}
    within = {"part", "sizes_of", "typed", "consistency", "each_certificate"}
    assert all(hasattr(depth, name) for name in within)
    assert not within & {*dir(depth)}
