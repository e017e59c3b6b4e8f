"""`coupling directions`: what the leading singular vectors of the blocks read, write and do."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from coupling_core.analysis.directions import BetweenPrompts, between_prompts
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.units import counted
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.rows import Row
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import NOTHING, Told, print_frame, print_lines
from coupling_core.kinds.directions.tries import Tries

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
