"""What can go wrong, in three kinds that a caller treats differently."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

Name = TypeVar("Name")


class CouplingError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(CouplingError):
    """The request is wrong, and asking again changes nothing (exit status 2)."""


class PromptError(InputError):
    """The prompt or the token asked for is at fault, where others of the same model may do."""


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
