"""What functions cannot take is refused in words, although types are not checked at run time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import refused

from coupling_core import InputError, Request, View, find_suite, measure, measure_many
from coupling_core.base.kinds import kinds

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def said():
    """What each call raised in a process of its own, which checks no types."""
    where = Path(refused.__file__)
    paths = os.pathsep.join([str(where.parents[2]), str(where.parent)])
    done = subprocess.run(
        [sys.executable, str(where)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    return json.loads(done.stdout)


def test_every_call_is_refused_with_what_was_expected(said, snapshot):
    assert [name for name, words in said.items() if not words.startswith("InputError: ")] == []
    assert said == snapshot


@pytest.mark.parametrize(
    ("refuse", "meant"),
    [
        (lambda: Request("a", kind="fixed_output"), "fixed-output"),
        (lambda: Request("a", kind="Depth"), "depth"),
        (lambda: View(definition="algnment"), "alignment"),
        (lambda: find_suite("mini64"), "mini-64"),
        (lambda: measure("a", model="smollm2_135m"), "smollm2-135m"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(refuse, meant):
    with pytest.raises(InputError, match=rf"\(did you mean '{meant}'\?\)"):
        refuse()


def test_a_name_that_is_like_none_is_answered_with_the_list_alone():
    with pytest.raises(InputError, match=r"directions, and 'breadth' came$"):
        Request("a", kind="breadth")


@pytest.mark.parametrize("of", [measure, measure_many, Request])
def test_the_help_names_every_kind(of):
    assert [kind for kind in kinds() if f"`{kind}`" not in of.__doc__] == []
