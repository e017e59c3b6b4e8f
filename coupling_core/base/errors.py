"""What can go wrong, in three kinds that a caller treats differently."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # slow to import, and most errors are not of pydantic
    from pydantic import ValidationError

Name = TypeVar("Name")

_SHOWN = 60
"""Letters of a value in a complaint."""


class CouplingError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(CouplingError):
    """The request is wrong, and asking again changes nothing (exit status 2)."""


class PromptError(InputError):
    """The prompt or the token asked for is at fault, where others of the same model may do."""


def refuse(*rows: tuple[object, str]) -> None:
    """Raise `InputError` with the sentence of the first condition that holds."""
    for holds, sentence in rows:
        if holds:
            raise InputError(sentence)


class ComputeError(CouplingError):
    """A sound request whose computing failed: memory, network, numerics, disk (exit status 1)."""


class Cancelled(CouplingError):
    """The user stopped a running measurement."""


def a_type(value: object) -> str:
    """What a value is, with its article: a list, an int."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def reason(error: Exception) -> str:
    """Why something cannot be read; of what is nested too deeply, Python speaks of itself."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def problems(error: "ValidationError", names: Sequence[str] = ()) -> str:
    """What pydantic refuses, a clause a field; `names` are those of values that came in order."""
    first: dict[Any, Any] = {}
    for of in error.errors(include_url=False):
        first.setdefault(of["loc"][0] if of["loc"] else "", of)
    return "; ".join(_problem(of, names) for of in first.values())


def _problem(of: Any, names: Sequence[str]) -> str:
    field, *within = of["loc"] or ("",)
    if isinstance(field, int) and field < len(names):
        field = names[field]
    name = ".".join(map(str, (field, *within)))
    if of["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{name} is unknown"
    if of["type"].startswith("missing"):
        return f"{name} is missing"
    came = repr(of["input"])
    shown = came if len(came) <= _SHOWN else f"{came[: _SHOWN - 3]}..."
    wanted = of["msg"].removeprefix("Value error, ")
    return f"{name} = {shown}: {wanted[0].lower()}{wanted[1:]}"


def by_reason(errors: Mapping[Name, Exception]) -> dict[str, list[Name]]:
    """What failed, by reason, both in the order in which they came."""
    found: dict[str, list[Name]] = {}
    for name, error in errors.items():
        found.setdefault(str(error), []).append(name)
    return found


def every_prompt_failed(errors: Sequence[Exception]) -> InputError | ComputeError:
    """The error of a call of which every prompt failed; of one reason, that reason alone."""
    first = errors[0]
    kind = InputError if isinstance(first, InputError) else ComputeError
    is_one = len({str(error) for error in errors}) == 1
    return kind(str(first) if is_one else f"every prompt failed, the first with: {first}")
