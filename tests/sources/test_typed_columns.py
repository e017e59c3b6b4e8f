"""What the cells of a CSV file's column are."""

import pytest

from coupling_core.sources.prompts.columns import typed


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2", "+3", "0"], [1, -2, 3, 0]),
        (["1", ""], [1, None]),
        (["1.5", "2", ".5", "1e-3", ""], [1.5, 2.0, 0.5, 0.001, None]),
        (["007", "12"], ["007", "12"]),
        (["1.5", "x"], ["1.5", "x"]),
        (["nan", "inf"], ["nan", "inf"]),
        ([".", "1"], [".", "1"]),
        (["1e", "1"], ["1e", "1"]),
        (["1_000"], ["1_000"]),
        (["", ""], [None, None]),
        (["a", ""], ["a", None]),
    ],
)
def test_numbers_are_numbers_where_every_cell_is_one(cells, expected):
    found = typed(cells)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))
