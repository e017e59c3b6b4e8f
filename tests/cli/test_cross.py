"""`coupling cross`: two models' directions, run as people run it."""

import numpy as np
import pytest
import tiny
from command_line import printed, refusal

from coupling_core import Request, Store, cross, measure

PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A store with the directions of a model and of its untrained twin, and both."""
    store = Store(tmp_path_factory.mktemp("store"))
    model = str(tiny.folder(tmp_path_factory.mktemp("cross") / "tiny"))
    asked = [Request(PROMPT, model=model, kind="directions", untrained=u) for u in (None, 1)]
    return store, *(measure(one, store) for one in asked)


def test_blocks_are_listed_with_their_angles(run, pair):
    store, a, b = pair
    expected = cross(a, b, 8)
    asked = ("--k", 8, "--store", store.root)
    status, out, _ = run("cross", a.key, b.key[:12], *asked)
    assert (status, expected.verdict in out) == (0, True)
    said = printed(run("cross", a.key, b.key, "--json", *asked))
    angles = [row["writes_median_angle"] for row in said["blocks"]]
    np.testing.assert_allclose(angles, np.median(expected.angles[0], 1), rtol=1e-4)
    assert len(said["new"]) == expected.new.sum()
    depth = measure(Request(PROMPT, model=a.request.model, k=4), store)
    assert "`coupling directions`" in refusal(run("cross", a.key, depth.key, *asked))


def test_both_models_are_loaded_for_the_maps(run, pair, tmp_path):
    store, a, b = pair
    asked = ("--store", store.root, "--out")
    printed(run("cross", a.key, a.key, "--scores", "--json", *asked, "x.npz"))
    with np.load(tmp_path / "x.npz") as found:
        assert found["a_in_b"].shape == (4, 4)
        np.testing.assert_allclose(np.diag(found["b_in_a"]), 1, atol=5e-3)
        assert found["angles"].max() < 0.1
    for name in ("x.html", "x.csv"):
        status, _, err = run("cross", a.key, b.key, *asked, name)
        assert status == 0, err
        assert (tmp_path / name).stat().st_size > 200
