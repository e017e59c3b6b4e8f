"""Everything that `base` refuses, and what it says: asked in a process that checks no types.

python tests/base/test_base_refusals.py FOLDER   prints as JSON what each call raised
"""

import errno
import json
import os
import subprocess
import sys
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import tiny
import torch
from cases import EVERY_KIND, random_result
from refused import said

import coupling_core as cc
from coupling_core import Request, View, parse_blocks
from coupling_core.base import writing
from coupling_core.base.blocks import blocks_of
from coupling_core.base.edits import parse_edit
from coupling_core.base.settings import settings
from coupling_core.base.token_ids import token_ids
from coupling_core.engine.jacobians.decode import read

pytestmark = pytest.mark.full

REQUESTS = [
    *({"prompt": prompt} for prompt in ("", "  \n", (), [], np.array([], int), torch.tensor([]))),
    {"prompt": [[1, 2], [3, 4]]},
    *({"model": " "}, {"token": 0}, {"k": 0}, {"k": -3}, {"k": "8"}, {"k": 8.0}, {"token": None}),
    *({"k_view": 0}, {"k_view": 51}, {"untrained": True}, {"untrained": -1}, {"dtype": torch.int8}),
    *({"kind": kind, "token": 2} for kind in ("self", "trajectory", "what-if")),
    *({"kind": kind, "k": 8} for kind in ("trajectory", "spectrum", "perturbation", "directions")),
    *({"block": 3}, {"kind": "trajectory", "block": 3}, {"kind": "self", "block": 0}),
    {"kind": "self", "block": 3, "other_block": 0},
    *({"kind": "self", "other_block": 3}, {"final_norm": "maybe"}, {"kind": "mine"}),
]
EFFECTS = ((), (0,), (2, 2))
VIEWS = ({"k": 0}, {"p": 0.5}, {"p": float("nan")}, {"definition": "mine"}, {"role": "C"})
RANGES = ("0-3", "1-7", "-7", "4-2", "-1-2", "a", "1-3:0", "1-", "1;2")
NO_BLOCKS = ("six", [0], [7], [], [1, 1], "4-2", [1.5], slice(0, 2), {"a": 1})
EDITS = (
    *("swap(1,2)", "skip", "skip(1,2)", "reverse(1,2)", "damp(1,x)", "damp(1,nan)", "damp(1,2.5)"),
    *("skip(0)", "skip(6)", "reverse(4-2)", "interchange(2,2)", "interchange(5,-1)"),
)
NO_IDS = [
    *([1, 2.0], ["The", "cat"], np.array([1.0, 2.0]), torch.tensor([1.5, 2.0]), [[1, 2], [3, 4]]),
    *(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[[1, 2]]]), 7, torch.tensor(7), b"The cat"),
    *("The cat", {"input_ids": [1, 2]}, SimpleNamespace(input_ids=[1, 2]), torch.zeros(1, 5)),
]
VARIABLES = {
    "MODE": ("public",),
    "LARGEST_K": ("0",),
    "LONGEST_PROMPT": ("many",),
    "READ_ONLY": ("perhaps",),
    "TRUSTED_PROXIES": ("::1,caddy", "10.0.0.1/8"),
    "MEMORY_RESERVE": ("-1",),
    "CONFIG": ("named.toml", ".", "itself"),
}
FILES = (
    *("longest = 3", "'__class__' = 'x'", "mode = ", "mode = 'local'\nmode = 'demo'", "\0"),
    *("\udcff", "device = " + "[" * 100_000, "[mode]\nlocal = 1", "mode = 1979-05-27"),
    *("models = []", "models = ' , '", "models = [1]", "largest_k = nan", "largest_k = 1.5"),
    "jobs_per_hour = -1",
)
DISKS = ("ENOSPC", "EDQUOT", "EIO", "EFBIG", "EMFILE", "EACCES")
KEYS = (0, slice(2, 4), (1, 9), (0, 1))


