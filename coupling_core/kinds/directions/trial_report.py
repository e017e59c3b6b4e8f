"""What is said of directions that were steered along, taken out, shared, or read from a file."""

from pathlib import Path
from typing import Any

import numpy as np

from coupling_core.analysis.directions import Shared, held
from coupling_core.base.results import DirectionsResult
from coupling_core.base.trials import UNITS, Ablation, Readings, Steering
from coupling_core.base.units import counted, percent
from coupling_core.cli.terminal import print_lines, print_table
from coupling_core.store.direction_file import Direction

SHOWN = 3
"""Tokens at either end."""


def steering_summary(found: Steering) -> dict[str, Any]:
    """What steering did, ready for JSON."""
    return {"measured_of": found.measured_of, "rows": found.to_pandas().to_dict("records")}


def ablation_summary(found: Ablation) -> dict[str, Any]:
    """What taking out did, ready for JSON."""
    return {name: value for name, value in vars(found).items() if name != "result"}


def show_steering(found: Steering) -> None:
    """Print what each direction does at each size, beside random ones."""
    rows = [
        (
            name,
            f"{size:g}",
            f"{found.divergence[i, e]:.3g}",
            f"{np.median(found.by_chance[:, e]):.3g}",
            f"{found.by_chance[:, e].max():.3g}",
            _ends(found.rises[i][e], found.rise[i, e]),
            _ends(found.falls[i][e], found.fall[i, e]),
        )
        for i, name in enumerate(found.names)
        for e, size in enumerate(found.sizes)
    ]
    unit = UNITS[found.measured_of]
    random = f"{len(found.by_chance)} random"
    print_lines("", f"steered: x + e norm(x) u, {unit}, beside directions drawn at random")
    print_table(("", "e", unit, f"{random}, median", "largest", "rise", "fall"), rows)


def show_ablation(found: Ablation) -> None:
    """Print what taking out does, beside random frames."""
    n = len(found.blocks)
    where = f"block {found.blocks[0]} reads" if n == 1 else f"each of {n} blocks reads"
    print_lines(
        "",
        f"taken out   {counted(found.k, 'direction')} of what {where}: {UNITS[found.measured_of]} "
        f"{found.divergence:.4g}; {len(found.by_chance)} random frames: median "
        f"{np.median(found.by_chance):.4g}, largest {found.by_chance.max():.4g}",
        f"            they hold {percent(found.part, 1)} of the squared length of these states: "
        "where that is much, much is gone, whatever it says",
    )


def shared_summary(found: Shared, blocks: tuple[int, ...], read: Readings | None) -> dict[str, Any]:
    """What blocks have in common, ready for JSON."""
    told = {"blocks": blocks, "count": found.count, "chance": found.chance, "share": found.share}
    return told if read is None else told | {"readouts": read.to_pandas().to_dict("records")}


def show_shared(found: Shared, blocks: tuple[int, ...], side: str, read: Readings | None) -> None:
    """Print how many directions blocks have in common, and what they are read as."""
    print_lines(
        "",
        f"shared      {counted(found.count, 'direction')} that {counted(len(blocks), 'block')} "
        f"{'write' if side == 'u' else 'read'}, beyond chance: a share above {found.chance:.3f}, "
        "which independent subspaces stay below; 1 lies in all",
    )
    if read is None:
        return
    rows = [
        (
            str(number + 1),
            f"{found.share[number]:.3f}",
            f"{read.peakedness[number]:.2f}",
            " ".join(map(repr, read.towards[number][:SHOWN])) if beyond else "no more than chance",
            " ".join(map(repr, read.away[number][:SHOWN])) if beyond else "",
        )
        for number, beyond in enumerate(read.beyond_chance)
    ]
    print_table(("", "share", "peakedness", "towards", "away"), rows)


def elsewhere(direction: Direction, result: DirectionsResult) -> dict[str, Any]:
    """How much of a direction each block's subspaces hold, and what chance would."""
    return {
        "direction": direction.name,
        "about": dict(direction.about),
        "chance": float(np.sqrt(result.count / result.width)),
        **{f"held_{side}": held(result, direction.vector, side) for side in ("u", "v")},
    }


def show_elsewhere(direction: Direction, result: DirectionsResult) -> None:
    """Print which blocks' subspaces hold a direction."""
    found = elsewhere(direction, result)
    print_lines(
        "",
        f"imported    {direction.name}",
        f"            the share of it in each block's {result.count} directions; by chance "
        f"{found['chance']:.3f}",
    )
    rows = [
        (str(number), f"{u:.3f}", f"{v:.3f}")
        for number, (u, v) in enumerate(zip(found["held_u"], found["held_v"], strict=True), 1)
    ]
    print_table(("block", "written", "read"), rows, right=True)


def show_exported(direction: Direction, path: Path) -> None:
    """Print which direction was written, and where."""
    print_lines("", f"exported    {direction.name}, to {path}")


def _ends(texts: tuple[str, ...], changes: np.ndarray) -> str:
    if not texts or not changes[0]:
        return ""
    return f"{' '.join(map(repr, texts[:SHOWN]))} ({changes[0]:+.2f})"
