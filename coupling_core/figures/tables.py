"""The singular values of results as tables."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.compare import Comparison
from coupling_core.analysis.subspaces import gaps
from coupling_core.base.records import View, resolve_block, resolve_blocks
from coupling_core.base.results import DepthResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def spectrum_table(result: DepthResult, view: View) -> "DataFrame":
    """Twin of the singular values: a row a block, with the gap s_K / s_{K+1} at the viewed K."""
    from pandas import DataFrame

    blocks = resolve_blocks(view.blocks, result.n_blocks)
    at = np.array(blocks) - 1
    table = DataFrame(
        result.singular_values[at], columns=[f"s_{k + 1}" for k in range(result.k_max)]
    )
    table.insert(0, "block", blocks)
    table.insert(1, "gap", gaps(result, view.k)[at])
    return table


def pair_spectra_table(found: Comparison, block: int, basis: int) -> "DataFrame":
    """Twin of the spectra of one pair of a comparison: a row an index k, a column a line."""
    from pandas import DataFrame

    block, basis = (resolve_block(each, found.a.n_blocks) for each in (block, basis))
    columns = {
        f"{side}, block {number}": result.singular_values[number - 1]
        for side, result, numbers in (
            ("A", found.a, (block, basis)),
            ("B", found.b, (found.partner(block), found.partner(basis))),
        )
        for number in numbers
    }
    k = min(found.a.k_max, found.b.k_max)
    table = DataFrame({name: values[:k] for name, values in columns.items()})
    table.insert(0, "k", range(1, k + 1))
    return table
