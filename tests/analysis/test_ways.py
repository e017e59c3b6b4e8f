"""How a result's Jacobians were had, in lines for people."""

from dataclasses import replace

import pytest
from cases import random_result

from coupling_core.analysis.ways import ways
from coupling_core.engine.ways_taken import at_block, note, noting

RESULT = random_result()
L = RESULT.n_blocks


@pytest.mark.parametrize(
    ("by_block", "told"),
    [
        ({"0": 1}, "all blocks"),
        ({str(block): 2 for block in range(1, L + 1)}, "all blocks"),
        ({"2": 1}, "block 2"),
        ({"2": 1, "3": 1}, "blocks 2-3"),
        (7, "some blocks"),
    ],
)
def test_a_way_is_told_with_its_blocks(by_block, told):
    made = replace(RESULT, provenance={"ways": {"a branch backwards (RuntimeError)": by_block}})
    assert ways(made) == [f"a branch backwards (RuntimeError): {told}"]


def test_what_was_asked_for_and_how_far_the_check_was_off_are_told():
    made = {
        "ways": {},
        "fast": False,
        "why_not_fast": "that was asked for",
        "derivative_error": 3e-4,
    }
    assert ways(replace(RESULT, provenance=made)) == [
        "no fast way was tried, since that was asked for",
        "each Jacobian agrees with differences of what the model computes to 3.0e-04 or better",
    ]


def test_a_result_of_before_says_nothing():
    assert ways(replace(RESULT, provenance={})) == []


def test_a_way_is_noted_at_its_block():
    with noting() as notes:
        note("one token over a cache")
        for block in (2, 2, 3):
            with at_block(block):
                note("a branch backwards", "RuntimeError")
    assert notes.ways == {
        "one token over a cache": {0: 1},
        "a branch backwards (RuntimeError)": {2: 2, 3: 1},
    }
