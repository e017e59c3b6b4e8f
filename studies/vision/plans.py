"""What each run is trained with."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coupling_core.base.choosing import require_one_of
from coupling_core.base.errors import refuse
from coupling_core.base.folders import expanded
from coupling_core.experiments.vision import SUITE, repo_name


@dataclass(frozen=True)
class VisionPlan:
    """A training run.

    AdamW with the rate rising over the epochs of the warm-up, then falling along a cosine to 0.

    Args:
        name: of what all rates and seeds of this plan have in common.
        data: what is learned: a name, or an image folder.
        width: d of the residual stream.
        blocks: L.
        heads: of attention.
        patch: pixels along an edge of a patch.
        size: pixels along an edge of an image.
        epochs: times that each image is seen.
        batch: images a step.
        learning_rate: the highest.
        warmup: epochs.
        weight_decay: of matrices; norms, biases, class token and positions have none.
        mixup: alpha of the Beta distribution that says how much of another image is mixed into
            each; 0 for none.
        learned: images that are learned from, drawn from all; None for all.
        drop_path: probability with which an image skips each half of the last block; it rises
            linearly from 0 at the first (stochastic depth).
        seed: of initialisation, order of the images, dropped blocks and mixing.
        evaluated_every: epochs between two looks at what is held out.
        checkpoints: epochs after which a revision is kept, apart from the last.

    Raises:
        InputError: where these do not go together.
    """

    name: str
    data: str
    width: int
    blocks: int
    heads: int
    patch: int
    size: int
    epochs: int
    batch: int
    learning_rate: float
    warmup: int
    weight_decay: float
    mixup: float = 0.0
    learned: int | None = None
    drop_path: float = 0.0
    seed: int = 0
    evaluated_every: int = 1
    checkpoints: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        problems = {
            f"rate {self.drop_path:g}: expected one from 0 up to, but not, 1": (
                0 <= self.drop_path < 1
            ),
            f"weight decay {self.weight_decay:g}: expected 0 or more": self.weight_decay >= 0,
            f"{self.epochs} epochs with {self.warmup} of warm-up: expected more than those": (
                self.epochs > self.warmup >= 0
            ),
            f"width {self.width} with {self.heads} heads: expected a multiple of them": (
                self.width % self.heads == 0
            ),
            f"images of {self.size} pixels with patches of {self.patch}: expected a multiple": (
                self.size % self.patch == 0
            ),
        }
        refuse(*((not fine, problem) for problem, fine in problems.items()))

    @property
    def repo(self) -> str:
        """The repository of this run."""
        return repo_name(self.name, self.drop_path, self.seed)


@dataclass(frozen=True)
class Preset:
    """Runs that belong together.

    Args:
        plan: of its runs.
        rates: of stochastic depth.
        seeds: each rate is trained from all of them.
    """

    plan: VisionPlan
    rates: tuple[float, ...]
    seeds: tuple[int, ...]


_DIGITS = VisionPlan(
    "vit-digits", "digits", width=32, blocks=4, heads=2, patch=2, size=8, epochs=15, batch=32,
    learning_rate=3e-3, warmup=2, weight_decay=0.05,
)  # fmt: skip
_FASHION = VisionPlan(
    SUITE.name, "fashion-mnist", width=48, blocks=8, heads=3, patch=7, size=28, epochs=50, batch=64,
    learning_rate=1e-3, warmup=3, weight_decay=0.05, learned=SUITE.learned, evaluated_every=10,
    checkpoints=(0,),
)  # fmt: skip
# The appendix of the paper on vision: DeiT's settings. Weight decay is one of 0.005 to 0.2 there.
_CIFAR = VisionPlan(
    "vit-cifar10", "cifar10", width=192, blocks=12, heads=3, patch=4, size=32, epochs=500,
    batch=128, learning_rate=5e-4, warmup=30, weight_decay=0.05, mixup=0.8, evaluated_every=5,
)  # fmt: skip
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "digits": Preset(_DIGITS, (0.0,), (0,)),
        "fashion": Preset(_FASHION, SUITE.rates, SUITE.seeds),
        "cifar10": Preset(_CIFAR, (0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3), (0,)),
    }
)
DEFAULT_PRESET = "digits"
DATA = ("digits", "fashion-mnist", "cifar10", "cifar100")
"""What has a name; all else is a folder."""


def plan_runs(
    preset: str = DEFAULT_PRESET,
    data: str | None = None,
    rates: Sequence[float] = (),
    seeds: Sequence[int] = (),
    epochs: int | None = None,
    weight_decay: float | None = None,
    blocks: int | None = None,
) -> tuple[VisionPlan, ...]:
    """The runs of a preset, with what is told in place of its own: every rate, seed by seed.

    Args:
        preset: its name.
        data: what is learned: one of `DATA`, or an image folder.
        rates: of stochastic depth; all of the preset's unless told.
        seeds: likewise.
        epochs: of each run; the warm-up is as large a part of them as in the preset.
        weight_decay: as in `VisionPlan`.
        blocks: as in `VisionPlan`.

    Raises:
        InputError: where there is no such preset, or its parts do not go together.
    """
    require_one_of("the preset", preset, PRESETS)
    found = PRESETS[preset]
    plan = found.plan
    if data is not None and data not in DATA:
        data = str(expanded(data).resolve())
    told = {"data": data, "epochs": epochs, "weight_decay": weight_decay, "blocks": blocks}
    more: dict[str, Any] = {
        name: value for name, value in told.items() if value not in (None, getattr(plan, name))
    }
    more["name"] = plan.name + "".join(_suffix(name, value) for name, value in more.items())
    if epochs is not None:
        more["warmup"] = plan.warmup * epochs // plan.epochs
    changed = replace(plan, **more)
    return tuple(
        replace(changed, drop_path=rate, seed=seed)
        for seed in dict.fromkeys(seeds or found.seeds)
        for rate in dict.fromkeys(rates or found.rates)
    )


_SHORT = {"data": "", "epochs": "epochs", "weight_decay": "wd", "blocks": "blocks"}


def _suffix(name: str, value: object) -> str:
    """What tells a changed plan's repositories from those of the preset."""
    text = f"{value:g}" if isinstance(value, int | float) else Path(str(value)).name
    return f"-{_SHORT[name]}{re.sub('[^A-Za-z0-9.]+', '-', text).strip('-.')}"
