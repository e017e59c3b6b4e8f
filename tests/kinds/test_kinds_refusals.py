"""What commands of kinds refuse for reasons of their own: status 2, one line, nothing stored."""

import pytest
from command_line import alternatives, refusals

from coupling_core import Store

BEFORE = {
    "depth": "--k 0 | --k 33 | --k-view 51 | --k many | --k 1.5 | --p 0.5 | --p two | "
    "--p 2 --definition page | --token 0 | --token 9 | --blocks 3-5 | --blocks a-b | "
    "--definition mine | --role C | --figure pie | --final-norm yes",
    "tokens": "--kind self --token 2 | --block 9 | --block 0 | --other-block 2 | "
    "--kind fixed-input --token 99 | --p 2 | --figure mosaic --out r.html | --block 1 --k 33 | "
    "--kind sideways",
    "trajectory": "--fit first | --figure mosaic",
    "whatif": "--edit exchange(1,2) | --edit skip(9) | --edit skip(1) --coupling depth | "
    "--coupling depth --out x.npz | --tokens x | --tokens 0 | --tokens 2,2",
    "perturbation": "--figure mosaic",
    "directions": "--steer 0.1 | --export d.safetensors | --export d.txt --block 2 | "
    "--steer much --block 2 | --import none.safetensors | --steer 1 --block 2 --out s.csv | "
    "--ablate --out a.csv | --shared 1-2 --out a.html",
}
"""By command, what is wrong."""
OF_THE_RESULT = {
    "trajectory": "--token 99 | --token 0",
    "whatif": "--coupling 0000 | --tokens 99",
    "perturbation": "--figure depth --size -1 --out x.html",
    "directions": "--block 9 | --k 40 | --shared 2",
}
"""What can be judged only once something was measured."""


def commands(table, folder):
    asked = ("--model", folder, "--prompt", "The cat sat")
    return {name: (of, *asked, *words) for name, (of, *words) in alternatives(table).items()}


@pytest.mark.full
def test_what_is_wrong_is_refused_before_anything_is_stored(run, folder, snapshot):
    assert refusals(run, commands(BEFORE, folder), folder) == snapshot
    assert not Store(gallery=folder / "none").entries()


def test_what_a_result_does_not_have_is_refused(run, folder, snapshot):
    assert refusals(run, commands(OF_THE_RESULT, folder), folder) == snapshot
