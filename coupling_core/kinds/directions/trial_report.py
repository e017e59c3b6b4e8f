"""What is reported of directions that were steered along, taken out, shared, or in a file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coupling_core.analysis.directions import Shared, held
from coupling_core.base.results import DirectionsResult
from coupling_core.base.trials import UNITS, Ablation, Readings, Steering
from coupling_core.base.units import counted
from coupling_core.cli.terminal import Told, print_lines, print_table
from coupling_core.store.direction_file import Direction

SHOWN = 3
"""Tokens at either end."""


def steered(found: Steering) -> Told:
    """What each direction does at each size, beside random ones."""
    table, unit = found.to_pandas(), UNITS[found.measured_of]

    def show() -> None:
        print_lines("", f"steered: x + e norm(x) u, {unit}. {found.verdict}")
        print_table(
            {
                **{"": "", "e": "g", unit: ".3g"},
                f"{len(found.by_chance)} random, median": ".3g",
                **{"largest": ".3g", "rise": "", "by": "+.2f", "fall": "", " by": "+.2f"},
            },
            table.itertuples(index=False),
        )

    return {"measured_of": found.measured_of, "rows": table.to_dict("records")}, show


def ablated(found: Ablation) -> Told:
    """What taking directions out does, beside random frames."""
    numbers = {name: value for name, value in vars(found).items() if name != "result"}
    return numbers, lambda: print_lines("", f"taken out   {found.verdict}")


def shared(found: Shared, blocks: Sequence[int], side: str, read: Readings | None) -> Told:
    """How many directions blocks have in common, and what they are read as."""
    does = "write" if side == "u" else "read"

    def show() -> None:
        print_lines(
            "",
            f"shared      {counted(found.count, 'direction')} that "
            f"{counted(len(blocks), 'block')} {does}, beyond chance: a share above "
            f"{found.chance:.3f}, which independent subspaces stay below; 1 lies in all",
        )
        if read is None:
            return
        rows = [
            (
                *(number + 1, found.share[number], read.peakedness[number]),
                _first(read.towards[number]) if beyond else "no more than chance",
                _first(read.away[number]) if beyond else "",
            )
            for number, beyond in enumerate(read.beyond_chance)
        ]
        titles = {"": "", "share": ".3f", "peakedness": ".2f", "towards": "", "away": ""}
        print_table(titles, rows)

    numbers = {"blocks": blocks, "count": found.count, "chance": found.chance, "share": found.share}
    readouts = {} if read is None else {"readouts": read.to_pandas().to_dict("records")}
    return numbers | readouts, show


def imported(direction: Direction, result: DirectionsResult) -> Told:
    """Which blocks' subspaces hold a direction, and how much chance would."""
    u, v = (held(result, direction.vector, side) for side in ("u", "v"))
    chance = float(np.sqrt(result.count / result.width))

    def show() -> None:
        print_lines(
            "",
            f"imported    {direction.name}",
            f"            the share of it in each block's {result.count} directions; by chance "
            f"{chance:.3f}",
        )
        rows = zip(range(1, result.n_blocks + 1), u, v, strict=True)
        print_table({"block": "", "written": ".3f", "read": ".3f"}, rows, right=True)

    numbers = {"direction": direction.name, "about": dict(direction.about), "chance": chance}
    return numbers | {"held_u": u, "held_v": v}, show


def exported(direction: Direction, path: Path) -> Told:
    """Which direction was written, and where."""
    written = f"exported    {direction.name}, to {path}"
    return dict(direction.about), lambda: print_lines("", written)


def _first(texts: Sequence[str]) -> str:
    return " ".join(map(repr, texts[:SHOWN]))
