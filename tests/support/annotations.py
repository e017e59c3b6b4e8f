"""Annotations checked at run time, at a third of what jaxtyping's own hook takes.

That hook checks every argument twice and keeps account of axes at every call. Here axes are kept
account of where a function's annotations have arrays, and all else is checked by beartype alone.
"""

import inspect
from functools import partial
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, get_args, get_type_hints
from unittest.mock import patch

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import _import_hook as hook

whole = jaxtyping.jaxtyped
"""What jaxtyping's hook puts round every function and class."""

# An integer is a float here, as it is everywhere in Python's typing.
check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def install(*packages: str) -> None:
    """Have packages checked that are not imported yet."""

    def jaxtyped(*context: str, **given: Any) -> Any:
        return whole(*context, **given) if context else lambda it: checked(it, **given)

    jaxtyping.jaxtyped = jaxtyped
    hook._JaxtypingLoader = Loader
    jaxtyping.install_import_hook(packages, "annotations.check")


class Loader(hook._JaxtypingLoader):
    """Keeps the compiled code of a module alone: jaxtyping's compiles all that it imports anew."""

    exec_module = SourceFileLoader.exec_module

    def get_code(self, fullname: str) -> CodeType | None:
        own = partial(hook._optimized_cache_from_source, self._typechecker.get_hash())
        with patch("importlib._bootstrap_external.cache_from_source", own):
            return super().get_code(fullname)


def checked(it: Any, typechecker: Any) -> Any:
    """A function as the hook has it, but without account of axes where it has none."""
    if not inspect.isfunction(it):
        return whole(it, typechecker=typechecker)
    hints = {name: resolved(hint, it.__globals__) for name, hint in it.__annotations__.items()}
    with_axes = any(map(has_array, hints.values()))
    if with_axes and inspect.isgeneratorfunction(it):
        return whole(it, typechecker=typechecker)
    written, it.__annotations__ = it.__annotations__, hints
    try:
        once = typechecker(it)
    finally:
        it.__annotations__ = written
    return whole(once, typechecker=None) if with_axes else once


def resolved(hint: Any, names: dict[str, Any]) -> Any:
    """What an annotation means; anything, where it names what is imported for types alone."""

    def one(value: hint) -> None: ...

    try:
        return get_type_hints(one, names, include_extras=True)["value"]
    except Exception:  # whatever evaluating it raises
        return Any


def has_array(hint: Any) -> bool:
    """Whether an annotation has an array with axes in it."""
    parts = get_args(hint)
    array = isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray)
    return array or any(map(has_array, parts))
