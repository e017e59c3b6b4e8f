"""The numbers of noise that was followed through the blocks."""

from typing import TYPE_CHECKING, Any

from coupling_core.analysis.perturbation import (
    TENTH,
    blurred,
    nearest_size,
    perturbation_radius,
    spread,
)
from coupling_core.base.numbers import Column, Number, Seen, tokens
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult
from coupling_core.base.results.perturbation import WAYS

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

DRAWS = {
    "distance": "norm of the change, in units of that of the state",
    "cosine": "cosine of the disturbed state with the model's own",
    "linear_distance": "distance that the product of the linear maps gives",
    "linear_cosine": "cosine that it gives",
    "error": "what the linear maps are off by, in units of the true change",
}


def _at_a_tenth(name: str, title: str, **ideal: Any) -> Number:
    """Of isotropic noise behind the last block, the median of the draws."""

    def of(seen: Seen) -> float:
        values = getattr(seen.result, name)[0]
        return float(spread(values).median[nearest_size(seen.result, TENTH), -1])

    column = Column(f"{title}, noise of a tenth of the embedding", **ideal)
    return Number(name, column.title, (), of, in_files=False, column=column)


NUMBERS = (
    *(Number(name, what) for name, what in DRAWS.items()),
    Number(
        "blurred",
        "whether rounding hides how far the linear maps are off",
        ("way", "size", "draw", "state"),
        lambda seen: blurred(seen.result),
    ),
    Number(
        "radius",
        "size of noise at which the linear maps are off by 10 % in half of the draws",
        ("way", "state"),
        lambda seen: perturbation_radius(seen.result),
        column=Column(
            "Radius of isotropic noise at the last block (of the embedding)",
            lambda radii: float(radii[0, -1]),
        ),
    ),
    _at_a_tenth("distance", "Distance behind the last block"),
    _at_a_tenth(
        "cosine", "Cosine behind the last block", ideal=1.0, ideal_name="no change", most=1.0
    ),
    _at_a_tenth("error", "What the linear maps are off by there"),
    Number("rounding", "what rounding makes of the undisturbed state"),
    Number("noise_sizes", "sizes of the noise, in units of the embedding"),
    Number("ways", "ways in which the noise lies", ("way",), lambda _: WAYS),
    *tokens(),
)

ABOUT = {
    "way": "which noise is added to the token's embedding",
    "size": "its norm, in units of that of the embedding",
    "state": "x^0 to x^L, after which block the numbers are taken",
    "directions": "K, how many leading directions of block 1",
    "sizes": "sizes of the noise, in units of the embedding",
    "states": "those of the medians in JSON: behind the first block and the last",
    "certificates": "of the Jacobians, by block",
    **{
        f"{name}_{end}": f"the {end} end of what 95 % of the draws have"
        for name in DRAWS
        for end in ("low", "high")
    },
}
"""What else tables and JSON have, by name."""


def table(result: PerturbationResult, view: AnyView) -> "DataFrame":
    """A row a way, size and state: medians over the draws, and between what 95 % of them lie."""
    from pandas import DataFrame, MultiIndex

    names = ("way", "size", "state")
    states = range(result.n_blocks + 1)
    rows = MultiIndex.from_product([WAYS, result.noise_sizes, states], names=names)
    columns = {}
    for name in DRAWS:
        found = spread(getattr(result, name))
        columns[name] = found.median.ravel()
        columns[f"{name}_low"], columns[f"{name}_high"] = found.low.ravel(), found.high.ravel()
    return DataFrame(columns, index=rows).reset_index()
