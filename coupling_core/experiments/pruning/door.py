"""prune(...): blocks ranked on some texts, and what leaving them out costs on the others."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from coupling_core.analysis.pruning.prices import Cut
from coupling_core.analysis.pruning.rankings import RANKINGS, Ranking, split
from coupling_core.base.edits import Removal
from coupling_core.base.errors import InputError
from coupling_core.base.folders import SWEEPS, expanded
from coupling_core.base.installed import NAME, this
from coupling_core.base.records import DEFAULT_MODEL, Dtype, Request
from coupling_core.base.results import DepthResult, Progress
from coupling_core.base.textfiles import legible
from coupling_core.engine import hardware, loading
from coupling_core.engine.loading import find_blocks
from coupling_core.experiments.pruning import estimate
from coupling_core.experiments.pruning.plan import Pruning
from coupling_core.experiments.pruning.ranking import Ranked, Ranker, rounds
from coupling_core.experiments.pruning.readings import Readings, Subject
from coupling_core.measuring.asked import is_named
from coupling_core.measuring.cost import machine_rates
from coupling_core.measuring.front import UNSAID, Shelf, shelf
from coupling_core.measuring.measure import asked_of, measure
from coupling_core.measuring.probe import probe
from coupling_core.sources.prompts import read_file
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

SHIPPED_TEXTS = SWEEPS / "prompts.jsonl"
"""The texts that come with the program."""
FEWEST = 6
"""Texts: two to rank on, four to judge on."""
REMOVED = tuple(range(1, 9))
"""How many blocks go, unless told."""

Told = Callable[[int, int, str], None]
"""Told how many texts are read, of how many, and what for."""


def prune(
    model: Any = DEFAULT_MODEL,
    texts: Sequence[str] | os.PathLike[str] | None = None,
    *,
    by: Ranking | Sequence[Ranking] = RANKINGS,
    remove: int | Sequence[int] = REMOVED,
    tokenizer: Any = None,
    revision: str | None = None,
    untrained: int | None = None,
    dtype: Dtype = "float32",
    store: Shelf | Any = UNSAID,
    device: Any = None,
    progress: Told | None = None,
) -> Pruning:
    """Rank a model's blocks, and see what leaving out the first of each ranking costs.

    Of the texts, the first, the fourth, the seventh and so on rank the blocks; the others judge:
    their loss is what is told. Nothing is trained after blocks are gone.

    Args:
        model: a name or a path as `measure` takes it, or a module of your own: a causal language
            model of transformers.
        texts: at least six, in a list or a file as `--texts` takes it; None takes the 60 that come
            with the program.
        by: rankings, one or several of `coupling`, `influence`, `angle`, `kl`, `last`, `random`
            (see `analysis.pruning.rankings`).
        remove: how many blocks go, one number or several.
        tokenizer: that of a module of your own.
        revision: branch, tag or commit on the hub.
        untrained: the seed of an untrained twin, which is pruned in place of the model.
        dtype: what the weights are rounded to.
        store: where the coupling of the blocks, which the ranking `coupling` rests on, is looked
            for and kept: a `Store`, its folder, or None; by default that of the command line.
        device: where to compute; None takes CUDA where there is one.
        progress: told how many texts are read, of how many, and what for; an exception that it
            raises stops.

    Returns:
        the sets of blocks with their prices, to be drawn, and saved as shorter models.

    Raises:
        InputError: where the model cannot be shortened, texts are too few or too short, or more
            blocks are to go than it has.
        ComputeError: where the computing fails.
    """
    names, removed = _rankings(by), _removed(remove)
    given, source = _texts(texts)
    named = is_named(model)
    request = Request(
        given[0],
        model=str(model) if named else Request.model,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
    )
    kept = (Store() if named else None) if store is UNSAID else shelf(store)
    place = None if device is None else str(device)
    own = None if named else model
    subject = _subject(request, own, tokenizer, place)
    _require_blocks(len(find_blocks(subject.loaded.model)), removed)
    ranking, judging = ([given[at] for at in part] for part in split(len(given)))

    def depth(number: int) -> DepthResult:
        asked = replace(request, prompt=ranking[number])
        found = measure(asked, kept, model=own, tokenizer=tokenizer, device=place)
        return cast(DepthResult, found)

    began = time.perf_counter()
    found = _measured(subject, ranking, judging, names, removed, depth, progress or _silent)
    return replace(
        found,
        source=source,
        asked={
            "model": request.model if named else "",
            "revision": revision,
            "untrained": untrained,
            "dtype": dtype,
        },
        provenance=_provenance(subject, time.perf_counter() - began),
        module=own,
        tokenizer=tokenizer,
    )


def expected(
    request: Request,
    texts: Sequence[str] | os.PathLike[str] | None,
    by: Sequence[Ranking],
    remove: Sequence[int],
) -> float | None:
    """Seconds that it takes on this processor, without the coupling; None where nothing tells."""
    (given, _), by = _texts(texts), _rankings(by)
    asked = resolve(replace(request, prompt=given[0]))
    found = probe(asked, rehearse=False)
    if found.refusal or not found.blocks:
        return None
    _require_blocks(found.blocks, remove)
    counts = [
        replace(asked, request=replace(asked.request, prompt=text)).n_tokens for text in given
    ]
    ranking, judging = (sum(counts[at] for at in part) for part in split(len(given)))
    rate = machine_rates().own
    return estimate.seconds(found, by, remove, (ranking, judging), rate)


def _measured(
    subject: Subject,
    ranking: Sequence[str],
    judging: Sequence[str],
    by: Sequence[Ranking],
    removed: Sequence[int],
    depth: Callable[[int], DepthResult],
    progress: Told,
) -> Pruning:
    total, done = rounds(by, removed, len(ranking)) + len(judging), 0

    def told(what: str) -> None:
        nonlocal done
        done += 1
        progress(done, total, what)

    blocks = find_blocks(subject.loaded.model)
    readings = Readings(subject, ranking)
    ranker = Ranker(readings, depth, len(blocks), removed, told)
    with subject.ready():
        if why := readings[0].obstacle():
            raise InputError(f"the model's blocks cannot be left out: {why}")
        ranked: dict[Ranking, Ranked] = {
            name: ranker.ranked(name) for name in by if name != "coupling"
        }
    if "coupling" in by:  # it makes the model ready by itself
        ranked["coupling"] = ranker.ranked("coupling")
    with subject.ready():
        cuts, predicted, own = _judged(subject, judging, ranked, by, removed, told)
    return Pruning(
        model=subject.name,
        asked={},
        digest=str(subject.asked.identity.get("digest", "")),
        parameters=subject.loaded.parameters,
        block_parameters=tuple(sum(p.numel() for p in block.parameters()) for block in blocks),
        source="",
        ranked_on=tuple(ranking),
        judged_on=tuple(judging),
        predicted=predicted,
        own_loss=own,
        cuts=cuts,
        by_block={name: ranked[name].by_block for name in by if ranked[name].by_block},
    )


def _judged(
    subject: Subject,
    texts: Sequence[str],
    ranked: dict[Ranking, Ranked],
    by: Sequence[Ranking],
    removed: Sequence[int],
    told: Callable[[str], None],
) -> tuple[tuple[Cut, ...], tuple[int, ...], tuple[float, ...]]:
    """Every set of blocks on every text that judges, left out; those not drawn also tied."""
    labels = [
        (name, draw if name == "random" else 0, blocks)
        for name in by
        for n in removed
        for draw, blocks in enumerate(ranked[name].sets[n], 1)
    ]
    named = [blocks for name, _, blocks in labels if name != "random"]
    removals = [
        *dict.fromkeys(Removal(blocks) for _, _, blocks in labels),
        *dict.fromkeys(Removal(blocks, tied=True) for blocks in named),
    ]
    losses: list[list[float]] = []
    predicted, own = [], []
    for number, each in enumerate(texts):
        text = subject.read(each)
        losses.append(text.judged(removals).loss.tolist())
        predicted.append(text.predicted)
        own.append(text.own_loss)
        told(f"judging, text {number + 1} of {len(texts)}")
    sums = {
        removal: tuple(of_text[at] for of_text in losses) for at, removal in enumerate(removals)
    }

    def cut(name: Ranking, draw: int, blocks: tuple[int, ...]) -> Cut:
        tied = () if name == "random" else sums[Removal(blocks, tied=True)]
        return Cut(name, draw, blocks, sums[Removal(blocks)], tied)

    cuts = tuple(cut(*label) for label in labels)
    return cuts, tuple(predicted), tuple(own)


def _rankings(by: Ranking | Sequence[Ranking]) -> tuple[Ranking, ...]:
    names: tuple[Ranking, ...] = (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))
    wrong = [name for name in names if name not in RANKINGS]
    if wrong or not names:
        came = repr(wrong[0]) if wrong else "none"
        raise InputError(f"rankings are {', '.join(RANKINGS)}, and {came} came")
    return names


def _removed(remove: int | Sequence[int]) -> tuple[int, ...]:
    numbers = (remove,) if isinstance(remove, int) else tuple(sorted(set(remove)))
    if not numbers or numbers[0] < 1:
        raise InputError(f"the number of blocks to remove is 1 or more, and {remove!r} came")
    return numbers


def _texts(texts: Sequence[str] | os.PathLike[str] | None) -> tuple[list[str], str]:
    """The texts, each once, and where they come from."""
    source = "texts of one's own"
    if texts is None:
        texts = [prompt.text for prompt in read_file(SHIPPED_TEXTS)]
        source = f"the {len(texts)} texts that come with the program"
    if isinstance(texts, os.PathLike):
        source = f"texts of {legible(Path(texts).name)}"
        texts = [prompt.text for prompt in read_file(expanded(texts))]
    found = [texts] if isinstance(texts, str) else list(dict.fromkeys(texts))
    if len(found) < FEWEST:
        raise InputError(
            f"{len(found)} different texts came, and a list of at least {FEWEST} is needed: a "
            "third of them ranks the blocks, and the others judge"
        )
    return found, source


def _subject(request: Request, own: Any, tokenizer: Any, device: str | None) -> Subject:
    asked, loaded = asked_of(request, own, tokenizer)
    loaded = loaded or loading.load(asked, device, _ignored)
    loading.require_shortenable(loaded.model)
    return Subject(asked, loaded)


def _require_blocks(L: int, removed: Sequence[int]) -> None:
    if removed[-1] >= L:
        raise InputError(
            f"{removed[-1]} blocks are to go, and the model has {L}: at least one has to stay"
        )


def _provenance(subject: Subject, took: float) -> dict[str, Any]:
    return {
        "device": hardware.device_name(subject.loaded.device),
        "processor": hardware.instructions(),
        "threads": hardware.threads(),
        "seconds": round(took, 1),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": hardware.versions() | {NAME: this().version},
    }


def _silent(done: int, total: int, what: str) -> None:
    pass


def _ignored(progress: Progress) -> None:
    pass
