"""From a source to its prompts, and the record of where they came from."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from coupling_core.base.errors import InputError
from coupling_core.base.textfiles import legible
from coupling_core.sources.prompts import fetching, pools
from coupling_core.sources.prompts.benchmarks import Benchmark
from coupling_core.sources.prompts.drawing import draw
from coupling_core.sources.prompts.files import files_of, read_file
from coupling_core.sources.prompts.prompt import Prompt
from coupling_core.sources.prompts.source import PromptSource
from coupling_core.sources.refusals import about


@dataclass(frozen=True)
class Origin:
    """Where prompts came from: enough to get the same ones again, and to see that they are.

    Args:
        source: the name of the data set or file; "text" for a prompt of the sweep itself.
        repo: the data set's id on the hub; "" for own prompts, as are the next two.
        config: its configuration.
        split: its split.
        revision: the hub's commit; SHA-256 of the files where they were read from this disk.
        sample: how many were asked for; None for all.
        seed: of the sample.
        n: how many there are.
        sha256: of the texts in their order, as JSON.
    """

    source: str
    repo: str
    config: str
    split: str
    revision: str
    sample: int | None
    seed: int
    n: int
    sha256: str


@dataclass(frozen=True)
class Sample:
    """Prompts, and where they came from."""

    prompts: tuple[Prompt, ...]
    origin: Origin


def load(source: PromptSource) -> Sample:
    """The prompts of a source: a sample in the order of its ranks, or all in their own order.

    Rows of a data set with the same text are one prompt: twins of Winogrande begin alike.

    Raises:
        InputError: where the source is not as expected, or has fewer prompts than the sample.
        ComputeError: where the hub does not give the data set.
    """
    repo = config = split = revision = ""
    if source.text is not None:
        name, pool = "text", [Prompt(source.text, "text", 1)]
    elif source.file is not None:
        name, pool = legible(source.file.name), read_file(source.file)
        revision = fetching.fingerprint(files_of(source.file))
    else:
        name, benchmark = str(source.dataset), source.benchmark
        repo = benchmark.repo
        config, split = source.config or benchmark.config, source.split or benchmark.split
        pool, revision = _pool(source, name, config, split)
    if source.sample is not None and source.sample > len(pool):
        raise InputError(
            f"prompts: sample = {source.sample} of {name}, which has {len(pool)} prompts: give at "
            "most as many, or leave sample out for all of them"
        )
    chosen = pool if source.sample is None else draw(pool, source.sample, source.seed)
    texts = json.dumps([prompt.text for prompt in chosen])
    origin = Origin(
        source=name,
        repo=repo,
        config=config,
        split=split,
        revision=revision,
        sample=source.sample,
        seed=source.seed,
        n=len(chosen),
        sha256=hashlib.sha256(texts.encode()).hexdigest(),
    )
    return Sample(tuple(chosen), origin)


def _pool(source: PromptSource, name: str, config: str, split: str) -> tuple[list[Prompt], str]:
    """All prompts of a split and what they are of: as they are kept, or from their rows."""
    if source.folder is None:
        found: list[Path] = []
        names = (name, config, split, source.revision or "main")
    else:
        found = fetching.find_files(source, config, split)
        names = (name, config, split, fetching.fingerprint(found))
    if (kept := pools.kept(names)) is not None:
        return kept
    if found:
        rows, revision = fetching.from_folder(source, found, config), names[-1]
    else:
        rows, revision = fetching.from_hub(source, config, split)
    pool = _prompts(rows, name, config, source.benchmark)
    if not pool:
        raise InputError(f"prompts: {name} ({config}, {split}) has no row that makes a prompt")
    pools.keep(names, pool, revision)
    return pool, revision


def _prompts(rows: fetching.Rows, name: str, config: str, benchmark: Benchmark) -> list[Prompt]:
    """The prompts of rows in their order; of those with one text, the first."""
    form = benchmark.forms[config]
    found: dict[str, Prompt] = {}
    for index, row in enumerate(rows):
        text = form.prompt(str(row[form.column] or ""))
        if not text or text in found:
            continue
        category = row[form.category] if form.category else config * (len(benchmark.forms) > 1)
        difficulty = row[form.difficulty] if form.difficulty else None
        if difficulty != difficulty:  # NaN: a table's way to say that there is none
            difficulty = None
        fields = {"prompt": text, "category": str(category or ""), "difficulty": difficulty}
        with about(f"prompts: {name} ({config}), row {index}"):
            found[text] = Prompt.of(fields, name, index)
    return list(found.values())
