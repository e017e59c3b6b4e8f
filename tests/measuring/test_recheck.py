"""A recheck tells whether the model still gives what a result rests on, and what has changed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import tiny

from coupling_core import Request, Store, measure, recheck


def test_what_has_changed_is_told_and_the_command_tells_each_verdict(
    folder: Path, tmp_path: Path, run: Callable[..., tuple[object, str, str]]
) -> None:
    own = shutil.copytree(folder, tmp_path / "tiny")
    result = measure(Request("The cat sat", model=str(own), k=2), Store())
    found, stored = recheck(result), Store().path(result.key).read_bytes()
    assert (found.verdict, found.change, found.others) == ("unchanged", 0, ())
    status, out, _ = run("runs", "recheck", result.key[:10])
    assert (status, out) == (0, f"{result.key}  unchanged to the bit\n")
    tiny.model("llama", seed=1).save_pretrained(own)
    found = recheck(result)
    assert (found.verdict, found.change > 0.1) == ("changed", True)
    assert f"digest {result.identity['digest'][:12]} -> " in found.others[0]
    shutil.rmtree(own)
    status, out, _ = run("runs", "recheck", result.key, "--json")
    assert (status, [one["verdict"] for one in json.loads(out)]) == (1, ["unknown"])
    assert Store().path(result.key).read_bytes() == stored
