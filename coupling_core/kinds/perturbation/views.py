"""How noise is looked at from Python: its numbers by name, its figures, a sentence."""

import numpy as np

from coupling_core.analysis.perturbation import TENTH, nearest_size, perturbation_radius, spread
from coupling_core.base.drawing import Figure
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult
from coupling_core.base.units import counted

FIGURES = {
    "cosine": Figure("perturbation.noise_by_size", of_many="cosine"),
    "depth": Figure("perturbation.noise_by_depth", of_one=("size",)),
    "radius": Figure("perturbation.noise_radius", of_many="radius"),
}


def verdict(result: PerturbationResult, view: AnyView) -> str:
    """How alike the states stay, and up to which size of noise a Jacobian says what happens."""
    if not result.complete:
        return "Not all is measured yet."
    at, last = nearest_size(result, TENTH), result.n_blocks
    cosine = spread(result.cosine[0]).median[at]
    found = perturbation_radius(result)[0, -1]
    return (
        f"Noise of {_percent(result.noise_sizes[at])} of the embedding leaves a cosine of "
        f"{cosine[1]:.4f} behind block 1 and {cosine[last]:.4f} behind the last, in the median of "
        f"{result.cosine.shape[2]} draws. {_told(result, found)}"
    )


def _told(result: PerturbationResult, found: float) -> str:
    if np.isnan(found):
        return "How far the product of the linear blocks is off is hidden by rounding."
    least, most = result.noise_sizes[0], result.noise_sizes[-1]
    size, how = (least, "more") if found == 0 else (min(found, most), "less")
    return (
        f"{'Even at' if found == 0 else 'Up to'} {_percent(size)} the product of the linear blocks "
        f"is off by {how} than 10\u00a0% of the change at the last block."
    )


def radius_words(result: PerturbationResult, found: float) -> str:
    """A radius in words, relative to the embedding."""
    if np.isnan(found):
        return "not known: rounding hides it"
    if found == 0:
        return f"below {_percent(result.noise_sizes[0])} of the embedding"
    if np.isinf(found):
        return f"above {_percent(result.noise_sizes[-1])} of the embedding"
    return f"at {_percent(found)} of the embedding"


def _percent(size: float) -> str:
    return f"{100 * size:.3g}\u00a0%"


def way_words(result: PerturbationResult, way: int) -> str:
    """Where the noise lies, in words."""
    k = result.directions
    return (
        "isotropic noise",
        f"noise along the {counted(k, 'leading direction')} of block 1",
        f"noise along {counted(k, 'random direction')}",
    )[way]
