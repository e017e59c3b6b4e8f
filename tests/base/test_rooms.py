"""Each room's map, which its `__init__` draws, names what is inside and nothing else."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^ *([a-z_0-9]+) {2,}\S", re.M)


def maps():
    for package in (
        *ROOT.glob("coupling_core/**/__init__.py"),
        *ROOT.glob("explorer/**/__init__.py"),
    ):
        told = ast.get_docstring(ast.parse(package.read_text())) or ""
        if "__all__" not in package.read_text() and ENTRY.search(told):
            yield pytest.param(package.parent, told, id=str(package.parent.relative_to(ROOT)))


@pytest.mark.parametrize(("room", "told"), list(maps()))
def test_a_room_s_map_is_of_what_is_inside(room, told):
    inside = {path.stem for path in room.glob("*.py")} - {"__init__"}
    inside |= {path.parent.name for path in room.glob("*/__init__.py")}
    assert not {name for name in inside if not re.search(rf"\b{name}\b", told)}
    assert set(ENTRY.findall(told.split("\n\n")[-1])) <= inside  # tables may stand before it
