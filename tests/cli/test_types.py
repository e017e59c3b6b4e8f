"""What the documents show passes strict type checkers, and so does a use of the whole interface."""

import os
import re
import subprocess
import sys
from doctest import DocTestParser
from pathlib import Path
from typing import get_args

import pytest

import coupling_core
from coupling_core.base.kinds import kinds

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PYTHON = (ROOT / "docs" / "python.md").read_text()
OF_ONE_S_OWN = """import torch
my_model = model = torch.nn.Linear(1, 1)
my_tokenizer = tokenizer = object()
"""

KINDS = '''
"""Which result comes of which kind."""
from pathlib import Path
from typing import assert_type

import torch

import coupling_core as cc

depth = cc.measure("The cat sat", model=Path("folder"), dtype=torch.bfloat16, store="kept")
assert_type(depth, cc.DepthResult)
assert_type(cc.measure([1, 2, 3], kind="self"), cc.TokenMeansResult)
assert_type(cc.measure(torch.tensor([1, 2]), kind="fixed-input", block=-1), cc.TokensResult)
assert_type(cc.measure(Path("cat.png"), None, kind="trajectory", fast=False), cc.TrajectoryResult)
assert_type(cc.measure(cc.Request("The cat sat"), cc.Store("kept")), cc.Result)
scores = depth.scores(k=50, blocks="9-16", definition="page", role="B")
assert_type(scores, cc.Scores)
assert_type(depth.scores(blocks=[-1, 2])["1-2"].mean(), cc.Means)
assert_type(scores.mean().corrected, float)
assert_type(scores.plot(corrected=False), cc.Drawing)
assert_type(scores.plot().save("map.html"), Path)
assert_type(cc.measure("a", kind="self").scores(k=10), cc.PositionScores)
rows: int = len(scores.to_pandas()) + len(depth.to_pandas()) + len(scores.to_xarray().data_vars)
assert_type(cc.jacobian("smollm2-135m", "The cat", block=12, k=50), cc.BlockJacobian)
table = cc.measure_many(["a", {"prompt": "b"}, [1, 2]], {"a": None, "b": torch.nn.Identity()})
assert_type(cc.compare_models(table, "a", "b", k=50), cc.ModelComparison)
ways = cc.compare_models(table, "9-16", "1-8", column="blocks")
assert_type(ways.names, tuple[str, str])
assert_type(len(ways.means_by("category")), int)
assert_type(cc.compare(depth, depth, k=50), cc.Comparison)
paths = cc.measure("a", kind="trajectory")
assert_type(cc.compare(paths, paths), cc.PathComparison)
tokens = cc.measure("a", kind="self", block=3)
assert_type(cc.compare(tokens, cc.measure("a", kind="self"), k=10), cc.TokenComparison)
assert_type(len(cc.means_by(table, "category")), int)
assert_type(len(paths.growth), int)
assert_type({depth: 1}[depth], int)
each: tuple[cc.Kind, ...] = ("self", "trajectory")
cc.measure_many(["a"], torch.nn.Identity()), cc.measure_many("prompts.txt", "smollm2-135m")
every: list[cc.DefinitionName] = list(cc.DEFINITIONS)
assert_type([depth.scores(k=8, definition=of) for of in cc.DEFINITIONS], list[cc.Scores])
assert_type(cc.compare(depth, depth).mean(), cc.Summary)
assert_type([cc.measure("a", kind=kind) for kind in each], list[cc.Result])
'''


def program(source: str) -> str:
    """The lines of examples, or a program as it stands."""
    if ">>> " not in source:
        return source
    return "".join(each.source for each in DocTestParser().get_examples(source))


def programs() -> dict[str, str]:
    """By name: what the README shows, every section on Python, every kind, every public name."""
    (readme,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    found = {"readme": readme, "kinds": KINDS}
    for number, section in enumerate(re.split(r"^## ", PYTHON, flags=re.MULTILINE)[1:]):
        code = program("\n".join(re.findall(r"^```python\n(.*?)^```$", section, re.S | re.M)))
        found[f"python_{number}"] = OF_ONE_S_OWN + code
    return found


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy complains of, once it has read all of them and the lines that are wrong."""
    folder = tmp_path_factory.mktemp("shown")
    wrong = "\n".join(["from coupling_core import View, compare, measure", *WRONG, ""])
    for name, code in (programs() | {"wrong": wrong}).items():
        (folder / f"{name}.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "."]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MYPYPATH": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


WRONG = {
    'measure("a", kind="trajectory").scores()': '"TrajectoryResult" has no attribute "scores"',
    'measure("a", kind="nonsense")': "No overload variant",
    'measure("a").scores(definition="nonsense")': "incompatible type \"Literal['nonsense']\"",
    'measure("a").scores(role="C")': "incompatible type \"Literal['C']\"",
    'measure("a").plot("mosiac")': "incompatible type \"Literal['mosiac']\"",
    'measure("a").plot("paths")': "incompatible type \"Literal['paths']\"",
    'measure("a", kind="self").scores().plot("graph")': "incompatible type \"Literal['graph']\"",
    'measure("a").scores().plot("mosiac")': "incompatible type \"Literal['mosiac']\"",
    'compare(measure("a", kind="trajectory"), measure("b", kind="trajectory"), k=3)': "No overload",
    'compare(measure("a"), measure("b", kind="self"), k=3)': "No overload variant",
    'View(definition="nonsense")': "incompatible type \"Literal['nonsense']\"",
}


@pytest.mark.slow
def test_mypy_finds_what_is_wrong_and_nothing_else(complaints):
    lines = complaints.splitlines()
    assert [line for line in lines if ": error: " in line and "wrong.py" not in line] == []
    for number, expected in enumerate(WRONG.values(), 2):
        assert expected in "".join(line for line in lines if line.startswith(f"wrong.py:{number}:"))


def test_a_type_checker_knows_every_kind():
    assert set(get_args(coupling_core.Kind)) == set(kinds())
