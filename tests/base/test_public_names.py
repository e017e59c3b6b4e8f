"""Every public name says what it takes and gives, and is found where people look for names."""

import ast
import dataclasses
import importlib.util
import inspect
import re
from importlib import resources
from pathlib import Path
from typing import get_args

import jaxtyping
import numpy as np
import pytest

import coupling_core
from coupling_core import InputError
from coupling_core.analysis.trajectory import step_lengths
from coupling_core.base.units import size

ROOT = Path(__file__).parents[2]
OTHERS = ("sweeps", "DEFINITIONS", "DefinitionName", "Kind")
PUBLIC = {name: getattr(coupling_core, name) for name in coupling_core.__all__}
NAMES = {name: it for name, it in PUBLIC.items() if name not in OTHERS}
ENTRY = re.compile(r"^ *([a-z_0-9]+) {2,}\S", re.M)
"""A line of a room's map, in the docstring of its `__init__`."""
INITS, TOPS = "%s/**/__init__.py", ("coupling_core", "explorer", "studies")


def described(it: object) -> set[str]:
    """What the `Args:` of a docstring describe, with those of the classes that it extends."""
    texts = (each.__doc__ or "" for each in (inspect.getmro(it) if inspect.isclass(it) else [it]))
    return {name for text in texts for name in re.findall(r"^ +(\w+): \S", text, re.M)}


def parts(it: object) -> dict[str, object]:
    """The types of what a function takes and gives, or a record has."""
    if dataclasses.is_dataclass(it):
        return {item.name: item.type for item in dataclasses.fields(it)}
    return {} if inspect.isclass(it) else inspect.get_annotations(it)


def test_public_names_and_their_methods_describe_all_that_they_take():
    undescribed = [f"{name}: no docstring" for name, it in NAMES.items() if not inspect.getdoc(it)]
    for name, it in NAMES.items():
        undescribed += [f"{name}({word})" for word in parts(it).keys() - described(it) - {"return"}]
        if inspect.isclass(it) and not issubclass(it, tuple):
            for own, method in inspect.getmembers(it):
                is_method = inspect.isfunction(method) or isinstance(method, property)
                if is_method and own[0] != "_" and not inspect.getdoc(method):
                    undescribed.append(f"{name}.{own}")
    assert len(NAMES) > 90
    assert undescribed == []


def test_every_array_has_the_names_of_its_axes():
    nameless = []
    for name, it in NAMES.items():
        for part in (p for hint in parts(it).values() for p in get_args(hint) or (hint,)):
            is_named = inspect.isclass(part) and issubclass(part, jaxtyping.AbstractArray)
            if "ndarray" in str(part) and not is_named:
                nameless.append(f"{name}: {part}")
    assert nameless == []


def test_public_names_are_listed_in_the_reference_and_typed():
    shown = [name for name in dir(coupling_core) if not name.startswith("__")]
    assert shown == sorted(coupling_core.__all__)
    assert {"measure", "jacobian", "measure_many", "compare_models", "Result"} <= PUBLIC.keys()
    assert issubclass(InputError, coupling_core.CouplingError)
    spec = importlib.util.spec_from_file_location("api", ROOT / "docs" / "api.py")
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    assert api.MODULES[0] == "coupling_core"  # whose every public name is written
    assert resources.files("coupling_core").joinpath("py.typed").is_file()


def test_each_map_of_a_room_names_what_is_inside_and_nothing_else():
    wrong, maps = [], 0
    for path in (path for top in TOPS for path in ROOT.glob(INITS % top)):
        told = ast.get_docstring(ast.parse(path.read_text())) or ""
        if "__all__" not in path.read_text() and ENTRY.search(told):
            maps += 1
            inside = {each.stem for each in path.parent.glob("*.py")} - {"__init__", "__main__"}
            inside |= {each.parent.name for each in path.parent.glob("*/__init__.py")}
            missing = {name for name in inside if not re.search(rf"\b{name}\b", told)}
            gone = {*ENTRY.findall(told.split("\n\n")[-1])} - inside  # tables may stand before it
            wrong += [f"{path.parent.relative_to(ROOT)}: {name}" for name in missing | gone]
    assert maps > 10
    assert wrong == []


def test_types_and_axes_are_checked_in_these_tests():
    for call in (size, step_lengths):
        for value in ("no number", np.ones(3)):
            with pytest.raises(Exception, match=r"violates type hint|jaxtyp"):
                call(value)
