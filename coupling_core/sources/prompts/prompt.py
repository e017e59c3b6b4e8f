"""One prompt, and where it stands in its source."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from coupling_core.base.images import shown
from coupling_core.base.textfiles import legible

OWN = ("prompt", "category", "difficulty")
"""What a record says that a prompt has fields of its own for."""
_BITS = 3000
"""Of a whole number: Python prints none of more than a few thousand digits."""
_RENAME = ": give a column of your own another name"


@dataclass(frozen=True)
class Prompt:
    """A text to measure.

    Args:
        text: as the tokenizer gets it; an image as a data URI.
        source: the name of its data set or file; "text" where it stands in the sweep itself.
        row: where it is there: a file's line, counted from 1, or a row of the split, counted from
            0 as the hub's viewer does.
        category: such as a subject; "" where none is known.
        difficulty: on the source's own scale, higher is harder; None where none is known.
        fields: what else its file says of it, by column, for tables.
    """

    text: str
    source: str
    row: int
    category: str = ""
    difficulty: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for name in ("source", "category"):  # of a file or a folder
            object.__setattr__(self, name, legible(getattr(self, name)))

    @property
    def words(self) -> str:
        """The text for people; an image in words."""
        return shown(self.text)

    @classmethod
    def of(cls, fields: Mapping[str, Any], source: str, row: int) -> "Prompt":
        """The prompt of a record with `prompt` and perhaps `category` and `difficulty`.

        Args:
            fields: the record; what else it has is kept as `fields`.
            source: the name of what it stands in.
            row: where it stands there.

        Raises:
            ValueError: what is wrong with it, in words that follow a colon.
        """
        text, category = fields.get("prompt"), fields.get("category")
        difficulty = _number(fields.get("difficulty"))
        if isinstance(category, Real):
            category = None if category != category else str(category)
        if not isinstance(text, str):
            raise ValueError(f"prompt is a text, and {_shown(text)} came")
        if not text.strip():
            raise ValueError("prompt is empty")
        if not isinstance(category, str | None):
            raise ValueError(f"category is a text, and {_shown(category)} came{_RENAME}")
        if not _is_finite_or_none(difficulty):
            raise ValueError(f"difficulty is a number, and {_shown(difficulty)} came{_RENAME}")
        for name, value in fields.items():
            _require_unicode(name)
            _require_unicode(value)
        kept = {name: value for name, value in fields.items() if name not in OWN}
        return cls(text, source, row, (category or "").strip(), difficulty, kept)


def known_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A record in which Category is category, as people write it, where there is one of them."""
    plain = {name: str(name).strip().lower() for name in fields}
    times = Counter(plain.values())
    known = {name: known for name, known in plain.items() if known in OWN and times[known] == 1}
    return {known.get(name, name): value for name, value in fields.items()}


def _require_unicode(value: object) -> None:
    """Refuse halves of characters, which no file and no tokenizer takes, and what has no text."""
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise ValueError("a number of thousands of digits came: give it as a text")
    is_nested = isinstance(value, dict | list)
    text = json.dumps(value, ensure_ascii=False, default=str) if is_nested else str(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"character {error.start + 1} is half of one, and no Unicode") from error


def _number(value: Any) -> Any:
    """A whole number or a text of a number as a float, no text as None, all else as it is."""
    if value == "":
        return None
    try:
        is_number = isinstance(value, Real | str) and not isinstance(value, bool)
        return float(value) if is_number else value
    except (OverflowError, ValueError):
        return value


def _is_finite_or_none(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isfinite(value))


def _shown(value: object) -> str:
    return "none" if value is None else repr(value)[:60]


def repeated(prompts: Iterable[str]) -> str:
    """What is to be said of prompts that come more than once; "" where none does.

    Over such rows an interval is narrower than it should be.
    """
    again = [words for words, n in Counter(prompts).items() if n > 1]
    if not again:
        return ""
    n = "1 of the prompts comes" if len(again) == 1 else f"{len(again)} of the prompts come"
    return (
        f"{n} more than once, the first {again[0]!r}: each has its "
        "rows, and a mean with its interval counts them as prompts of their own"
    )
