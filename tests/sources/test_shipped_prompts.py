"""The prompts that ship: as many and as varied as a claim about a model wants."""

import json
from collections import Counter
from pathlib import Path

import pytest

from coupling_core import Request
from coupling_core.sources.prompts import read_file
from coupling_core.sources.resolved import resolve

FILE = Path(__file__).parents[2] / "sweeps" / "prompts.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_every_line_is_a_prompt_with_its_category_and_difficulty():
    assert len(ROWS) == 60
    assert all(set(row) == {"prompt", "category", "difficulty"} for row in ROWS)
    assert len({row["prompt"] for row in ROWS}) == 60
    assert set(Counter(row["category"] for row in ROWS).values()) == {5}
    assert min(Counter(row["difficulty"] for row in ROWS).values()) >= 15
    assert {row["difficulty"] for row in ROWS} == {1, 2, 3}


def test_they_are_read_with_all_that_is_known_of_them():
    found = read_file(FILE)
    assert [(p.text, p.category, p.difficulty) for p in found] == [tuple(r.values()) for r in ROWS]
    assert [prompt.row for prompt in found] == list(range(1, 61))


@pytest.mark.real
def test_they_are_short_and_long():
    lengths = [len(resolve(Request(row["prompt"])).tokens.ids) for row in ROWS]
    assert min(lengths) <= 6
    assert max(lengths) >= 40
    assert all(not row["prompt"].endswith(" ") for row in ROWS)
