"""What is said of a depth-wise result."""

from typing import Any

import numpy as np

from coupling_core.analysis.scores import (
    Scores,
    block_means,
    definition_name,
    means,
    score_pairs,
)
from coupling_core.analysis.subspaces import gaps
from coupling_core.base.images import is_image
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines, print_table


def summary(result: DepthResult, view: View) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    found = score_pairs(result, view)
    return {
        "token": result.token,
        "next_tokens": result.next_tokens,
        **reports.of_view(result, view),
        "blocks": found.blocks,
        "mean": means(found),
        "coupling": found.coupling,
        "chance": found.chance,
        "corrected": found.corrected,
        "certified": [certificate.certified for certificate in result.certificates],
    }


def show(result: DepthResult, view: View) -> None:
    """Print one result: whose it is, its mean scores, a line a block."""
    found = score_pairs(result, view)
    mean = means(found)
    lead = "seen as" if is_image(result.request.prompt) else "next"
    likely = ", ".join(f"{text!r} {share:.2f}" for text, share in result.next_tokens)
    print_lines(
        *reports.head(result),
        f"token       {result.token_words(result.token)}" + f"; {lead} {likely}" * bool(likely),
        f"score       {definition_name(view)}, K = {view.k}, {result.final_norm_words}",
        f"mean        chance-corrected {mean['corrected']:z.4f}, c {mean['coupling']:z.4f}, "
        f"chance floor {mean['chance']:z.4f}, over l != l'",
        *([f"no mean     {found.verdict}"] if np.isnan(mean["coupling"]) else []),
        "",
    )
    _show_blocks(result, view, found)


def _show_blocks(result: DepthResult, view: View, found: Scores) -> None:
    raw, _ = block_means(found.coupling)
    as_jacobian, as_basis = block_means(found.corrected)
    gap = gaps(result, view.k)
    titles = ("block", "s_1", f"s_{view.k}", f"s_{view.k}/s_{view.k + 1}", "c", "chance")
    rows = []
    for i, block in enumerate(found.blocks):
        s = result.singular_values[block - 1]
        numbers = (raw[i], found.chance[i, 0], as_jacobian[i], as_basis[i])
        spectrum = (f"{s[0]:.3g}", f"{s[view.k - 1]:.3g}", f"{gap[block - 1]:z.4f}")
        rows.append((str(block), *spectrum, *(f"{number:z.3f}" for number in numbers)))
    print_table((*titles, "corrected", "corrected as basis"), rows, right=True)
