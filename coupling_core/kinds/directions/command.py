"""`coupling directions`: what the leading singular vectors of the blocks read, write and do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coupling_core.analysis.directions import BetweenPrompts, between_prompts, viewed
from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.units import counted
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.reports import show_rows
from coupling_core.cli.rows import Row
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import NOTHING, Told, print_frame, print_lines
from coupling_core.kinds.directions.numbers import table
from coupling_core.kinds.directions.tries import CHANCE, Tries

MOST = 64
"""Prompts that are compared with one another: their pairs grow as the square, and all are held."""


def command(
    *,
    asked: options.Normed,
    token: options.Token = None,
    tries: Tries,
    output: options.Output,
) -> None:
    """See what the shared directions of a model read and write, and when they say nothing."""
    tries.require_possible(of_many=asked.many is not None, out=output.out)
    shown = Directions(
        "directions",
        asked.many,
        "readouts",
        view=lambda _: tries.view,
        dots="writes_beyond" if tries.side == "u" else "reads_beyond",
        tries=tries,
        device=asked.device,
    )
    answer(asked, asked.request("directions", token=token), shown, output)


@dataclass
class Directions(Shown):
    """Tries directions of one prompt; of many, says what the first write or read in common."""

    tries: Tries = field(default_factory=Tries)
    device: str | None = None
    kept: list[tuple[DirectionsResult, DirectionsView]] = field(default_factory=list)

    def more(self, result: DirectionsResult) -> Told:
        """What came of trying."""
        return self.tries.of(result, self.device)

    def row(self, result: DirectionsResult, view: DirectionsView) -> dict[str, float]:
        """The numbers of one prompt."""
        if len(self.kept) < MOST:
            self.kept.append((result, view))
        return super().row(result, view)

    def told(self, rows: Sequence[Row]) -> Told:
        """What is reported of all: for JSON, and printed; nothing of a single prompt."""
        if len(self.kept) < 2:
            return NOTHING
        (_, view), side = self.kept[0], self.tries.side
        found = between_prompts([result for result, _ in self.kept], view, side)
        numbers = {name: value for name, value in vars(found).items() if name != "results"}
        return {"between_prompts": numbers | {"n": found.n}}, lambda: _show(found)


def _show(found: BetweenPrompts) -> None:
    chance, does = float(np.median(found.chance)), "writes" if found.side == "u" else "reads"
    print_lines(
        "",
        f"between     {counted(found.n, 'prompt')}: {counted(found.leading, 'direction')} that "
        f"each block {does}; angles "
        "are means over the pairs of prompts, in degrees; of independent subspaces the smallest is "
        f"{float(found.chance[0]):.1f} and the median {chance:.1f}",
        "",
    )
    print_frame(found.to_pandas().iloc[:, :4])


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
        one: Any = table(result, view).sort_values("component", kind="stable")
        one.loc[~one.beyond_chance, ["positive", "negative"]] = CHANCE, ""
        print_frame(one.drop(columns=["block", "beyond_chance"]))
    else:
        print_lines("share of the directions whose readout is beyond chance")
        show_rows(result, view, "block")
