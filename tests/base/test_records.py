import subprocess
import sys

import pytest

from coupling_core import InputError, Request, View, parse_blocks


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"prompt": ""}, "empty"),
        ({"prompt": "  \n"}, "empty"),
        ({"prompt": ()}, "empty"),
        ({"model": " "}, "model is empty"),
        ({"token": 0}, "token 0"),
        ({"k": 0}, "at least 1"),
        (
            {"untrained": True},
            "untrained must be the seed of the untrained twin, such as 0, and True came",
        ),
        ({"k": -3}, "at least 1"),
        ({"k_view": 0}, r"1\.\.50"),
        ({"k_view": 51}, r"1\.\.50"),
        ({"untrained": -1}, "seed"),
        ({"kind": "self", "token": 2}, "takes all tokens"),
        ({"kind": "trajectory", "token": 2}, "takes all tokens"),
        ({"kind": "trajectory", "k": 8}, "is measured without K"),
        ({"kind": "what-if", "token": 2}, "takes all tokens"),
        ({"kind": "spectrum", "k": 8}, "is measured without K"),
        ({"kind": "perturbation", "k": 8}, "is measured without K"),
        ({"kind": "directions", "k": 8}, "is measured without K"),
        ({"block": 3}, "measured at every block"),
        ({"kind": "trajectory", "block": 3}, "measured at every block"),
        ({"kind": "self", "block": 0}, "block 0"),
        ({"kind": "self", "block": 3, "other_block": 0}, "block 0"),
        ({"kind": "self", "other_block": 3}, "needs a block"),
    ],
)
def test_a_request_that_no_model_can_meet_is_refused(changes, word):
    with pytest.raises(InputError, match=word):
        Request(**{"prompt": "Hello"} | changes)


def test_whole_numbers_of_any_library_are_taken_and_nothing_else():
    """In a process of its own: types are not checked there, as they are not for people."""
    program = (
        "import numpy as np\n"
        "from coupling_core import InputError, Request\n"
        "assert Request('x', k=np.int64(8), token=np.int8(2)) == Request('x', k=8, token=2)\n"
        "assert type(Request('x', k=np.int64(8)).k) is int\n"
        "for wrong in ({'k': '8'}, {'k': 8.0}, {'token': None}):\n"
        "    try:\n"
        "        print(Request('x', **wrong))\n"
        "    except InputError as error:\n"
        "        print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout.splitlines() == [
        "k must be a whole number, and '8' came",
        "k must be a whole number, and 8.0 came",
        "token must be a whole number, and None came",
    ], told.stderr


def test_one_block_is_compared_with_itself():
    asked = Request("x", kind="self", block=3)
    assert asked == Request("x", kind="self", block=3, other_block=3)
    assert asked.kind_words == "self, blocks 3 and 3"
    assert Request("x", kind="self").kind_words == "self, all pairs of blocks"


def test_a_request_measures_at_least_fifty_triplets_so_that_smaller_k_is_a_slice():
    assert [Request("x", k=k).k_max for k in (1, 50, 64)] == [50, 50, 64]


@pytest.mark.parametrize("changes", [{"k": 0}, {"p": 0.5}, {"p": float("nan")}])
def test_a_view_out_of_range_is_refused(changes):
    with pytest.raises(InputError):
        View(**changes)


@pytest.mark.parametrize(
    "call",
    [
        "View(definition='mine')",
        "View(role='C')",
        "Request('x', final_norm='maybe')",
        "Request('x', kind='mine')",
    ],
)
def test_words_that_are_no_choice_are_refused(call):
    # In a process of its own, where annotations are not checked before the record's own test.
    code = f"from coupling_core import Request, View; {call}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (None, (1, 2, 3, 4, 5, 6)),
        (" ", (1, 2, 3, 4, 5, 6)),
        ("3", (3,)),
        ("2-4", (2, 3, 4)),
        ("1-6:2", (1, 3, 5)),
        ("5,2-3,2", (2, 3, 5)),
        ("2 - 4", (2, 3, 4)),
        (" 1 -5 : 2", (1, 3, 5)),
        ("-1", (6,)),
        ("-6--5,4--1:2", (1, 2, 4, 6)),
    ],
)
def test_block_ranges(text, blocks):
    assert parse_blocks(text, 6) == blocks


@pytest.mark.parametrize("text", ["0-3", "1-7", "-7", "4-2", "-1-2", "a", "1-3:0", "1-", "1;2"])
def test_block_ranges_that_cannot_be_met_say_what_is_expected(text):
    with pytest.raises(InputError, match=r"1(-|\.\.)6"):
        parse_blocks(text, 6)
