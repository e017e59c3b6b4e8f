"""Suites of checkpoints: training runs whose every step of a list can be measured.

Those of `coupling-explorer` were trained by this project's own recipe; some come with the program,
the others are made by `studies/pretraining`, and those of one's own by `coupling suite new`. Those
of EleutherAI are the Pythia models of the hub. Either way a step is a revision of a repository.
"""

import csv
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from coupling_core.base.choosing import none_of
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import in_a_line
from coupling_core.base.records import Request
from coupling_core.base.units import counted
from coupling_core.sources import hub

EARLY_STEPS = (0, *(2**i for i in range(10)))
"""0, 1, 2, 4, ... 512: where most happens, in Pythia's runs and so in ours."""
MINI_STEPS = (*EARLY_STEPS, *range(1000, 4001, 1000))
PYTHIA_STEPS = (*EARLY_STEPS, *range(1000, 143_001, 1000))
PYTHIA_SIZES = {
    "14m": 53_000_000,
    "31m": 86_000_000,
    "70m": 166_000_000,
    "160m": 375_000_000,
    "410m": 911_000_000,
    "1b": 2_090_000_000,
    "1.4b": 2_930_000_000,
    "2.8b": 5_680_000_000,
    "6.9b": 13_850_000_000,
    "12b": 23_800_000_000,
}
"""Bytes of a checkpoint in half precision, masks included. Each size was trained on the Pile and on
the Pile without its duplicates; the two smallest on the latter alone, to which the hub leads their
shorter names."""

PYTHIA_TOKENS_A_STEP = 1024 * 2048
"""Sequences of a step times their length."""

_PICKLED = (
    "its steps hold pickled weights on the hub, which are never loaded: convert them elsewhere "
    "(save_pretrained) and give the folder"
)
_CAUTIONS = {
    "pythia-2.8b": (
        "the hub serves the weights of the end of training as most of its early steps (all up to "
        "53000 and some later ones; EleutherAI/pythia issue 205): choose another size"
    ),
    "pythia-6.9b": _PICKLED,
    "pythia-6.9b-deduped": _PICKLED,
    "pythia-12b": _PICKLED,
    "pythia-12b-deduped": _PICKLED,
}
"""What is wrong with suites of the hub, as it was found there in 2026."""

LOSSES = "losses.csv"
"""The file of a run's losses, in the folder of its repository."""
_STEP = re.compile(r"step(\d+)")


@dataclass(frozen=True, repr=False)
class Suite:
    """A training run.

    Args:
        name: as people ask for it, such as "mini-64".
        repo: the repository with a revision for each step.
        title: what it is, in words.
        steps: all steps that it has a checkpoint of, rising.
        caution: what people should know before they trust or fetch it; "" for nothing.
        checkpoint_bytes: about how much the hub has to send for a step; 0 where there is no hub.
        is_watched: whether it is a run of somebody's own: results were kept while it trained, or
            `coupling suite new` trained it.
    """

    name: str
    repo: str
    title: str
    steps: tuple[int, ...]
    caution: str = ""
    checkpoint_bytes: int = 0
    is_watched: bool = False

    def __repr__(self) -> str:
        span = f" from {self.steps[0]} to {self.steps[-1]}" if self.steps else ""
        steps = counted(len(self.steps), "step")
        return in_a_line(self, repr(self.name), self.title, steps + span)

    @property
    def is_own(self) -> bool:
        """Whether this project's recipe trained it."""
        return hub.cache.is_own(self.repo)

    def request(self, request: Request, step: int) -> Request:
        """The same measurement of a checkpoint."""
        return replace(request, model=self.repo, revision=revision(step), untrained=None)

    def here(self) -> tuple[int, ...]:
        """Steps whose weights are on this disk."""
        found = {step_of(name) for name in hub.cached(self.repo)}
        return tuple(step for step in self.steps if step in found)

    def known(self) -> tuple[int, ...]:
        """Steps whose commit is known without asking anybody: stored results of them are found."""
        found = {step_of(name) for name in hub.cache.refs(self.repo)}
        return tuple(step for step in self.steps if step in found)

    @property
    def tokens_a_step(self) -> int:
        """How many tokens a step of training reads; 0 where that was not recorded."""
        if not self.is_own:
            return PYTHIA_TOKENS_A_STEP
        try:
            recipe = json.loads((hub.cache.repository(self.repo) / "recipe.json").read_text())
            return int(recipe["tokens"]) // self.steps[-1]
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def losses(self) -> Mapping[int, float]:
        """Held-out loss in nats a token, by step; empty where none was recorded."""
        return find_losses(hub.cache.repository(self.repo) / LOSSES)

    def probes(self) -> tuple[Any, ...]:
        """Prompts that a watched run was measured with: texts, or token ids; none of others."""
        return hub.cache.probes(self.repo)

    @property
    def usual_k(self) -> int:
        """The K at which it is looked at where nobody says another: that it was watched with."""
        return hub.cache.watched_k(self.repo) or DEFAULT_K


