"""What is wrong with an input, told with what it is about."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coupling_core.base.errors import InputError


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an unreadable file into plain words."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def about(what: str) -> Iterator[None]:
    """Begin what is wrong with a part of an input with the name of that part."""
    try:
        yield
    except (InputError, ValueError) as error:
        raise InputError(f"{what}: {error}") from error
