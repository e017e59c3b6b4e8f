"""How noise is looked at from Python: its numbers by name, its figures, a sentence."""

import numpy as np

from coupling_core.analysis.perturbation import TENTH, nearest_size, perturbation_radius, spread
from coupling_core.base.drawing import Figure
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult

FIGURES = {
    "cosine": Figure("perturbation.noise_by_size", of_many="cosine"),
    "depth": Figure("perturbation.noise_by_depth", of_one=("size",)),
    "radius": Figure("perturbation.noise_radius", of_many="radius"),
}


def verdict(result: PerturbationResult, view: AnyView) -> str:
    """How alike the states stay, and up to which size of noise a Jacobian says what happens."""
    at, last = nearest_size(result, TENTH), result.n_blocks
    cosine = spread(result.cosine[0]).median[at]
    found = perturbation_radius(result)[0, -1]
    return (
        f"Noise of {_percent(result.noise_sizes[at])} of the embedding leaves a cosine of "
        f"{cosine[1]:.4f} behind block 1 and {cosine[last]:.4f} behind the last, in the median of "
        f"{result.cosine.shape[2]} draws. With noise {radius_words(result, found)}, the product "
        "of the linear blocks is off by 10\u00a0% of the change at the last block."
    )


def radius_words(result: PerturbationResult, found: float) -> str:
    """The size of noise, relative to the embedding."""
    if np.isnan(found):
        return "of unknown size, since rounding hides it"
    if found == 0:
        return f"below {_percent(result.noise_sizes[0])} of the embedding"
    if np.isinf(found):
        return f"above {_percent(result.noise_sizes[-1])} of the embedding"
    return f"of {_percent(found)} of the embedding"


def _percent(size: float) -> str:
    return f"{100 * size:.3g}\u00a0%"
