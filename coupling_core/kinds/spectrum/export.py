"""The numbers of a measurement of spectra."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.spectra import spectrum_numbers
from coupling_core.base.records import AnyView
from coupling_core.base.results import SpectrumResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

_STORED = (
    "eigenvalues", "condition", "residual", "jacobian_norm", "singular_values", "u_dot_v",
    "participation", "product_values", "exponents", "shuffled_values",
)  # fmt: skip


def arrays(
    result: SpectrumResult, view: AnyView, k_view: int | None = None
) -> dict[str, np.ndarray]:
    """What a measurement of spectra holds, by name.

    Args:
        result: the result.
        view: means nothing here.
        k_view: neither; there are no matrices.

    Returns:
        `eigenvalues` (block d part), `condition`, `uncertainty`, `certain` (block d), `residual`,
        `jacobian_norm` (block), `singular_values`, `u_dot_v` (block k), `participation` (first
        last), `product_values` (block d), `exponents` (d), `shuffled_values` (order d); curves by
        block, whose names begin with `mean_` where a stored array has theirs; `blocks`, `tokens`,
        `token_ids`.
    """
    return {
        **{name: getattr(result, name) for name in _STORED},
        "uncertainty": result.uncertainty,
        "certain": result.certain,
        **curves(result),
        "blocks": np.arange(1, result.n_blocks + 1),
        "tokens": np.array(result.tokens),
        "token_ids": result.token_ids,
    }


def curves(result: SpectrumResult) -> dict[str, np.ndarray]:
    """The curves over depth, by name."""
    renamed = {
        "certain": "certain_share",
        "u_dot_v": "mean_u_dot_v",
        "participation": "product_participation",
        "effective_rank": "product_effective_rank",
    }
    found = asdict(spectrum_numbers(result))
    return {renamed.get(name, name): values for name, values in found.items()}


def axes(result: SpectrumResult) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array."""
    stored = {name: result.dims[name] for name in _STORED}
    return {
        **stored,
        **dict.fromkeys(("uncertainty", "certain"), ("block", "d")),
        **dict.fromkeys(curves(result), ("block",)),
        "blocks": ("block",),
        **dict.fromkeys(("tokens", "token_ids"), ("token",)),
    }


def table(result: SpectrumResult, view: AnyView) -> "DataFrame":
    """What each block's map is like: a row a block."""
    from pandas import DataFrame

    return DataFrame({"block": range(1, result.n_blocks + 1), **curves(result)})


def row(result: SpectrumResult, view: AnyView) -> dict[str, float]:
    """Medians over the blocks, and what is left at the last one; NaN where none has the number."""
    found = spectrum_numbers(result)
    return {
        "departure": _median(found.departure),
        "asymmetry": _median(found.asymmetry),
        "outside": _median(found.outside),
        "u_dot_v": _median(found.u_dot_v),
        "effective_rank": float(found.effective_rank[-1]),
    }


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")
