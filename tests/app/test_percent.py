"""One way to write a percentage, in every text that pages and figures show: 95 %, in one line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import coupling_core

ROOT = Path(coupling_core.__file__).parents[1]
PARTS = (
    *("explorer", "pages", "coupling_core/figures", "coupling_core/analysis"),
    *("coupling_core/base", "coupling_core/kinds"),
)
FILES = sorted(file for part in PARTS for file in (ROOT / part).rglob("*.py"))
OTHER = re.compile(r"\d ?%(?![sdr(])")
"""A number with its sign at once behind it, or after a space at which a line may break."""
IS_STYLE = re.compile(r"[{}]|<style|color-mix|width")


def texts(tree: ast.Module) -> Iterator[str]:
    """All but docstrings and styles; of an f-string each part, and the forms of its numbers."""
    docstrings = {
        id(part.value)
        for part in ast.walk(tree)
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
    }
    for part in ast.walk(tree):
        if (
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and id(part) not in docstrings
        ):
            if not IS_STYLE.search(part.value):
                yield part.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_percentages_are_written_in_one_way(file: Path) -> None:
    found = [text for text in texts(ast.parse(file.read_text())) if OTHER.search(text)]
    assert found == []


@pytest.mark.parametrize("text", ["'95 % of'", "'95% of'", "f'{share:.0%} of'"])
def test_another_way_is_found(text: str) -> None:
    (found,) = [one for one in texts(ast.parse(f"x = {text}")) if OTHER.search(one)]
    assert "%" in found
    assert not OTHER.search("95\u00a0% of")