def calls(folder):
    """Calls by name, each of which should be refused."""
    model, depth = tiny.model("llama"), random_result()
    ids = (3, 1, 4, 1, 5)
    between = cc.measure(ids, model=model, k=4, kind="self", block=1, store=None)
    means = cc.measure(ids, model=model, k=4, kind="self", store=None)
    scores, tokens = depth.scores(k=3), between.scores(k=3)
    results = [between, *(make() for make in EVERY_KIND)]

    def request(changes):
        return lambda: Request(**{"prompt": "Hello"} | changes)

    def variable(name, value):
        def read():
            settings.cache_clear()
            with mock.patch.dict(os.environ, {f"COUPLING_{name}": value}):
                return settings()

        return read

    def file(text):
        def read():
            settings.cache_clear()
            (folder / "coupling.toml").write_text(text, errors="surrogateescape")
            try:
                return settings()
            finally:
                (folder / "coupling.toml").unlink()

        return read

    def full(name):
        def write():
            with writing.writing(folder / "file"):
                raise OSError(getattr(errno, name), "as the system says it")

        return write

    whole = Request("x", k=np.int64(8), token=np.int8(2))  # whole numbers of any library are taken
    assert whole == Request("x", k=8, token=2)
    assert type(whole.k) is int
    (folder / "itself").symlink_to(folder / "itself")
    return {
        **{f"Request {each}": request(each) for each in REQUESTS},
        **{f"View {each}": lambda each=each: View(**each) for each in VIEWS},
        **{f"EffectView {each}": lambda each=each: cc.EffectView(each) for each in EFFECTS},
        **{f"blocks {each}": lambda each=each: parse_blocks(each, 6) for each in RANGES},
        **{f"blocks {each!r}": lambda each=each: blocks_of(each, 5) for each in NO_BLOCKS},
        **{f"edit {each}": lambda each=each: _edit(each) for each in EDITS},
        **{f"ids {each!r}": lambda each=each: token_ids(each) for each in NO_IDS},
        "an image's shape": lambda: read(model, torch.zeros(1, 3, 8)),
        "an image": lambda: read(model, torch.zeros(1, 3, 8, 8)),
        **{
            f"{name}={value}": variable(name, value)
            for name, values in VARIABLES.items()
            for value in values
        },
        **{f"coupling.toml {text[:40]!r}": file(text) for text in FILES},
        **{f"write: {name}": full(name) for name in DISKS},
        **{f"scores[{key}]": lambda key=key: scores[key] for key in KEYS},
        "tokens[1, 99]": lambda: tokens[1, 99],
        "scores of some": lambda: scores["2-4"][1, 2],
        "scores one by one": lambda: list(scores),
        "k": lambda: depth.scores(k=depth.k_max + 1),
        "k of means": lambda: means.scores(k=means.k_max + 1),
        **{f"figure of {it.request.kind}": lambda it=it: it.plot("map") for it in results},
        "figure of a pair": lambda: means.plot("mosaic"),
        "figure without result": lambda: replace(scores, result=None).plot(),
        "format": lambda: depth.plot().save(folder / "map.docx"),
    }


def _edit(text):
    edit = parse_edit(text)
    return edit.slots(5) and edit.of(5)


def test_whatever_is_refused_is_refused_in_words(snapshot, tmp_path):
    done = subprocess.run(
        [sys.executable, __file__, tmp_path],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.replace(str(tmp_path), "FOLDER"))
    of_disks = {name for name in found if name.startswith("write") and "EACCES" not in name}
    raised = {name: told.partition(":")[0] for name, told in found.items()}
    assert {name for name, sort in raised.items() if sort == "ComputeError"} == of_disks
    assert set(raised.values()) == {"InputError", "PromptError", "ComputeError"}
    assert found == snapshot


if __name__ == "__main__":
    with chdir(sys.argv[1]):
        folder = Path(sys.argv[1])
        json.dump({name: said(call) for name, call in calls(folder).items()}, sys.stdout)
