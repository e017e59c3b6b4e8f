"""One way to write a percentage, in every text that pages and figures show: 95 %, in one line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import coupling_core

ROOT = Path(coupling_core.__file__).parents[1]
PARTS = (
    *("explorer", "pages", "coupling_core/figures", "coupling_core/analysis"),
    *("coupling_core/base", "coupling_core/kinds"),
)
OTHER = re.compile(r"\d ?%(?![sdr(])")
"""A number with its sign at once behind it, or after a space at which a line may break."""
IS_STYLE = re.compile(r"[{}]|<style|color-mix|width")


def texts(tree: ast.Module) -> Iterator[str]:
    """All but docstrings and styles; of an f-string each part, and the forms of its numbers."""
    docstrings = {id(part.value) for part in ast.walk(tree) if isinstance(part, ast.Expr)}
    for part in ast.walk(tree):
        is_text = isinstance(part, ast.Constant) and isinstance(part.value, str)
        if is_text and id(part) not in docstrings and not IS_STYLE.search(part.value):
            yield part.value


def test_percentages_are_written_in_one_way() -> None:
    files = [file for part in PARTS for file in (ROOT / part).rglob("*.py")]
    wrong = [
        f"{file.relative_to(ROOT)}: {text}"
        for file in sorted(files)
        for text in texts(ast.parse(file.read_text()))
        if OTHER.search(text)
    ]
    assert len(files) > 100
    assert wrong == []
