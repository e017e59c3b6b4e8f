"""`coupling perturbation`, run as people run it, on a tiny model."""

import csv
import json

import numpy as np
import pytest

from coupling_core import Request, Store, measure, perturbation_radius
from coupling_core.base.results.perturbation import WAYS

PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def result(folder, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    return measure(Request(PROMPT, model=str(folder), kind="perturbation"), store)


def test_a_line_a_size_and_the_radii_are_printed(run, folder, result):
    asked = ("perturbation", "--model", folder, "--prompt", PROMPT)
    status, out, _ = run(*asked)
    assert status == 0
    sizes = [line.split()[0] for line in out.splitlines() if "(" in line and ".." in line]
    assert sizes == [f"{size:g}" for size in result.noise_sizes]
    assert "first order is off by 10\u00a0% at the last block" in out
    assert out.count("of the embedding") >= len(WAYS)
    status, out, _ = run(*asked, "--json")
    said = json.loads(out)
    assert said["directions"] == result.directions
    for way, radii in zip(WAYS, perturbation_radius(result), strict=True):
        # JSON has no infinity
        found = [np.inf if r is None else r for r in said["radius"][way]]
        np.testing.assert_allclose(found[1:], radii[1:], rtol=1e-3)
    medians = np.median(result.cosine[0], axis=1)[:, [1, -1]]
    np.testing.assert_allclose(said["cosine"]["isotropic"], medians, rtol=1e-4)


FIGURES = ("cosine", "depth", "radius")


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        *((f"x.{form}", figure) for form in ("svg", "html") for figure in FIGURES),
        ("x.csv", ""),
        ("x.npz", ""),
    ],
)
def test_figures_and_numbers_are_written(run, folder, tmp_path, figure, name):
    out = tmp_path / name
    drawn = ["--figure", figure] if name.endswith(("svg", "html")) else []
    status, _, error = run(
        "perturbation", "--model", folder, "--prompt", PROMPT, *drawn, "--out", out
    )
    assert status == 0, error
    assert out.stat().st_size > 1000
    if name == "x.csv":
        with out.open() as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        assert {row["way"] for row in rows} == set(WAYS)


def test_a_figure_is_refused_beside_numbers(run, folder, tmp_path):
    asked = ("perturbation", "--model", folder, "--prompt", PROMPT, "--figure", "depth")
    status, _, error = run(*asked, "--out", tmp_path / "x.csv")
    assert status == 2
    assert "it says which figure --out draws" in error
    assert not (tmp_path / "x.csv").exists()


def test_many_prompts_are_averaged(run, folder, tmp_path):
    listed = tmp_path / "prompts.txt"
    listed.write_text("The cat sat\nOn the mat\n")
    status, out, _ = run("perturbation", "--model", folder, "--prompts", listed, "--json")
    assert status == 0
    assert {"radius", "cosine", "distance", "error"} == set(json.loads(out)["over_prompts"])


def test_a_size_that_is_none_is_refused(run, folder, tmp_path):
    status, _, error = run(
        *("perturbation", "--model", folder, "--prompt", PROMPT, "--figure", "depth"),
        *("--size", "-1", "--out", tmp_path / "x.svg"),
    )
    assert status == 2
    assert "a size of noise is a positive number" in error
