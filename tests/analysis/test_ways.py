"""How a result's Jacobians were had, in lines for people."""

from dataclasses import replace

from cases import random_result

from coupling_core.analysis.ways import ways
from coupling_core.engine.ways_taken import at_block, note, noting

RESULT = random_result()


def told(**provenance):
    return ways(replace(RESULT, provenance=provenance))


def test_a_way_is_noted_and_told_with_its_blocks():
    with noting() as notes:
        note("one token over a cache")
        for block in (2, 2, 3):
            with at_block(block):
                note("a branch backwards", "RuntimeError")
    by_block = {2: 2, 3: 1}
    assert notes.ways["a branch backwards (RuntimeError)"] == by_block
    for blocks, words in (
        ({"0": 1}, "all blocks"),
        ({str(block): 2 for block in range(1, RESULT.n_blocks + 1)}, "all blocks"),
        ({str(block): n for block, n in by_block.items()}, "blocks 2-3"),
        (7, "some blocks"),
    ):
        assert told(ways={"a way": blocks}) == [f"a way: {words}"]
    assert told() == []
    why, check = told(ways={}, fast=False, why_not_fast="a reason", derivative_error=3e-4)
    assert ("a reason" in why, "3.0e-04" in check) == (True, True)
