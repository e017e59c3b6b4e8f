"""What is said of noise that was followed through the blocks."""

from typing import Any

import numpy as np

from coupling_core.analysis.exports import row
from coupling_core.analysis.perturbation import perturbation_radius, spread
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult
from coupling_core.base.results.perturbation import WAYS
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines, print_table
from coupling_core.kinds.perturbation.views import radius_words, way_words


def summary(result: PerturbationResult, view: AnyView) -> dict[str, Any]:
    """Radii by state, and medians at the first and the last block, ready for JSON."""
    ends = [1, result.n_blocks]
    return {
        "token": result.token,
        "directions": result.directions,
        "sizes": result.noise_sizes,
        "mean": row(result, view),
        "radius": dict(zip(WAYS, perturbation_radius(result), strict=True)),
        "states": ends,
        **{
            name: dict(zip(WAYS, spread(getattr(result, name)).median[..., ends], strict=True))
            for name in ("cosine", "linear_cosine", "distance", "linear_distance", "error")
        },
        "certificates": [vars(certificate) for certificate in result.certificates],
    }


def show(result: PerturbationResult, view: AnyView) -> None:
    """Print one result: a line a size, first and last block, the radii."""
    found, linear = spread(result.cosine[0]), spread(result.linear_cosine[0])
    error = spread(result.error[0]).median
    last = result.n_blocks
    print_lines(
        *reports.head(result),
        f"token       {result.token_words(result.token)}",
        f"noise       on its embedding, {result.distance.shape[2]} draws of each size and way; "
        f"K = {result.directions}",
        "",
        "isotropic noise: median cosine with the undisturbed state, 95\u00a0% of the draws in "
        "brackets",
        "",
    )
    print_table(
        ("size", "block 1", "", f"block {last}", "", "first order there", "off by"),
        [
            (
                f"{size:g}",
                f"{found.median[at, 1]:.4f}",
                f"({found.low[at, 1]:.4f}..{found.high[at, 1]:.4f})",
                f"{found.median[at, last]:.4f}",
                f"({found.low[at, last]:.4f}..{found.high[at, last]:.4f})",
                f"{linear.median[at, last]:.4f}",
                f"{100 * error[at, last]:.2g} %",
            )
            for at, size in enumerate(result.noise_sizes)
        ],
        right=True,
    )
    radii = perturbation_radius(result)
    print_lines(
        "",
        "first order is off by 10\u00a0% at the last block",
        *(
            f"  {way_words(result, way)}: {radius_words(result, found[-1])}"
            for way, found in enumerate(radii)
        ),
        f"  smallest radius of any block, isotropic: {radius_words(result, _least(radii[0]))}",
    )


def _least(radii: np.ndarray) -> float:
    known = radii[~np.isnan(radii)]
    return float(known.min()) if known.size else float("nan")
