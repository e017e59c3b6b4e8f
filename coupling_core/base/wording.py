"""Text as rows of (condition, sentence): which sentence is used when stands in one list."""

import re
from collections.abc import Iterable, Mapping

from coupling_core.base.records import Measure

MEASURES: Mapping[Measure, str] = {
    "corrected": "chance-corrected score",
    "coupling": "score c",
    "alignment": "alignment",
    "paired": "paired score",
    "overlap": "overlap",
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


_NO_INTERVAL = re.compile(r"an interval and a p need at least \d+ \w+; here the number is \d+")
"""What statistics of too few units say of each of their numbers."""


def once(texts: Iterable[str]) -> list[str]:
    """The sentences, of which only the first says why there is no interval."""
    kept: list[str] = []
    for text in texts:
        for why in _NO_INTERVAL.findall(" ".join(kept)):
            text = text.replace(f" ({why})", "").replace(f"; {why}", "")
        kept.append(text)
    return kept
