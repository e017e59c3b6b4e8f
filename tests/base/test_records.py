"""What may be asked for: requests, and ranges of blocks."""

from coupling_core import Request, parse_blocks

RANGES = {
    None: (1, 2, 3, 4, 5, 6),
    " ": (1, 2, 3, 4, 5, 6),
    "3": (3,),
    "2-4": (2, 3, 4),
    "1-6:2": (1, 3, 5),
    "5,2-3,2": (2, 3, 5),
    "2 - 4": (2, 3, 4),
    " 1 -5 : 2": (1, 3, 5),
    "-1": (6,),
    "-6--5,4--1:2": (1, 2, 4, 6),
}


def test_block_ranges():
    assert {text: parse_blocks(text, 6) for text in RANGES} == RANGES


def test_one_block_is_compared_with_itself():
    asked = Request("x", kind="self", block=3)
    assert asked == Request("x", kind="self", block=3, other_block=3)
    assert asked != Request("x", kind="self", block=3, other_block=2)


def test_a_request_measures_at_least_fifty_triplets_so_that_smaller_k_is_a_slice():
    assert [Request("x", k=k).k_max for k in (1, 50, 64)] == [50, 50, 64]
