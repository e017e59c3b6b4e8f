"""What is special to `coupling trajectory`: what is projected, and which figures there are."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from command_line import printed, refusal

from coupling_core import PathView, Request, measure, project_paths
from coupling_core.analysis import trajectory as of

PROMPT = "The cat sat on the mat"
FIGURES = (
    *("paths", "paths-3d", "line-shape", "norms", "growth", "expodistance", "steps"),
    *("equidistance", "entropy", "linearised"),
)


@pytest.fixture
def result(folder):
    return measure(Request(PROMPT, model=str(folder), kind="trajectory"))


@pytest.fixture
def command(run, folder):
    return lambda *args: run("trajectory", "--model", folder, "--prompt", PROMPT, *args)


def test_json_has_the_means_and_what_is_projected(command, result):
    said = printed(command("--json", "--fit", "all", "--part", "deeper", "--without-first"))
    assert (said["fit"], said["part"], said["first"]) == ("all", "deeper", False)
    assert said["mean"]["line_shape"] == pytest.approx(result.line_shape.mean(), rel=1e-5)
    regular = of.expodistance(result.norms).mean()
    assert said["mean"]["expodistance"] == pytest.approx(regular, rel=1e-4)
    expected = project_paths(result, PathView("all", "deeper", False)).explained
    np.testing.assert_allclose(said["explained"], expected, rtol=1e-4)
    assert said["windowed_line_shape"][0][0] is None


def test_the_report_has_a_line_a_token(command, result):
    _, out, _ = command()
    for text, score in zip(result.tokens, result.line_shape, strict=True):
        assert any(repr(text) in line and f"{score:.4g}" in line for line in out.splitlines())


def test_every_figure_is_drawn_but_one_that_would_be_empty(command, tmp_path):
    for figure in FIGURES:
        status, _, err = command("--figure", figure, "--out", f"{figure}.html", "--token", 2)
        assert status == 0, err
        page = (tmp_path / f"{figure}.html").read_text()
        assert "token" in page.lower()
        assert "Plotly.newPlot" in page
    said = refusal(command("--figure", "line-shape-by-depth", "--out", "f.html"))
    assert "11 states" in said
    assert not (tmp_path / "f.html").exists()


def test_an_untrained_and_a_bidirectional_model_have_paths_of_their_own(run, folder, tmp_path):
    trained, twin = (
        printed(run("trajectory", "--model", folder, "--prompt", PROMPT, "--json", *more))
        for more in ((), ("--untrained", 0))
    )
    assert trained["line_shape"] != twin["line_shape"]
    bert = tiny.folder(tmp_path / "bert", "bert")
    said = printed(run("trajectory", "--model", bert, "--prompt", PROMPT, "--json"))
    assert said["provenance"]["causal"] is False
    assert np.isfinite(np.array(said["rolled_out"], float)).all()


def test_the_final_norm_is_part_of_the_last_state(folder):
    request = Request(PROMPT, model=str(folder), kind="trajectory", final_norm="exclude")
    with_norm = measure(replace(request, final_norm="include"))
    assert measure(request).norms[-1, 0] != with_norm.norms[-1, 0]
