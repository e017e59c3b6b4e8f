"""One more kind of result is one more folder, and one line that registers it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import toy

from coupling_core import InputError, Request, Store, measure
from coupling_core.analysis.exports import arrays, frame, to_csv
from coupling_core.base import kinds
from coupling_core.base.drawing import figures_of
from coupling_core.base.records import AnyView
from coupling_core.figures.curves import numbers_table
from coupling_core.measuring.cost import Rates, predict_seconds
from coupling_core.measuring.memory import estimate_memory
from coupling_core.measuring.probe import probe
from coupling_core.sources.resolved import resolve
from coupling_core.store.archive import decode, encode
from coupling_core.store.packs import pack, unpack
from coupling_core.store.soundness import require_sound

SUPPORT = Path(__file__).parents[1] / "support"
PROMPT = "The cat sat"
COMMANDS = """
import json, sys, toy
toy.add()
from coupling_core.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["coupling", *words]
    try:
        main()
    except SystemExit as left:
        assert left.code == 0
    print("\\0")
"""
SWEEP = """
name = "few"
kinds = ["toy"]
models = [{{ model = "{}" }}]
prompts = [{{ text = "The cat sat" }}]
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(kinds, "FOLDERS", (*kinds.FOLDERS, "toy"))


@pytest.fixture
def asked(folder):
    return Request(PROMPT, model=str(folder), token=2, kind="toy")


def run(*commands):
    """What command lines print in a process that knows the kind."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps([list(map(str, words)) for words in commands])],
        capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": f"{SUPPORT}:{SUPPORT.parents[1]}", "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\0\n")[:-1]


def test_it_is_measured_stored_and_found_again(asked):
    found = measure(asked, Store())
    assert type(found) is toy.NormsResult
    paths = measure(replace(asked, kind="trajectory", token=-1), Store())
    np.testing.assert_allclose(found.norms, paths.norms[:, 1], rtol=1e-6)
    again = measure(asked, Store(), progress=lambda _: pytest.fail("it was measured again"))
    np.testing.assert_array_equal(again.norms, found.norms)
    (entry,) = [one for one in Store().entries() if one.key == found.key]
    assert (entry.request, entry.token, entry.n_blocks) == (asked, 2, found.n_blocks)
    assert entry.request.kind_words == "toy"


def test_it_is_handed_on_let_in_again_and_read_by_other_programs(asked, tmp_path):
    found = measure(asked, Store())
    pack(Store(), [found.key], tmp_path / "pack.zip")
    other = Store(tmp_path / "other", layers=(), gallery=tmp_path / "none")
    assert [one.state for one in unpack(tmp_path / "pack.zip", other)] == ["new"]
    np.testing.assert_array_equal(other.get(found.key).norms, found.norms)
    np.testing.assert_array_equal(arrays(found, AnyView())["norms"], found.norms)
    assert to_csv(frame(found, AnyView())).startswith(b"state,norms\r\n0,")


def test_what_it_could_not_hold_is_refused(asked):
    result = decode(encode(measure(asked, Store())))
    require_sound(result)
    for changes in ({"token": 9}, {"norms": np.array([1, np.nan, 1], "f4")}):
        with pytest.raises(InputError):
            require_sound(replace(result, **changes))
    for changes in ({"k": 8}, {"block": 1}):
        with pytest.raises(InputError):
            replace(asked, **changes)


def test_what_it_takes_is_told_where_it_is_known(asked):
    model = probe(resolve(asked))
    assert predict_seconds(asked, model, 3, Rates(1e9, 1e9)) is None  # until its times are fitted
    longer, shorter = (estimate_memory(asked, model, n, 10**9).work for n in (4, 3))
    assert longer - shorter == 4 * (model.blocks + 1) * model.width


@pytest.mark.full
def test_commands_measure_list_and_show_it(asked, folder, tmp_path):
    expected = measure(replace(asked, token=-1), Store(tmp_path / "other"))
    key, where = expected.key, ("--store", tmp_path / "store")
    sweep, page = tmp_path / "few.toml", tmp_path / "norms.html"
    sweep.write_text(SWEEP.format(folder))
    measured, listed, shown, printed, verified, helped, _, _ = run(
        ("toy", "--prompt", PROMPT, "--model", folder, "--json", *where),
        ("runs", "list", *where),
        ("runs", "show", key, "--json", *where),
        ("runs", "show", key, *where),
        ("runs", "verify", key, *where),
        ("--help",),
        ("toy", "--prompt", PROMPT, "--model", folder, "--figure", "norms", "--out", page, *where),
        ("sweep", "run", sweep, "--out", tmp_path / "few.csv", *where),  # which is measured already
    )
    assert "Euclidean norm of x^l" in page.read_text()
    rows = pd.read_csv(tmp_path / "few.csv")
    assert rows["norms"].tolist() == [pytest.approx(expected.norms[-1], rel=1e-5)]
    said, again = json.loads(measured), json.loads(shown)
    np.testing.assert_allclose(said["norms"], expected.norms, rtol=1e-6)
    assert (said["stored"], said["key"]) == (False, key)
    assert (again["stored"], again["norms"]) == (True, said["norms"])
    assert "toy" in listed
    assert f"{expected.norms[0]:.4f}" in printed
    assert verified == f"{key}  sound\n"
    assert "Follow the norm of every state x^l at one token." in helped


def test_its_figure_has_a_table(asked):
    found, spec = measure(asked, Store()), figures_of("toy")["norms"].draws
    drawn = found.plot().figure
    np.testing.assert_array_equal(drawn.data[0].y, found.norms)
    assert drawn.layout.meta["caption"] == "Euclidean norm of x^l."
    twin = numbers_table(found, AnyView(), spec)
    assert (list(twin.index), list(twin["norms"])) == ([*range(len(found.norms))], [*found.norms])
