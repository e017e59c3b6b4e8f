"""Numbers and maps to what a trainer reports to: TensorBoard, Weights & Biases, trackio.

Trainers tell these of losses by callbacks of their own, which run before any other; so what is
measured is written beside what they write, into the same run.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError
from coupling_core.base.folders import expanded
from coupling_core.base.records import View
from coupling_core.experiments.watching.probes import Look

PREFIX = "coupling"
Report = Callable[[Look, bytes], None]
"""Told of a look, and of its map as PNG; empty where there is nothing to draw it with."""


def reports(names: Iterable[str], folder: str | Path | None) -> list[Report]:
    """What tells each of them."""
    made = {"tensorboard": lambda: _tensorboard(folder), "wandb": _wandb, "trackio": _trackio}
    return [made[name]() for name in names if name in made]


def tensorboard_folder(arguments: Any) -> Path:
    """Where a trainer's own curves go, by its arguments; older versions of transformers say it."""
    said = getattr(arguments, "logging_dir", None) or os.environ.get("TENSORBOARD_LOGGING_DIR")
    if said:
        return expanded(said)
    runs = expanded(arguments.output_dir) / "runs"
    begun = sorted(runs.glob("*/"), key=lambda folder: folder.stat().st_mtime)
    return begun[-1] if begun else runs / PREFIX


def picture(look: Look, view: View, told: str) -> bytes:
    """The mean map of a look as PNG; b"" where neither Chromium nor matplotlib draws it."""
    from coupling_core import figures  # plotly

    drawn = figures.mean_map(look.parts, told)
    try:
        return figures.render(drawn, ".png", view=view)
    except ComputeError:
        return b""


def _named(look: Look) -> dict[str, float]:
    return {f"{PREFIX}/{name}": value for name, value in look.numbers.items()}


def _tensorboard(folder: str | Path | None) -> Report:
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = SummaryWriter(log_dir=str(folder) if folder else None)

    def report(look: Look, png: bytes) -> None:
        for name, value in _named(look).items():
            writer.add_scalar(name, value, look.step)
        if png:
            writer.add_image(f"{PREFIX}/map", _pixels(png), look.step, dataformats="HWC")
        writer.flush()

    return report


def _wandb() -> Report:
    def report(look: Look, png: bytes) -> None:
        wandb = sys.modules.get("wandb")  # whoever reports to it has begun a run by now
        if wandb is None or wandb.run is None:
            return
        more = {f"{PREFIX}/map": wandb.Image(_pixels(png))} if png else {}
        wandb.log(_named(look) | more | {"train/global_step": look.step})

    return report


def _trackio() -> Report:
    def report(look: Look, png: bytes) -> None:
        trackio = sys.modules.get("trackio")
        if trackio is None:
            return
        more = {f"{PREFIX}/map": trackio.Image(_pixels(png))} if png else {}
        trackio.log(_named(look) | more)

    return report


def _pixels(png: bytes) -> Any:
    import numpy as np
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
