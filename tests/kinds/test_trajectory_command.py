"""`coupling trajectory`, run as people run it, on a tiny model."""

import json
from dataclasses import replace

import numpy as np
import pytest
import tiny

from coupling_core import PathView, Request, measure, project_paths
from coupling_core.analysis import trajectory as of
from coupling_core.analysis.exports import arrays
from coupling_core.store.disk import load

PROMPT = "The cat sat on the mat"
FIGURES = (
    "paths",
    "paths-3d",
    "line-shape",
    "line-shape-by-depth",
    "norms",
    "growth",
    "expodistance",
    "steps",
    "equidistance",
    "entropy",
    "linearised",
)


@pytest.fixture(scope="module")
def result(folder):
    return measure(Request(PROMPT, model=str(folder), kind="trajectory"))


@pytest.fixture
def command(run, folder):
    return lambda *args: run("trajectory", "--model", folder, "--prompt", PROMPT, *args)


def printed(answer):
    status, out, err = answer
    assert status == 0, err
    return json.loads(out)


def test_json_has_the_numbers_of_the_same_measurement_in_python(command, result):
    said = printed(command("--json", "--fit", "all", "--part", "deeper", "--without-first"))
    assert (said["stored"], said["fit"], said["part"], said["first"]) == (
        False,
        "all",
        "deeper",
        False,
    )
    assert said["seconds"] > 0
    assert said["load_seconds"] >= 0
    np.testing.assert_allclose(said["line_shape"], result.line_shape, rtol=1e-5)
    np.testing.assert_allclose(said["norms"], result.norms, rtol=1e-5)
    assert said["mean"]["line_shape"] == pytest.approx(result.line_shape.mean(), rel=1e-5)
    assert said["mean"]["expodistance"] == pytest.approx(
        of.expodistance(result.norms).mean(), rel=1e-4
    )
    expected = project_paths(result, PathView("all", "deeper", False)).explained
    np.testing.assert_allclose(said["explained"], expected, rtol=1e-4)
    assert said["windowed_line_shape"][0][0] is None


def test_the_second_time_it_comes_from_the_store_under_the_same_key(command):
    first, again = printed(command("--json")), printed(command("--json"))
    assert (first["stored"], again["stored"]) == (False, True)
    assert first["key"] == again["key"]


def test_the_report_has_a_line_a_token_and_the_means(command, result):
    status, out, _ = command()
    assert status == 0
    assert f"line-shape score {result.line_shape.mean():.4f}" in out
    assert f"{len(result.tokens)} tokens through 4 blocks" in out
    for text, score in zip(result.tokens, result.line_shape, strict=True):
        assert any(repr(text) in line and f"{score:.4g}" in line for line in out.splitlines())


def test_npz_holds_the_arrays_that_the_design_names(command, result, tmp_path):
    assert command("--out", tmp_path / "paths.npz")[0] == 0
    with np.load(tmp_path / "paths.npz", allow_pickle=False) as found:
        expected = arrays(result, PathView())
        assert set(found) == set(expected)
        for name in ("norms", "line_shape", "windowed_line_shape", "entropy", "pca", "explained"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-4)
        assert list(found["tokens"]) == list(result.tokens)


def test_safetensors_is_the_stored_form(command, result, tmp_path):
    assert command("--out", tmp_path / "paths.safetensors")[0] == 0
    np.testing.assert_allclose(
        load(tmp_path / "paths.safetensors").states, result.states, atol=1e-4
    )


def test_csv_has_a_row_a_token(command, result, tmp_path):
    assert command("--out", tmp_path / "paths.csv")[0] == 0
    rows = (tmp_path / "paths.csv").read_text().splitlines()
    assert len(rows) == 1 + len(result.tokens)


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_drawn(command, tmp_path, figure):
    if figure == "line-shape-by-depth":
        pytest.skip("eleven states in a row are more than this model has")
    assert command("--figure", figure, "--out", tmp_path / "f.html", "--token", 2)[0] == 0
    page = (tmp_path / "f.html").read_text()
    assert "token 2" in page.lower() or "tokens" in page
    assert "Plotly.newPlot" in page


def test_a_figure_that_would_be_empty_is_refused(command, tmp_path):
    code, _, said = command("--figure", "line-shape-by-depth", "--out", tmp_path / "f.html")
    assert code == 2
    assert "takes 11 states in a row" in said
    assert not (tmp_path / "f.html").exists()


def test_the_twin_has_results_of_its_own(command):
    trained, twin = printed(command("--json")), printed(command("--json", "--untrained", 0))
    assert trained["key"] != twin["key"]
    assert trained["line_shape"] != twin["line_shape"]


def test_a_bidirectional_model_has_paths_too(run, tmp_path):
    bert = tiny.folder(tmp_path / "bert", "bert")
    said = printed(run("trajectory", "--model", bert, "--prompt", PROMPT, "--json"))
    assert said["provenance"]["causal"] is False
    assert np.isfinite(np.array(said["rolled_out"], float)).all()
    expected = measure(Request(PROMPT, model=str(bert), kind="trajectory"))
    np.testing.assert_allclose(said["one_step"], expected.one_step, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--token", 99), "token 99 is out of range"),
        (("--token", 0), "token 0"),
        (("--fit", "first"), "first"),
        (("--figure", "mosaic"), "mosaic"),
        (("--out", "paths.txt"), "--out ends in"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(command, options, words):
    status, out, err = command(*options)
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err


def test_the_final_norm_is_part_of_the_key_only_where_there_is_one(folder):
    request = Request(PROMPT, model=str(folder), kind="trajectory", final_norm="exclude")
    with_norm = measure(replace(request, final_norm="include"))
    assert measure(request).norms[-1, 0] != with_norm.norms[-1, 0]
