"""Measure what lacks of `cache/effects`, which `coupling_core.experiments.effects` reads."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer

from coupling_core.analysis.effect_study import ARRAYS, EffectStudy, study_of
from coupling_core.base.edits import every_edit
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.folders import SWEEPS
from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, WhatIfResult
from coupling_core.base.writing import write_whole
from coupling_core.cli.terminal import warn
from coupling_core.experiments.effects import CONTINUATIONS, Subject, subjects
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.measuring.measure import measure
from coupling_core.measuring.one_edit import continuations
from coupling_core.store.disk import Store
from studies.command import run

PROMPTS = 40
"""Fewer overstate coupling: see the page Method."""
BLOCKS = 30
"""Of the default model."""


def effects(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The store of what is measured on the way.")
    ],
) -> None:
    """Measure coupling and the effects of edits, as far as they lack in cache/effects."""
    _build(folder)
    if not CONTINUATIONS.is_file():
        _build_continuations()


def prompts() -> tuple[str, ...]:
    """The shortest of those that ship, in the order in which they stand there."""
    lines = (SWEEPS / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [str(json.loads(line)["prompt"]) for line in lines]
    short = sorted(sorted(range(len(texts)), key=lambda at: len(texts[at]))[:PROMPTS])
    return tuple(texts[at] for at in short)


def _build(folder: Path) -> None:
    """Measure whatever lacks, and write each study once all its prompts are there.

    What cannot be measured here, such as a step whose weights are not made, is told and left out.
    """
    for subject in subjects():
        if subject.file.is_file():
            continue
        try:
            _write(study_of(_measured(subject, folder), subject.k), subject.file)
        except (InputError, ComputeError) as error:
            warn(f"{subject.file.name} is left out: {error}")


def _build_continuations() -> None:
    """Let the default model go on with the first prompt, each two of its blocks interchanged."""
    request = Request(EXAMPLES[0])
    edits = [str(one) for one in every_edit(BLOCKS) if one.verb == "interchange"]
    found = continuations(request, ("none", *edits))
    told = {
        one.edit: ([(text, round(share, 4)) for text, share in one.likeliest], one.continuation)
        for one in found
    }
    write_whole(CONTINUATIONS, json.dumps(told, ensure_ascii=False, indent=0).encode())


def _measured(subject: Subject, folder: Path) -> Iterator[tuple[DepthResult, WhatIfResult]]:
    store = Store(folder)
    for prompt in prompts():
        depth = subject.request(prompt)
        found = measure(depth, store), measure(depth.of_kind("what-if"), store)
        yield cast(DepthResult, found[0]), cast(WhatIfResult, found[1])


def _write(study: EffectStudy, path: Path) -> None:
    """Write a study, whole or not at all."""
    data = io.BytesIO()
    named = {name: getattr(study, name) for name in ARRAYS}
    np.savez_compressed(data, prompts=np.array(study.prompts), k=np.array(study.k), **named)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data.getvalue())


if __name__ == "__main__":
    run(effects)