def find_losses(path: Path) -> Mapping[int, float]:
    """Held-out loss in nats a token, by step, of a run's file; empty where there is none."""
    if not path.is_file():
        return {}
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        return {int(row["step"]): float(row["held_out"]) for row in rows if row["held_out"]}


_WIDTHS = {
    "mini-64": "Mini-Pythia, width 64",
    "mini-64-sd": "Mini-Pythia, width 64, stochastic depth",
    "mini-128": "Mini-Pythia, width 128",
}
SEEDS = (0, 1)
"""Each is trained from these; the first has the plain name."""

DEFAULT_SUITE = "mini-64"
DEFAULT_K = 8
"""Few, as the width of the smallest suite is: there chance alone fills many triplets."""


def suites() -> Mapping[str, Suite]:
    """All suites by their names: ours first, then runs that were watched here, then Pythia's."""
    ours = {name: suite for name, suite in _known().items() if suite.is_own}
    return {**ours, **_watched(), **_known()}


def _watched() -> dict[str, Suite]:
    """Training runs of one's own."""
    found: dict[str, Suite] = {}
    for path in sorted(hub.cache.watched()):
        name = path.parent.name.rpartition("--")[2]
        try:
            title = str(json.loads(path.read_text())["title"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # one that somebody is deleting, or changed
        repo = f"{hub.cache.OWNER}/{name}"
        steps = {step for ref in hub.cache.refs(repo) if (step := step_of(ref)) is not None}
        found[name] = Suite(name, repo, title, tuple(sorted(steps)), is_watched=True)
    return {name: suite for name, suite in found.items() if suite.steps}


@cache
def _known() -> Mapping[str, Suite]:
    """Those that every machine knows of: ours, then Pythia's from the smallest."""
    own = [_own(width, seed) for seed in SEEDS for width in _WIDTHS]
    sizes = (f"{size}{corpus}" for corpus in ("", "-deduped") for size in PYTHIA_SIZES)
    pythia = [_pythia(size) for size in sizes]
    return {suite.name: suite for suite in (*own, *pythia)}


def find_suite(name: str) -> Suite:
    """A suite by its name.

    Args:
        name: such as "mini-64", or the repository that its steps are of.

    Raises:
        InputError: where there is none.
    """
    known = suites()
    found = known.get(name) or next((one for one in known.values() if one.repo == name), None)
    if found is None:
        raise InputError(none_of("suite", name, known))
    return found


def checkpoint_of(repo: str, revision: str | None) -> tuple[str, int | None]:
    """Of which suite a revision of a repository is a step: its name and the step; else "", None."""
    step = step_of(revision or "")
    names = (
        suite.name for suite in suites().values() if suite.repo == repo and step in suite.steps
    )
    return next(((name, step) for name in names), ("", None))


def seeded(name: str, seed: int) -> str:
    """The name of a suite that is trained from this seed."""
    return f"{name}-seed{seed}" if seed else name


def require_steps(suite: Suite, steps: Iterable[int]) -> tuple[int, ...]:
    """These steps of a suite, rising."""
    chosen = sorted(set(steps))
    for step in chosen:
        if step not in suite.steps:
            near = sorted(sorted(suite.steps, key=lambda other: abs(other - step))[:2])
            raise InputError(
                f"{suite.name} has no step {step}: nearest are {near[0]} and {near[1]}, and "
                f"`coupling suite list {suite.name}` has them all"
            )
    return tuple(chosen)


def revision(step: int) -> str:
    """The name of a step's revision."""
    return f"step{step}"


def step_of(name: str) -> int | None:
    """The step of a revision's name; None for any other name."""
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None


def _own(width: str, seed: int) -> Suite:
    name, title = seeded(width, seed), _WIDTHS[width] + f", seed {seed}" * bool(seed)
    return Suite(name, f"{hub.cache.OWNER}/{name}", title, MINI_STEPS)


def _pythia(size: str) -> Suite:
    name, (plain, _, deduped) = f"pythia-{size}", size.partition("-")
    return Suite(
        name,
        f"EleutherAI/{name}",
        f"Pythia {plain.upper()}" + ", deduplicated corpus" * bool(deduped),
        PYTHIA_STEPS,
        _CAUTIONS.get(name, ""),
        PYTHIA_SIZES[plain],
    )
