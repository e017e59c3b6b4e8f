"""What is special to `coupling trajectory`: what is projected, and a line a token."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from command_line import printed

from coupling_core import PathView, Request, measure, project_paths
from coupling_core.analysis import trajectory as of

PROMPT = "The cat sat on the mat"


def test_json_has_the_means_and_what_is_projected_and_the_report_a_line_a_token(run, folder):
    request = Request(PROMPT, model=str(folder), kind="trajectory")
    result = measure(request)
    asked = ("trajectory", "--model", folder, "--prompt", PROMPT)
    said = printed(run(*asked, "--json", "--fit", "all", "--part", "deeper", "--without-first"))
    assert (said["fit"], said["part"], said["first"]) == ("all", "deeper", False)
    assert said["mean"]["line_shape"] == pytest.approx(result.line_shape.mean(), rel=1e-5)
    regular = of.expodistance(result.norms).mean()
    assert said["mean"]["expodistance"] == pytest.approx(regular, rel=1e-4)
    expected = project_paths(result, PathView("all", "deeper", False)).explained
    np.testing.assert_allclose(said["explained"], expected, rtol=1e-4)
    assert said["windowed_line_shape"][0][0] is None
    _, out, _ = run(*asked)
    for text, score in zip(result.tokens, result.line_shape, strict=True):
        assert any(repr(text) in line and f"{score:.4g}" in line for line in out.splitlines())
    without = measure(replace(request, final_norm="exclude"))
    assert without.norms[-1, 0] != result.norms[-1, 0]  # it is part of the last state


def test_a_bidirectional_model_has_paths_of_its_own(run, tmp_path):
    bert = tiny.folder(tmp_path / "bert", "bert")
    said = printed(run("trajectory", "--model", bert, "--prompt", PROMPT, "--json"))
    assert said["provenance"]["causal"] is False
    assert np.isfinite(np.array(said["rolled_out"], float)).all()
