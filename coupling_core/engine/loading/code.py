"""Whether a piece of code is that of an installed library, or somebody's own.

What a library computes is known by the name of its function. What code of one's own computes is
not: the same name, in a notebook above all, may mean something else a minute later.
"""

import functools
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
import transformers

_OF_PACKAGES = ("site-packages", "dist-packages")
"""Names of folders that hold packages: an environment's, the user's, the system's."""
_PLACES = tuple(
    {
        *(Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")),
        # An environment may see the packages of another one too.
        *(Path(place).resolve() for place in sys.path if Path(place).name in _OF_PACKAGES),
        # Their own folders, where they run from a checkout.
        *(Path(str(each.__file__)).resolve().parent for each in (torch, transformers)),
        Path(__file__).resolve().parents[2],
    }
)
"""Folders of installed code."""


_OF_COMPILER = ("__compiled_fn_", "__resume_at_")
"""Begin names that `torch.compile` adds to a file, which nothing that was written there calls."""


def is_installed(module: str) -> bool:
    """Whether a module of this name comes from an installed library, or from Python itself.

    `__main__` never does: where an installed program began (`python -m pytest`), it has that
    program's file, and still anybody's code runs there.
    """
    found = sys.modules.get(module)
    if found is None or module == "__main__":
        return False
    return _is_installed(module, getattr(found, "__file__", None))


@functools.cache
def _is_installed(module: str, file: str | None) -> bool:
    if file is None:  # compiled into Python or a library; a notebook has no file either
        return module.partition(".")[0] in {*sys.stdlib_module_names, "torch"}
    path = Path(file).resolve()
    return any(path.is_relative_to(place) for place in _PLACES)


def layers(function: Any) -> Iterator[Any]:
    """A callable and all that it is known to call: what it wraps, binds, or closes over."""
    waiting, seen = [function], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        match each:
            case functools.partial():
                waiting += [each.func, *filter(callable, each.args)]
                waiting += filter(callable, each.keywords.values())
            case MethodType():
                waiting.append(each.__func__)
            case property():
                waiting += [part for part in (each.fget,) if part]
            case functools.cached_property():
                waiting.append(each.func)
            case staticmethod() | classmethod():
                waiting.append(each.__func__)
            case FunctionType():
                waiting += _held(each)


def _held(function: FunctionType) -> list[Any]:
    """Functions that a function wraps or closes over."""
    held = [vars(function)["__wrapped__"]] if "__wrapped__" in vars(function) else []
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if isinstance(content, FunctionType | MethodType | functools.partial):
            held.append(content)
    return held


def home(function: Any) -> str:
    """The module in which a callable was written, whatever it says of itself."""
    if isinstance(function, MethodType):
        return home(function.__func__)
    if isinstance(function, FunctionType):
        return str(function.__globals__.get("__name__", "__main__"))
    if isinstance(function, type):
        return function.__module__
    if isinstance(function, BuiltinFunctionType):
        return str(function.__module__ or "builtins")
    return type(function).__module__


def foreign(function: Any) -> str:
    """The name of the first part of a callable that no library wrote; "" where there is none."""
    for each in layers(function):
        if not is_installed(home(each)):
            return f"{home(each)}.{getattr(each, '__qualname__', type(each).__qualname__)}"
    return ""


def changed(cls: type) -> Iterator[tuple[str, Any]]:
    """What of a class, or of those it is derived from, was not written as part of it."""
    for each in cls.__mro__[:-1]:
        for name, value in vars(each).items():
            if not isinstance(value, FunctionType | property | staticmethod | classmethod):
                continue
            functions = [part for part in layers(value) if isinstance(part, FunctionType)]
            written = inspect.unwrap(functions[0]) if functions else value
            is_own = getattr(written, "__qualname__", "").startswith(each.__qualname__)
            if not is_own or foreign(value):
                yield f"{each.__qualname__}.{name}", value


def replaced(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Functions in an installed module that no library wrote."""
    for name, value in list(vars(module).items()):
        if name.startswith(_OF_COMPILER):
            continue
        if isinstance(value, FunctionType | MethodType | functools.partial) and foreign(value):
            yield f"{module.__name__}.{name}", value
