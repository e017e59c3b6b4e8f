"""Coupling against the effect of edits over many prompts, as it ships.

`studies/effects` measures it.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from coupling_core.analysis.effect_study import ARRAYS, EffectStudy
from coupling_core.base.folders import SHIPPED
from coupling_core.base.reading import read_bytes
from coupling_core.base.records import DEFAULT_K, DEFAULT_MODEL, Request
from coupling_core.experiments.gallery import EXAMPLES, MODELS, UNTRAINED_SEED
from coupling_core.measuring.one_edit import Said
from coupling_core.sources.suites import MINI_STEPS, find_suite, revision

FOLDER = SHIPPED / "effects"
MINI_K = 8
"""Of models of 64 dimensions."""
MINI = ("mini-64", "mini-64-sd")
"""Suites whose weights come with the program."""
CONTINUATIONS = FOLDER / "continuations.json"
"""What the default model says after the gallery's first prompt, by edit."""
LARGEST = 2**24
"""Bytes of a file."""


@dataclass(frozen=True)
class Subject:
    """A model whose study ships.

    Args:
        model: as a request names it.
        revision: of it; None is its only one.
        untrained: seed of the twin; None is the trained model.
        k: of the coupling.
    """

    model: str = DEFAULT_MODEL
    revision: str | None = None
    untrained: int | None = None
    k: int = DEFAULT_K

    @property
    def file(self) -> Path:
        """Of its study."""
        name = self.model.rpartition("/")[2]
        kind = self.revision or ("trained" if self.untrained is None else "untrained")
        return FOLDER / f"{name}-{kind}.npz"

    def request(self, prompt: str) -> Request:
        """For the coupling of a prompt."""
        return Request(
            prompt, model=self.model, revision=self.revision, untrained=self.untrained, k=self.k,
            k_view=1,
        )  # fmt: skip


def subjects() -> list[Subject]:
    """The default model, its untrained twin and a second one, then each step of mini suites."""
    of_steps = [
        Subject(find_suite(name).repo, revision(step), k=MINI_K)
        for name in MINI
        for step in MINI_STEPS
    ]
    return [Subject(), Subject(untrained=UNTRAINED_SEED), Subject(MODELS[1]), *of_steps]


def subject_of(request: Request) -> Subject | None:
    """Whose study a request asks for; None where none could ship."""
    plain = (request.dtype, request.quantize) == (Request.dtype, Request.quantize)
    named = (request.model, request.revision, request.untrained)
    every = {(one.model, one.revision, one.untrained): one for one in subjects()}
    return every.get(named) if plain else None


def twin_of(subject: Subject) -> Subject | None:
    """The untrained twin of a subject, or the trained one; None where neither ships."""
    if subject.revision:
        return None
    return replace(subject, untrained=UNTRAINED_SEED if subject.untrained is None else None)


def steps_of(suite: str) -> dict[int, EffectStudy]:
    """The studies of a mini suite that ship, by training step."""
    repo = find_suite(suite).repo
    found = {step: shipped(Subject(repo, revision(step), k=MINI_K)) for step in MINI_STEPS}
    return {step: one for step, one in found.items() if one is not None}


@lru_cache(maxsize=64)
def shipped(subject: Subject) -> EffectStudy | None:
    """The study of a model; None where none ships."""
    if not subject.file.is_file():
        return None
    with np.load(io.BytesIO(read_bytes(subject.file, LARGEST)), allow_pickle=False) as found:
        named = {name: found[name] for name in ARRAYS}
        return EffectStudy(tuple(found["prompts"].tolist()), int(found["k"]), **named)


def stored_continuations(request: Request, edits: Sequence[str]) -> tuple[Said, ...] | None:
    """What a model says under edits, as far as it ships; None where that of one does not."""
    if request.of_kind("depth") != Request(EXAMPLES[0]):
        return None
    known = _continuations()
    return tuple(known[edit] for edit in edits) if known.keys() >= set(edits) else None


@lru_cache(maxsize=1)
def _continuations() -> dict[str, Said]:
    """By edit, of the first prompt."""
    if not CONTINUATIONS.is_file():
        return {}
    found = json.loads(read_bytes(CONTINUATIONS, LARGEST))
    return {
        edit: Said(edit, tuple((text, share) for text, share in likeliest), continuation)
        for edit, (likeliest, continuation) in found.items()
    }
