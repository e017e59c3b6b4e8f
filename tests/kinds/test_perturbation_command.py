"""What is special to `coupling perturbation`: a line a size, and radii."""

import numpy as np
from command_line import printed

from coupling_core import Request, measure, perturbation_radius
from coupling_core.base.results.perturbation import WAYS


def test_a_line_a_size_is_printed_and_json_has_the_radii(run, folder):
    asked = ("perturbation", "--model", folder, "--prompt", "The cat sat on the mat")
    result = measure(Request(asked[-1], model=str(folder), kind="perturbation"))
    _, out, _ = run(*asked)
    sizes = [line.split()[0] for line in out.splitlines() if "(" in line and ".." in line]
    assert sizes == [f"{size:g}" for size in result.noise_sizes]
    said = printed(run(*asked, "--json"))
    assert said["directions"] == result.directions
    for way, radii in zip(WAYS, perturbation_radius(result), strict=True):
        found = [np.inf if r is None else r for r in said["radius"][way]]  # JSON has no infinity
        np.testing.assert_allclose(found[1:], radii[1:], rtol=1e-3)
