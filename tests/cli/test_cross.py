"""`coupling cross`: two models' directions, run as people run it."""

import json

import numpy as np
import pytest
import tiny
from typer.testing import CliRunner

from coupling_core import Request, Store, cross, measure
from coupling_core.cli.commands import app

PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A store with the directions of a model and of its untrained twin, and their keys."""
    folder = tmp_path_factory.mktemp("cross")
    store = Store(folder / "store")
    model = str(tiny.folder(folder / "tiny"))
    asked = [Request(PROMPT, model=model, kind="directions", untrained=u) for u in (None, 1)]
    return folder / "store", *(measure(one, store) for one in asked), model


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_blocks_are_told_with_their_angles(pair):
    folder, a, b, _ = pair
    found = run("cross", a.key, b.key[:12], "--k", 8, "--store", folder)
    assert found.exit_code == 0, found.output
    expected = cross(a, b, 8)
    assert expected.verdict in found.output
    said = json.loads(run("cross", a.key, b.key, "--k", 8, "--json", "--store", folder).stdout)
    angles = [row["writes_median_angle"] for row in said["blocks"]]
    np.testing.assert_allclose(angles, np.median(expected.angles[0], 1), rtol=1e-4)
    assert len(said["new"]) == expected.new.sum()
    assert any("untrained" in line for line in said["differ_in"])


def test_both_models_are_loaded_for_the_maps(pair, tmp_path):
    folder, a, b, _ = pair
    out = tmp_path / "x.npz"
    said = run("cross", a.key, a.key, "--scores", "--out", out, "--json", "--store", folder)
    assert said.exit_code == 0, said.output
    with np.load(out) as found:
        assert found["a_in_b"].shape == (4, 4)
        np.testing.assert_allclose(np.diag(found["b_in_a"]), 1, atol=5e-3)
        assert found["angles"].max() < 0.1
    for name in ("x.svg", "x.csv"):
        done = run("cross", a.key, b.key, "--out", tmp_path / name, "--store", folder)
        assert done.exit_code == 0, done.output
        assert (tmp_path / name).stat().st_size > 200


def test_what_are_no_directions_is_refused(pair):
    folder, a, _, model = pair
    depth = measure(Request(PROMPT, model=model, k=4), Store(folder))
    found = run("cross", a.key, depth.key, "--store", folder)
    assert found.exit_code != 0
    assert "measure both models with `coupling directions`" in str(found.exception)
