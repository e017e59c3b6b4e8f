"""Where the results of a watched run are kept: as those of a suite, a revision for each step.

The folder has what the hub's cache has of a suite but its weights: `refs`, `losses.csv`, and
`watched.json` with what the run is called. The results lie in the store, under the same keys as if
the weights of each step had been measured; the page Training needs no more.
"""

import csv
import json
import logging
import re
from dataclasses import dataclass, field, replace
from hashlib import sha1
from typing import Any
from weakref import WeakValueDictionary

from coupling_core.analysis.by_step import steps_told
from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, Result, TrajectoryResult
from coupling_core.base.writing import replacing, write_whole
from coupling_core.sources import hub
from coupling_core.sources.hub.cache import OWNER, WATCHED
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import DEFAULT_K, LOSSES, find_losses, revision, step_of, suites
from coupling_core.store.disk import Store

_log = logging.getLogger(__name__)
_NAME = re.compile("[a-z0-9][a-z0-9.-]{0,63}")


def require_name(name: str) -> None:
    """Refuse what no run can be called."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise InputError(
            f"a run cannot be called {name!r}: expected small letters, digits, dots and "
            "hyphens, such as my-run-1"
        )


_begun: WeakValueDictionary[str, "Run"] = WeakValueDictionary()
"""Who writes each run, by its repository: whoever began it last in this process."""


@dataclass(eq=False)
class Run:
    """A training run that is watched.

    Args:
        name: of the suite that it becomes: small letters, digits, dots and hyphens.
        title: what it is, in words.
        store: where the results lie.
        prompts: texts or token ids that are measured at each step.
        k: at which it is watched.

    Raises:
        InputError: where the name cannot be one, or is that of a suite of another kind.
    """

    name: str
    title: str
    store: Store
    prompts: tuple[Any, ...] = ()
    k: int = DEFAULT_K
    _losses: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_name(self.name)
        known = suites().get(self.name)
        if known and not known.is_watched:
            raise InputError(f"{self.name!r} is a suite of its own: give the run another name")

    @property
    def repo(self) -> str:
        """What `--model` takes."""
        return f"{OWNER}/{self.name}"

    def begin(self, step: int) -> None:
        """Make its folder, or go on in the one that a run of this name has.

        What that has of this step and of later ones is no longer found, so that a training which
        goes on where it was stopped keeps its beginning. One whose first step is 0 or 1 begins
        anew, and keeps nothing.
        """
        folder = hub.cache.trained_here(self.repo)
        first = 0 if step <= 1 else step
        refs = {step_of(ref.name): ref for ref in (folder / "refs").glob("step*")}
        gone = {
            number: ref for number, ref in refs.items() if number is not None and number >= first
        }
        if gone:
            _log.warning(
                "the run %s is there already: what it has of %s is replaced by this training's; "
                "another name would keep it",
                self.name,
                steps_told(sorted(gone)),
            )
        for ref in gone.values():
            ref.unlink(missing_ok=True)
        _begun[self.repo] = self
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        known = find_losses(folder / LOSSES)
        self._losses = {number: loss for number, loss in known.items() if number < first}
        self._write_losses()
        told = {"title": self.title, "prompts": self.prompts, "k": self.k}
        write_whole(folder / WATCHED, json.dumps(told).encode())

    def keep(self, step: int, depth: DepthResult, paths: TrajectoryResult) -> None:
        """Put the results of a prompt at a step into the store."""
        if _begun.get(self.repo) is not self:
            raise InputError(
                f"another callback has begun the run {self.name} since: give each a name of its own"
            )
        ref = hub.cache.trained_here(self.repo) / "refs" / revision(step)
        if not ref.is_file():
            told = f"{self.name} {step} ".encode() + depth.singular_values.tobytes()
            write_whole(ref, sha1(told, usedforsecurity=False).hexdigest().encode())
        asked = Request(depth.request.prompt, model=self.repo, revision=revision(step), k=DEFAULT_K)
        self._put(depth, replace(asked, k_view=depth.request.k_view))
        self._put(paths, asked.of_kind("trajectory"))

    def _put(self, result: Result, asked: Request) -> None:
        identity = resolve(asked).identity
        kept = replace(result, request=asked, identity=identity, key="")
        self.store.put(replace(kept, key=self.store.key(asked, identity)))

    def note_loss(self, step: int, loss: float) -> None:
        """Note a held-out loss, in nats a token, which a step that was measured shows."""
        self._losses[step] = loss
        self._write_losses()

    def has(self, step: int) -> bool:
        """Whether results of a step are kept."""
        return (hub.cache.trained_here(self.repo) / "refs" / revision(step)).is_file()

    def _write_losses(self) -> None:
        path = hub.cache.trained_here(self.repo) / LOSSES
        with replacing(path) as new, new.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("step", "train", "held_out"))
            table.writerows((s, "", f"{value:.5f}") for s, value in sorted(self._losses.items()))
