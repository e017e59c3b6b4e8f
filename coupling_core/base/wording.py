"""Text as rows of (condition, sentence): which sentence is used when stands in one list."""

from collections.abc import Mapping

from coupling_core.base.records import Measure

MEASURES: Mapping[Measure, str] = {
    "corrected": "chance-corrected score",
    "coupling": "score c",
    "alignment": "alignment",
}
"""Names of the measures of coupling."""

Row = str | tuple[object, str]
"""A sentence, or a condition and the sentence that is used if it is true."""


def sentences(*rows: Row) -> tuple[str, ...]:
    """The sentences whose condition is true; an empty one is left out."""
    pairs = ((row, row) if isinstance(row, str) else row for row in rows)
    return tuple(text for condition, text in pairs if condition and text)


def paragraph(*rows: Row) -> str:
    """The same as one paragraph."""
    return " ".join(sentences(*rows))
