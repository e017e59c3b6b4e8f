"""Calls as people mistake them: what is said of a keyword that a function has not, and the like."""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from coupling_core.base.choosing import nearest
from coupling_core.base.errors import InputError

_OF_SCORES = ("k", "blocks", "definition", "p", "role")
_SCORED = "; scores(k=...), of a result that has some, chooses these and has the same method"

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def known_keywords(function: F) -> F:
    """Let a function answer a call that it does not take in words.

    A keyword that it has not is answered with the one that was probably meant, too many arguments
    with the names of those that have to be named, and too few with the names of those missing.

    Args:
        function: one without `*` and `**`, which take everything.

    Returns:
        the same, which raises `InputError` in the place of Python's `TypeError`.
    """
    parameters = [one for one in signature(function).parameters.values() if one.name != "self"]
    known = tuple(one.name for one in parameters)
    placed = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
    needed = [one.name for one in parameters if one.default is one.empty]
    of_self = len(signature(function).parameters) - len(parameters)

    @wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        name, came = function.__name__, len(args) - of_self
        _require_known(name, named, known)
        if came > len(placed):
            raise InputError(_too_many(name, came, placed, known))
        given = {*placed[:came], *named}
        if missing := [one for one in needed if one not in given]:
            others = [f"{one}=..." for one in missing if one not in placed]
            form = f"{name}({', '.join([*placed, *others, '...'])})"
            raise InputError(f"{name} needs {' and '.join(missing)}: it is called as {form}")
        return function(*args, **named)

    return cast(F, called)


def known_fields(record: C) -> C:
    """The same of a record's fields, where one is made."""
    make = vars(record)["__init__"]
    known = tuple(name for name in signature(make).parameters if name != "self")

    @wraps(make)
    def made(self: Any, *args: Any, **named: Any) -> None:
        _require_known(record.__name__, named, known)
        make(self, *args, **named)

    setattr(record, "__init__", made)  # noqa: B010 - a type checker forbids the plain form
    return record


def _too_many(name: str, came: int, placed: Collection[str], known: Collection[str]) -> str:
    if not known:
        return f"{name} takes nothing, and {came} came"
    others = ", ".join(f"{one}=" for one in known if one not in placed)
    first = f"only {', '.join(placed)}" if placed else "nothing"
    rest = f"name the others, of {others}" if others else f"help({name}) tells what it takes"
    return f"{name} takes {first} without a name, and {came} came: {rest}"


def _require_known(name: str, named: Mapping[str, object], known: Collection[str]) -> None:
    for word in named:
        if word not in known:
            raise InputError(
                f"{name} has no argument {word!r}{nearest(word, known)}: it "
                + (f"has {', '.join(known)}" if known else "takes none")
                + _SCORED * (word in _OF_SCORES and name in ("to_pandas", "to_xarray"))
            )
