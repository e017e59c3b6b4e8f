"""What is said of directions."""

from typing import Any

import numpy as np

from coupling_core.analysis.directions import counts, viewed
from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS
from coupling_core.cli.terminal import print_lines, print_table
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
        f"{turned:.2g} degrees; of those tied with the next (~) only the common subspace means "
        "anything",
        **result.missing,
    }


def tables(result: DirectionsResult, view: DirectionsView) -> None:
    """Print the directions of one block, or how many say something in each."""
    blocks, k = viewed(result, view)
    if len(blocks) == 1:
        _show_block(result, view)
        return
    found, at = counts(result, k), np.array(blocks) - 1
    shown = [readout for readout, name in enumerate(READOUTS) if name not in result.missing]
    titles = {"block": "d", "s_1": ".3g", **{_words(READOUTS[readout]): "d" for readout in shown}}
    numbers = result.singular_values[at, 0], *found[shown][:, at]
    print_lines(f"readouts beyond chance, of {k}")
    print_table(titles, zip(blocks, *numbers, strict=True))


def _show_block(result: DirectionsResult, view: DirectionsView) -> None:
    """Each direction of a block with its readouts, or that they are chance."""
    rows, said = [], ""
    lines: Any = table(result, view).sort_values("component", kind="stable").itertuples()
    for one in lines:
        number = f"{one.component}{'~' * one.tied}"
        head = (number, one.singular_value, one.gap) if number != said else ("", "", "")
        ends = (
            (
                f"{one.positive} (z {one.positive_z:+.1f})",
                f"{one.negative} (z {one.negative_z:+.1f})",
            )
            if one.beyond_chance
            else (CHANCE, "")
        )
        rows.append((*head, _words(one.readout), one.peakedness, *ends))
        said = number
    titles = {"k": "", "s_k": ".4g", "gap": ".2g", "": "", "peak": ".2f", "+": "", "-": ""}
    print_table(titles, rows)


def _words(readout: str) -> str:
    return readout.replace("_", " ")
