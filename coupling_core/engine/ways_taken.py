"""How a result's Jacobians were had, noted while it is measured.

There are fast ways, which hold for most models and are given up where they do not. What was taken,
and how well it was found to agree with what the model computes, is noted as it comes, so that a
result can say so.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Notes:
    """What was noted.

    Args:
        ways: how often each was taken, by block; 0 stands for all blocks at once.
        derivative_error: the largest distance of a product J v from a difference of what the model
            computes, relative to its norm.
    """

    ways: dict[str, Counter[int]] = field(default_factory=dict)
    derivative_error: float = 0.0


_notes: ContextVar[Notes | None] = ContextVar("notes", default=None)
_block: ContextVar[int] = ContextVar("block", default=0)


@contextmanager
def setting(variable: ContextVar[Any], value: T) -> Iterator[T]:
    """While it lasts, a context variable has this value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def noting() -> AbstractContextManager[Notes]:
    """While it lasts, what is noted is collected."""
    return setting(_notes, Notes())


def at_block(number: int) -> AbstractContextManager[int]:
    """While it lasts, what is noted is of this block, 1..L."""
    return setting(_block, number)


def note(way: str, why_not: str = "") -> None:
    """Note a way that was taken, and why no faster one was."""
    if (notes := _notes.get()) is not None:
        told = f"{way} ({why_not})" if why_not else way
        notes.ways.setdefault(told, Counter())[_block.get()] += 1


def note_error(error: float) -> None:
    """Note how far a product was from a difference."""
    if (notes := _notes.get()) is not None:
        notes.derivative_error = max(notes.derivative_error, error)


def add(notes: Notes) -> None:
    """Note again what was noted elsewhere."""
    if (own := _notes.get()) is not None:
        for way, by_block in notes.ways.items():
            own.ways.setdefault(way, Counter()).update(by_block)
        own.derivative_error = max(own.derivative_error, notes.derivative_error)
