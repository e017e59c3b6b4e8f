"""Keywords as people misspell them: what is said of one that a function has not."""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from coupling_core.base.choosing import nearest
from coupling_core.base.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def known_keywords(function: F) -> F:
    """Let a function answer a keyword that it has not with the one that was probably meant.

    Args:
        function: one without `**`, which takes every keyword.

    Returns:
        the same, which raises `InputError` in the place of Python's `TypeError`.
    """
    known = _named(function)

    @wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        _require_known(function.__name__, named, known)
        return function(*args, **named)

    return cast(F, called)


def known_fields(record: C) -> C:
    """The same of a record's fields, where one is made."""
    make = vars(record)["__init__"]
    known = _named(make)

    @wraps(make)
    def made(self: Any, *args: Any, **named: Any) -> None:
        _require_known(record.__name__, named, known)
        make(self, *args, **named)

    setattr(record, "__init__", made)  # noqa: B010 - a type checker forbids the plain form
    return record


def _named(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(name for name in signature(function).parameters if name != "self")


def _require_known(name: str, named: Mapping[str, object], known: Collection[str]) -> None:
    for word in named:
        if word not in known:
            raise InputError(
                f"{name} has no argument {word!r}{nearest(word, known)}: it has {', '.join(known)}"
            )
