"""How spectra are looked at from Python: their figures, a sentence."""

import numpy as np

from coupling_core.analysis.spectra import spectrum_numbers
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import Figure
from coupling_core.base.numbers import array_of
from coupling_core.base.records import AnyView
from coupling_core.base.results import SpectrumResult

FIGURES = {
    "eigenvalues": Figure("eigenvalues.eigenvalues"),
    "maps": Figure(
        Curves(
            ["departure", "asymmetry", "mean_u_dot_v"],
            y="Departure, asymmetry, u · v<br>(no unit)",
            caption="Departure: Henrici's departure from normality (0 = normal, with orthogonal "
            "eigenvectors). Asymmetry: of J (0 = symmetric, 1 = a random matrix). u · v: the mean "
            "cosine between what leading directions write and what they read; below 0 a block "
            "removes what it acts on most.",
        ),
        of_many="departure",
    ),
    "products": Figure("eigenvalues.products_over_depth", of_many="effective_rank"),
}


def verdict(result: SpectrumResult, view: AnyView) -> str:
    """How far the blocks are from normal, and how few directions are left at the end."""
    found = spectrum_numbers(result)
    if not result.complete:
        return "Not all is measured yet."
    left, shuffled = (
        found.effective_rank[-1],
        np.median(array_of(result, view, "shuffled_effective_rank")),
    )
    return (
        f"The maps of the blocks depart from normal ones by {np.median(found.departure):.2f} in "
        f"the median (0 is normal, 1 the most there can be). All blocks together let about "
        f"{left:.1f} of the {result.width} directions of the state at token {result.token} through "
        f"(the effective rank of the product), and {shuffled:.1f} with the blocks in random order."
    )
