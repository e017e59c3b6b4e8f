"""What `coupling spectrum` says; its options are those of any command."""

from typing import Any

import numpy as np

from coupling_core.analysis.exports import row
from coupling_core.base.numbers import array_of, columns
from coupling_core.base.records import AnyView
from coupling_core.base.results import SpectrumResult
from coupling_core.base.units import percent

_EXPONENTS = 5


def summary(result: SpectrumResult, view: AnyView) -> dict[str, Any]:
    """Every number but the eigenvalues themselves, ready for JSON."""
    return {
        "median": row(result, view),
        "blocks": columns(result, view, "block"),
        "residual": result.residual,
        "exponents": result.exponents,
        "participation": result.participation,
        "shuffled_effective_rank": array_of(result, view, "shuffled_effective_rank"),
        "certificates": result.certificates,
    }


def facts(result: SpectrumResult, view: AnyView) -> dict[str, object]:
    """How certain the eigenvalues are, and the leading exponents."""
    certain = array_of(result, view, "certain_share").mean()
    leading = ", ".join(f"{value:+.3f}" for value in result.exponents[:_EXPONENTS])
    return {
        "certain": f"{percent(certain, 1)} of the eigenvalues are known to 1\u00a0%; largest "
        f"residual {np.nanmax(result.residual):.1e}",
        "exponents": f"{leading}, .. (growth a block, natural logarithm)",
    }
