"""What is said of directions."""

from typing import Any

import numpy as np

from coupling_core.analysis.directions import counts, gaps, tied, viewed
from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines, print_table
from coupling_core.kinds.directions.numbers import table, words

CHANCE = "no more than chance"
_LEFT_OUT = ("tokens", "u", "v", "A", "top", "top_z", "top_cosine", "peakedness", "beyond_chance")


def summary(result: DirectionsResult, view: DirectionsView) -> dict[str, Any]:
    """Every number of one view but the vectors themselves, ready for JSON."""
    named = {name: value for name, value in arrays(result, view).items() if name not in _LEFT_OUT}
    return {
        "token": result.token,
        "kept": result.count,
        "share": row(result, view),
        "missing": dict(result.missing),
        **named,
        "directions": table(result, view).to_dict("records"),
    }


def show(result: DirectionsResult, view: DirectionsView) -> None:
    """Print one result: the directions of one block, or how many say something in each."""
    blocks, k = viewed(result, view)
    at = np.array(blocks) - 1
    alike = int(tied(result)[at, :k].sum())
    print_lines(
        *reports.head(result),
        f"token       {result.token_words(result.token)}",
        f"directions  {k} a block and side, kept at float16, which turned none by more than "
        f"{np.nanmax(result.rounding[at]):.2g} degrees; {alike} of {k * len(at)} tied with the "
        "next (~): only their common subspace means anything",
        *_floors(result),
        "",
    )
    (_show_block if len(blocks) == 1 else _show_blocks)(result, blocks, k)


def _floors(result: DirectionsResult) -> list[str]:
    """What the readouts are held against, and which there are not."""
    lines = []
    for readout, name in enumerate(READOUTS):
        said = f"a readout is as peaked as {result.floor[readout, 0]:.3f} in 1 of 100 random ones"
        lines.append(f"{name.replace('_', ' '):16}{result.missing.get(name, said)}")
    return lines


def _show_blocks(result: DirectionsResult, blocks: tuple[int, ...], k: int) -> None:
    """How many readouts of each block are beyond chance."""
    found = counts(result, k)
    shown = [at for at, name in enumerate(READOUTS) if name not in result.missing]
    rows = [
        (str(b), f"{result.singular_values[b - 1, 0]:.3g}", *(f"{found[r, b - 1]}" for r in shown))
        for b in blocks
    ]
    print_lines(f"readouts beyond chance, of {k}")
    print_table(
        ("block", "s_1", *(READOUTS[at].replace("_", " ") for at in shown)), rows, right=True
    )


def _show_block(result: DirectionsResult, blocks: tuple[int, ...], k: int) -> None:
    """Each direction of a block with its readouts, or that they are chance."""
    (block,) = blocks
    gap, ties = gaps(result)[block - 1], tied(result)[block - 1]
    rows = []
    for component in range(k):
        for readout, name in enumerate(READOUTS):
            if name in result.missing:
                continue
            head = (
                f"{component + 1}{'~' if ties[component] else ''}",
                f"{result.singular_values[block - 1, component]:.4g}",
                f"{gap[component]:.2g}",
            )
            rows.append(
                (
                    *(head if not readout else ("", "", "")),
                    name.replace("_", " "),
                    f"{result.peakedness[readout, block - 1, component]:.2f}",
                    *_ends(result, readout, block, component),
                )
            )
    print_table(("k", "s_k", "gap", "", "peak", "+", "-"), rows)


def _ends(result: DirectionsResult, readout: int, block: int, component: int) -> tuple[str, str]:
    """The tokens at both ends with the z of the first; of a readout that is chance, that it is."""
    if not result.beyond_chance[readout, block - 1, component]:
        return CHANCE, ""
    z = result.top_z[readout, block - 1, component, :, 0]
    told = [
        f"{words(result, readout, block, component, sign)} (z {z[sign]:+.1f})" for sign in (0, 1)
    ]
    return told[0], told[1]
