"""The numbers of noise that was followed through the blocks."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.perturbation import blurred, perturbation_radius, spread
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult
from coupling_core.base.results.perturbation import WAYS

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

_STORED = ("distance", "cosine", "linear_distance", "linear_cosine", "error")


def arrays(
    result: PerturbationResult, view: AnyView, k_view: int | None = None
) -> dict[str, np.ndarray]:
    """What a measurement of noise holds, by name.

    Args:
        result: the result.
        view: means nothing here.
        k_view: neither; there are no matrices.

    Returns:
        `distance`, `cosine`, `linear_distance`, `linear_cosine`, `error`, `blurred` (way size draw
        state), `radius` (way state), `rounding` (state), `noise_sizes`, `ways`, `tokens`,
        `token_ids`.
    """
    return {
        **{name: getattr(result, name) for name in _STORED},
        "blurred": blurred(result),
        "radius": perturbation_radius(result),
        "rounding": result.rounding,
        "noise_sizes": result.noise_sizes,
        "ways": np.array(WAYS),
        "tokens": np.array(result.tokens),
        "token_ids": result.token_ids,
    }


def axes(result: PerturbationResult) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array."""
    return {
        **dict.fromkeys((*_STORED, "blurred"), ("way", "size", "draw", "state")),
        "radius": ("way", "state"),
        "rounding": ("state",),
        "noise_sizes": ("size",),
        "ways": ("way",),
        **dict.fromkeys(("tokens", "token_ids"), ("token",)),
    }


def table(result: PerturbationResult, view: AnyView) -> "DataFrame":
    """A row a way, size and state: medians over the draws, and between what 95 % of them lie."""
    from pandas import DataFrame, MultiIndex

    names = ("way", "size", "state")
    states = range(result.n_blocks + 1)
    rows = MultiIndex.from_product([WAYS, result.noise_sizes, states], names=names)
    columns = {}
    for name in _STORED:
        found = spread(getattr(result, name))
        columns[name] = found.median.ravel()
        columns[f"{name}_low"], columns[f"{name}_high"] = found.low.ravel(), found.high.ravel()
    return DataFrame(columns, index=rows).reset_index()


def row(result: PerturbationResult, view: AnyView) -> dict[str, float]:
    """Of isotropic noise at the last state: the radius, and medians at a tenth of the embedding."""
    at = int(np.argmin(np.abs(result.noise_sizes - 0.1)))
    last = {name: spread(getattr(result, name)[0]).median[at, -1] for name in _STORED}
    return {
        "radius": float(perturbation_radius(result)[0, -1]),
        "distance": float(last["distance"]),
        "cosine": float(last["cosine"]),
        "error": float(last["error"]),
    }
