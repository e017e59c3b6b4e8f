"""Edits of a model's depth: their spelling, and what each slot then does."""

from hypothesis import given
from hypothesis import strategies as st

from coupling_core.base.edits import Edit, Step, every_edit, flat, parse_edit

PROGRAMS = {
    "none": [1, 2, 3, 4, 5],
    "skip(2)": [1, 3, 4, 5],
    "repeat(3)": [1, 2, 3, 3, 4, 5],
    "replace(4,1)": [1, 2, 3, 1, 5],
    "interchange(2,4)": [1, 4, 3, 2, 5],
    "interchange(4,2)": [1, 4, 3, 2, 5],
    "reverse(2-5)": [1, 5, 4, 3, 2],
    "damp(5,0)": [1, 2, 3, 4],
    "damp(5,1)": [1, 2, 3, 4, 5],
    "skip(-1)": [1, 2, 3, 4],
}


def test_blocks_run_where_the_edit_says():
    found = {text: flat(parse_edit(text).slots(5)) for text in PROGRAMS}
    assert found == {
        text: tuple(Step((block,)) for block in blocks) for text, blocks in PROGRAMS.items()
    }


def test_damped_and_parallel_blocks():
    assert flat(parse_edit("damp(2,0.25)").slots(3)) == (Step((1,)), Step((2,), 0.25), Step((3,)))
    parallel = parse_edit("parallel(2-4)").slots(5)
    assert parallel == ((Step((1,)),), (Step((2, 3, 4)),), (), (), (Step((5,)),))


VERBS = st.sampled_from(["skip", "repeat", "replace", "interchange", "damp", "reverse", "parallel"])
NUMBERS = st.integers(-99, 99).filter(bool)


@given(VERBS, NUMBERS, NUMBERS, st.floats(0, 2))
def test_what_is_spelled_is_read(verb, one, other, factor):
    blocks = (one,) if verb in ("skip", "repeat", "damp") else (one, other)
    edit = Edit(verb, blocks, factor if verb == "damp" else 1.0)
    assert parse_edit(str(edit)) == edit
    assert parse_edit(f" {str(edit).capitalize().replace(',', ' , ')} ") == edit


def test_every_block_and_every_pair_is_edited_once():
    edits = every_edit(30)
    assert len(set(edits)) == len(edits)
    assert sum(edit.verb == "replace" for edit in edits) == 870
    assert sum(edit.verb == "interchange" for edit in edits) == 435
    assert all(edit == edit.of(30) for edit in edits)
