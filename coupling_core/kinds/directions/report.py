"""What is said of directions."""

from typing import Any

import numpy as np

from coupling_core.analysis.directions import viewed
from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.cli.reports import show_rows
from coupling_core.cli.terminal import print_frame, print_lines
from coupling_core.kinds.directions.numbers import table

CHANCE = "no more than chance"
_LEFT_OUT = ("tokens", "u", "v", "A", "top", "top_z", "top_cosine", "peakedness", "beyond_chance")


def summary(result: DirectionsResult, view: DirectionsView) -> dict[str, Any]:
    """Every number of one view but the vectors themselves, ready for JSON."""
    named = {name: value for name, value in arrays(result, view).items() if name not in _LEFT_OUT}
    return {
        "kept": result.count,
        "share": row(result, view),
        "missing": dict(result.missing),
        **named,
        "directions": table(result, view).to_dict("records"),
    }


def facts(result: DirectionsResult, view: DirectionsView) -> dict[str, object]:
    """How exact the directions are, and which readouts there are not."""
    blocks, k = viewed(result, view)
    turned = np.nanmax(result.rounding[np.array(blocks) - 1])
    return {
        "directions": f"{k} a block and side, kept at float16, which turned none by more than "
        f"{turned:.2g} degrees; of those tied with the next only the common subspace means "
        "anything",
        **result.missing,
    }


def tables(result: DirectionsResult, view: DirectionsView) -> None:
    """Print the directions of one block, or how many say something in each."""
    if len(viewed(result, view)[0]) == 1:
        one = table(result, view).sort_values("component", kind="stable")
        one.loc[~one.beyond_chance, ["positive", "negative"]] = CHANCE, ""
        print_frame(one.drop(columns=["block", "beyond_chance"]))
    else:
        print_lines("share of the directions whose readout is beyond chance")
        show_rows(result, view, "block")
