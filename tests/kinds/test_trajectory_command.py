"""What is special to `coupling trajectory`: what is projected, and a line a token."""

import numpy as np
import tiny
from command_line import printed

PROMPT = "The cat sat on the mat"


def test_a_bidirectional_model_has_paths_of_its_own(run, tmp_path):
    bert = tiny.folder(tmp_path / "bert", "bert")
    said = printed(run("trajectory", "--model", bert, "--prompt", PROMPT, "--json"))
    assert said["provenance"]["causal"] is False
    assert np.isfinite(np.array(said["rolled_out"], float)).all()
