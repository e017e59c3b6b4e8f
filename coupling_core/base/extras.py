"""Packages that come with an extra, and what is said where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from coupling_core.base.errors import InputError

Extra = Literal["app", "draw", "files", "sweeps", "gguf", "quant"]
"""Of `optional-dependencies` in pyproject.toml."""


def remedy(extra: str) -> str:
    """The command that installs the packages of an extra."""
    return f"pip install 'coupling-explorer[{extra}]'"


@contextmanager
def needed(extra: Extra) -> Iterator[None]:
    """Import an extra's packages inside, and nothing else; raises `InputError` with the remedy."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is missing: {remedy(extra)}") from error
