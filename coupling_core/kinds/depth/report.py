"""What is said of a depth-wise result."""

from typing import Any

import numpy as np

from coupling_core.analysis.scores import block_means, means, score_pairs
from coupling_core.analysis.subspaces import gaps
from coupling_core.base.images import is_image
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_table


def summary(result: DepthResult, view: View) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    found = score_pairs(result, view)
    return {
        "next_tokens": result.next_tokens,
        **reports.of_view(result, view),
        "blocks": found.blocks,
        "mean": means(found),
        "coupling": found.coupling,
        "chance": found.chance,
        "corrected": found.corrected,
        "certified": [certificate.certified for certificate in result.certificates],
    }


def facts(result: DepthResult, view: View) -> dict[str, object]:
    """What comes next."""
    lead = "seen as" if is_image(result.request.prompt) else "next"
    return {lead: ", ".join(f"{text!r} {share:.2f}" for text, share in result.next_tokens)}


def tables(result: DepthResult, view: View) -> None:
    """Print a line a block."""
    found, k = score_pairs(result, view), view.k
    at = np.array(found.blocks) - 1
    s, ratio = result.singular_values[at], gaps(result, k)[at]
    (raw, _), corrected = block_means(found.coupling), block_means(found.corrected)
    last = f"s_{k}" + " " * (k == 1)  # which has a column of its own
    titles = {"block": "d", "s_1": ".3g", last: ".3g", f"s_{k}/s_{k + 1}": "z.4f"}
    titles |= dict.fromkeys(("c", "chance", "corrected", "corrected as basis"), "z.3f")
    scores = raw, found.chance[:, 0], *corrected
    rows = zip(found.blocks, s[:, 0], s[:, k - 1], ratio, *scores, strict=True)
    print_table(titles, rows)
