"""A recheck tells whether the model still gives what a result rests on, and what has changed."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tiny

from coupling_core import InputError, Request, Store, measure, recheck, steer


def test_what_has_changed_is_told_and_the_command_tells_each_verdict(
    folder: Path, tmp_path: Path, run: Callable[..., tuple[object, str, str]]
) -> None:
    own = shutil.copytree(folder, tmp_path / "tiny")
    result = measure(Request("The cat sat", model=str(own), k=2), Store())
    directions = measure(Request("The cat", model=str(own), kind="directions"))
    found, stored = recheck(result), Store().path(result.key).read_bytes()
    assert (found.verdict, found.change, found.others) == ("unchanged", 0, ())
    status, out, _ = run("runs", "recheck", result.key[:10])
    assert (status, out) == (0, f"{result.key}  unchanged to the bit\n")
    tiny.model("llama", seed=1).save_pretrained(own)
    found = recheck(result)
    assert (found.verdict, found.change > 0.1) == ("changed", True)
    assert f"digest {result.identity['digest'][:12]} -> " in found.others[0]
    with pytest.raises(InputError, match="of another tiny than the one that is here now"):
        steer(directions, block=1)
    shutil.rmtree(own)
    status, out, _ = run("runs", "recheck", result.key, "--json")
    assert (status, [one["verdict"] for one in json.loads(out)]) == (1, ["unknown"])
    assert Store().path(result.key).read_bytes() == stored


def test_a_module_of_ones_own_is_rechecked_where_it_is_given(llama: object) -> None:
    result = measure((3, 1, 4, 1, 5), model=llama, k=2)
    assert recheck(result, model=llama).words == "unchanged to the bit"
    found = recheck(result, model=tiny.model("llama", seed=1))
    assert (found.verdict, found.change > 0.1) == ("changed", True)
    assert found.words.startswith(f"changed by {found.change:.1e}, since ")
    older = replace(result, provenance=dict(result.provenance) | {"passport": None})
    assert {recheck(result).verdict, recheck(older, model=llama).verdict} == {"unknown"}
