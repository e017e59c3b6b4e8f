"""The benchmarks' machinery on a tiny model; no figure of theirs is judged."""

import json
from importlib import import_module

import pytest
import torch
from command_line import refusal

from benchmarks import common, drawn, gpu, readme
from coupling_core.engine.matrix_products import product


def well_formed(name, results):
    """Results as they are read back from a file; every row of theirs is a pair of texts."""
    read = json.loads(json.dumps(results, allow_nan=False))
    rows = import_module(f"benchmarks.{name}").summary(read)
    assert rows
    assert all(what and said and "|" not in what + said for what, said in rows)
    return read


@pytest.mark.slow
def test_the_command_writes_results_with_their_machine(run, tmp_path):
    status, _, err = run("bench", "svd", "--quick", "--out", tmp_path / "results")
    assert (status, err) == (0, "")
    (path,) = (tmp_path / "results").iterdir()
    written = json.loads(path.read_text())
    assert written["claim"] == path.stem == "svd"
    assert written["command"] == "coupling bench svd --quick"
    assert written["environment"]["versions"]["torch"] == torch.__version__
    results = well_formed("svd", written["results"])
    assert all(found["errors"]["ours"] < 1e-5 for found in results["accuracy"])
    assert all(found["certified"] == found["svds"] == 8 for found in results["accuracy"])


@pytest.mark.slow
@pytest.mark.real
def test_every_script_gives_well_formed_results():
    results = {
        name: well_formed(name, import_module(f"benchmarks.{name}").collect(quick=True))
        for name in ("jacobian", "many", "depth")
    }
    row = results["depth"]["rows"][1]  # the same work is compared
    found, times = row["k"]["3"]["fastest"], row["times"]
    peer = times["states"]["cpu"] + 4 / 3 * times["fastest"]["cpu"] + times["scores"]["cpu"]
    assert found["cpu"] == pytest.approx(peer)
    assert found["ratio"]["cpu"] == pytest.approx(peer / times["ours"]["cpu"])
    found = well_formed("gpu", gpu.collect(quick=True, device="cpu"))["shapes"]["tiny"]
    assert all(one["certified"] for one in found["depth"])


def test_runs_are_interleaved_and_medians_are_of_their_rounds():
    seen = []
    runs = {name: lambda name=name: seen.append(name) for name in "ab"}
    found = common.interleaved(runs, 3)
    assert seen == ["a", "b"] * 4  # the first are the warm-up
    assert found["a"].keys() == {"wall", "cpu"}
    assert common.medians([(1.0, 5.0), (9.0, 4.0), (2.0, 9.0)])["wall"] == 2.0


def test_operations_are_those_of_the_products():
    with common.Operations() as counted:
        _ = torch.ones(3, 4) @ torch.ones(4, 5) + 1
        _ = product(torch.ones(300, 400), torch.ones(400, 500))
    assert counted.total == 2 * (3 * 4 * 5 + 300 * 400 * 500)


def test_the_committed_table_is_that_of_the_committed_results():
    text = readme.PAGE.read_text()
    assert text == drawn.redrawn(text, *readme.parts())


def test_the_command_runs_the_scripts_of_its_checkout_with_the_options(run, tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("coupling_core.cli.bench"), "ROOT", tmp_path)
    assert str(tmp_path) in refusal(run("bench"))
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").write_text("SCRIPTS = ('svd',)")
    (folder / "__main__.py").write_text(
        "import sys\nprint(*sys.argv, file=open('asked', 'w'))\n1/0"
    )
    assert run("bench", "svd", "--quick", "--out", "results")[0] == 1
    assert (tmp_path / "asked").read_text().split()[1:] == [
        "svd",
        "--quick",
        "--out",
        str(tmp_path / "results"),
    ]
    status, _, err = run("bench", "speed")
    assert (status, "svd" in err, "'speed'" in err) == (2, True, True)
