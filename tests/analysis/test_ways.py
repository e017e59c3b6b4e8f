"""How a result's Jacobians were had, in lines for people."""

from dataclasses import replace

from cases import random_result

from coupling_core.analysis.ways import ways
from coupling_core.engine.ways_taken import at_block, note, noting

RESULT = random_result()
L = RESULT.n_blocks


def test_a_way_is_told_with_its_blocks():
    for by_block, told in (
        ({"0": 1}, "all blocks"),
        ({str(block): 2 for block in range(1, L + 1)}, "all blocks"),
        ({"2": 1}, "block 2"),
        ({"2": 1, "3": 1}, "blocks 2-3"),
        (7, "some blocks"),
    ):
        made = replace(RESULT, provenance={"ways": {"a branch backwards (RuntimeError)": by_block}})
        assert ways(made) == [f"a branch backwards (RuntimeError): {told}"]
    assert ways(replace(RESULT, provenance={})) == []


def test_what_was_asked_for_and_how_far_the_check_was_off_are_told():
    made = {"ways": {}, "fast": False, "why_not_fast": "a reason", "derivative_error": 3e-4}
    why, check = ways(replace(RESULT, provenance=made))
    assert "a reason" in why
    assert "3.0e-04" in check


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
