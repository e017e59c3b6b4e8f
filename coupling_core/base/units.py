"""Numbers with their units, as people write them."""

import math
import re
from collections.abc import Iterable

EXACT = 2**53
"""Whole numbers up to which a float has each exactly."""
_MORE_DIGITS = 4
"""Each decimal more is enough in three of four cases."""
_HYPHENATED = re.compile(r"(“[^”]*”)|(?<![\w.)\]}^{@-])-(?=\.?\d)")
"""Of a negative number, and not between two numbers, in a name, an exponent or what is quoted."""


def size(n_bytes: float) -> str:
    """Bytes in words: 640 kB, 3.1 MB, 1.2 GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes / 1e3:.0f} kB"


def duration(seconds: float) -> str:
    """Seconds in words: 0.3 s, 42 s, 3 min, 2.5 h."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def rounded(value: float, digits: int = 3) -> str:
    """A number with so many decimals; a zero has no sign."""
    return f"{value:z.{digits}f}"


def with_minus(text: str) -> str:
    """Words with a minus for the hyphen of negative numbers, which not every terminal has."""
    return _HYPHENATED.sub(lambda found: found[1] or "\N{MINUS SIGN}", text)


def _rounded_ever_finer(values: Iterable[float], digits: int) -> list[tuple[str, ...]]:
    """Numbers with so many decimals, and with more and more."""
    known = list(values)
    finer = range(digits, digits + _MORE_DIGITS)
    return [tuple(rounded(value, more) for value in known) for more in finer]


def with_difference(a: float, b: float, difference: float, digits: int = 3) -> tuple[str, ...]:
    """Two numbers and a - b, with enough decimals that the three agree with each other."""
    agreeing = []
    for more, told in enumerate(_rounded_ever_finer((a, b, difference), digits), digits):
        first, second, apart = map(float, told)
        if rounded(first - second, more) == told[2]:
            agreeing.append(told)
            if not abs(apart) < 9.5 * 10**-more:  # one digit says too little
                return told
    return agreeing[0] if agreeing else tuple(map(rounded, (a, b, difference)))


def decimals(values: Iterable[float], least: int) -> int:
    """How many decimals tell numbers apart, two digits of their spread: so many at least."""
    known = [value for value in values if math.isfinite(value)]
    span = max(known) - min(known) if known else 0.0
    return min(8, max(least, 2 - math.floor(math.log10(span)))) if span > 0 else least


def told_apart(*values: float, digits: int = 3) -> tuple[str, ...]:
    """Numbers of one kind with so many decimals, or with more where all would read alike."""
    tries = _rounded_ever_finer(values, digits)
    return next((words for words in tries if len(set(words)) > 1), tries[0])


def interval_told(low: float, high: float, digits: int = 3) -> tuple[str, ...]:
    """The ends of an interval, with more decimals where an end would be read as 0 and is not."""
    tries = _rounded_ever_finer((low, high), digits)
    for a, b in tries:
        if a != b and bool(low) == bool(float(a)) and bool(high) == bool(float(b)):
            return a, b
    return tries[0]


def counted(n: int, noun: str) -> str:
    """So many of what a noun calls one: 1 block, 12 blocks, 3 families."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n} {noun if n == 1 else plural}"


def cut(text: str, longest: int) -> str:
    """A text that is longer than so many characters without its end."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


NO_CATEGORY = "no category"
"""What prompts are called together of which their file names no category."""


def ranges(numbers: Iterable[int]) -> str:
    """Ascending whole numbers with runs drawn together: 2-11, 30."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def ranges_spoken(numbers: Iterable[int]) -> str:
    """The same in a sentence: 2 to 11, 30."""
    return ranges(numbers).replace("-", " to ")


def percent(share: float, digits: int = 0) -> str:
    """A share in percent, without a line break, and more digits where it would read as 0."""
    for (told,) in _rounded_ever_finer([100 * share], digits):
        if not share or float(told):
            return f"{told}\u00a0%"
    return f"under {told[:-1]}1\u00a0%"
