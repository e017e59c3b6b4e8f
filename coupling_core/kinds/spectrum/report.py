"""What is said of spectra."""

from typing import Any

import numpy as np

from coupling_core.analysis.exports import row
from coupling_core.analysis.spectra import effective_rank
from coupling_core.base.records import AnyView
from coupling_core.base.results import SpectrumResult
from coupling_core.base.units import counted, percent
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines
from coupling_core.kinds.spectrum.numbers import CURVES, curves

_EXPONENTS = 5


def summary(result: SpectrumResult, view: AnyView) -> dict[str, Any]:
    """Every number but the eigenvalues themselves, ready for JSON."""
    return {
        "token": result.token,
        "median": row(result, view),
        "blocks": curves(result),
        "residual": result.residual,
        "exponents": result.exponents,
        "participation": result.participation,
        "shuffled_effective_rank": effective_rank(result.shuffled_values),
        "certificates": [vars(certificate) for certificate in result.certificates],
    }


def show(result: SpectrumResult, view: AnyView) -> None:
    """Print one result: a line a block, what is left at the end."""
    numbers = curves(result)
    certain, left = numbers["certain_share"], numbers["product_effective_rank"][-1]
    shuffled = effective_rank(result.shuffled_values)
    leading = ", ".join(f"{value:+.3f}" for value in result.exponents[:_EXPONENTS])
    print_lines(
        *reports.head(result),
        f"token       {result.token_words(result.token)}",
        f"maps        M = I + J of {counted(result.n_blocks, 'block')}, {result.final_norm_words}",
        f"certain     {percent(certain.mean(), 1)} of the eigenvalues are known to "
        f"1\u00a0%; largest residual {np.nanmax(result.residual):.1e}",
        f"product     effective rank {left:.1f} of {result.width} behind all "
        f"blocks; {np.min(shuffled):.1f} to {np.max(shuffled):.1f} in random orders",
        f"exponents   {leading}, .. (growth a block, natural logarithm)",
        "",
    )
    reports.show_rows("block", result.n_blocks, numbers, CURVES)
