"""Every public name says what it takes and gives, and is found where people look for names."""

import dataclasses
import importlib.util
import inspect
import re
from importlib import resources
from pathlib import Path
from typing import get_args

import jaxtyping
import pytest

import coupling_core
from coupling_core import InputError

ROOT = Path(__file__).parents[2]
OTHERS = ("sweeps", "DEFINITIONS", "DefinitionName", "Kind")
NAMES = [name for name in coupling_core.__all__ if name not in OTHERS]


def described(it: object) -> set[str]:
    """What the `Args:` of a docstring describe, with those of the classes that it extends."""
    of = inspect.getmro(it) if inspect.isclass(it) else (it,)
    texts = (each.__doc__ or "" for each in of)
    return {name for text in texts for name in re.findall(r"^ +(\w+): \S", text, re.M)}


def taken(it: object) -> list[str]:
    """What a function takes, or a record has."""
    if dataclasses.is_dataclass(it):
        return [item.name for item in dataclasses.fields(it)]
    return [] if inspect.isclass(it) else list(inspect.signature(it).parameters)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_describes_all_that_it_takes(name):
    it = getattr(coupling_core, name)
    assert inspect.getdoc(it)
    assert not set(taken(it)) - described(it)


@pytest.mark.parametrize("name", [n for n in NAMES if inspect.isclass(getattr(coupling_core, n))])
def test_every_method_of_a_public_class_is_described(name):
    it = getattr(coupling_core, name)
    own = {n: m for n, m in inspect.getmembers(it) if not n.startswith("_")}
    methods = {n: m for n, m in own.items() if inspect.isfunction(m) or isinstance(m, property)}
    if not issubclass(it, tuple):
        assert [n for n, method in methods.items() if not inspect.getdoc(method)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_array_has_the_names_of_its_axes(name):
    it = getattr(coupling_core, name)
    if dataclasses.is_dataclass(it):
        hints = [item.type for item in dataclasses.fields(it)]
    else:
        hints = [] if inspect.isclass(it) else list(inspect.get_annotations(it).values())
    for hint in hints:
        for part in get_args(hint) or (hint,):
            is_named = inspect.isclass(part) and issubclass(part, jaxtyping.AbstractArray)
            assert is_named or "ndarray" not in str(part)


def test_public_names_are_in_dir_and_in_the_reference():
    assert set(coupling_core.__all__) <= set(dir(coupling_core))
    spec = importlib.util.spec_from_file_location("api", ROOT / "docs" / "api.py")
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    assert api.MODULES[0] == "coupling_core"  # whose every public name is written


def test_what_is_new_is_public():
    new = {"measure", "jacobian", "measure_many", "compare_models", "BlockJacobian", "Drawing"}
    assert new | {"Means", "Result", "Scores", "PositionScores"} <= set(coupling_core.__all__)
    assert issubclass(InputError, coupling_core.CouplingError)


def test_the_package_says_that_it_has_types():
    assert resources.files("coupling_core").joinpath("py.typed").is_file()


def test_what_is_listed_is_public():
    shown = [name for name in dir(coupling_core) if not name.startswith("__")]
    assert shown == sorted(coupling_core.__all__)
