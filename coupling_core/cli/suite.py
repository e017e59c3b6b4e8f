"""`coupling suite`: the training runs whose checkpoints can be measured."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from coupling_core.base.errors import ComputeError
from coupling_core.base.units import size as in_words
from coupling_core.cli import completing, options
from coupling_core.cli.terminal import print_json, print_lines, print_table, warn
from coupling_core.cli.train import new, train
from coupling_core.sources import hub
from coupling_core.sources.suites import Suite, find_suite, revision, suites
from coupling_core.store.disk import Store

app = typer.Typer(help="List and make suites of checkpoints.", no_args_is_help=True)
app.command()(train)
app.command()(new)


@dataclass(frozen=True)
class Listed:
    """A suite, and what there is of it.

    Args:
        name: what `coupling training --suite` takes.
        repo: what `--model` takes, with a step as `--revision`.
        title: what it is.
        steps: of all its checkpoints.
        here: steps whose weights are on this disk.
        stored: steps of which at least one result is stored.
        size: bytes that it takes on this disk, results apart.
        checkpoint_bytes: about how much the hub has to send for a step; 0 where there is no hub.
        caution: what people should know of it.
    """

    name: str
    repo: str
    title: str
    steps: tuple[int, ...]
    here: tuple[int, ...]
    stored: tuple[int, ...]
    size: int
    checkpoint_bytes: int
    caution: str


@dataclass(frozen=True)
class Checkpoint:
    """A step of a suite.

    Args:
        step: of the optimiser.
        revision: what `--revision` takes.
        commit: what it stands for; "" where that is not known without asking the hub.
        weights: "here", "on the hub", "missing on the hub", "not made", or "not known" where the
            hub was not asked or did not answer.
        results: how many are stored of it.
        held_out: loss in nats a token; None where none was recorded.
    """

    step: int
    revision: str
    commit: str
    weights: str
    results: int
    held_out: float | None


@app.command("list")
def list_(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A suite, to list its steps; all suites by default.",
            autocompletion=completing.runs,
        ),
    ] = None,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """List the suites, or the steps of one: what is here, what is stored, what is missing."""
    results = _results(Store(store))
    if name is None:
        _show_all([_listed(suite, results) for suite in suites().values()], as_json=as_json)
    else:
        suite = find_suite(name)
        _show_one(_listed(suite, results), _checkpoints(suite, results), as_json=as_json)


def _results(store: Store) -> Counter[tuple[str, str]]:
    """How many results there are of each hub id and commit."""
    return Counter(
        (str(entry.identity.get("id", "")), str(entry.identity.get("digest", "")))
        for entry in store.entries()
    )


def _listed(suite: Suite, results: Counter[tuple[str, str]]) -> Listed:
    commits = hub.cache.refs(suite.repo)
    stored = (step for step in suite.known() if results[suite.repo, commits[revision(step)]])
    return Listed(
        suite.name,
        suite.repo,
        suite.title,
        suite.steps,
        suite.here(),
        tuple(stored),
        hub.cache.size(suite.repo),
        suite.checkpoint_bytes,
        suite.caution,
    )


def _checkpoints(suite: Suite, results: Counter[tuple[str, str]]) -> list[Checkpoint]:
    try:
        found = {one.name: one for one in hub.revisions(suite.repo)}
        asked = any(one.upstream for one in found.values())
    except ComputeError:
        found, asked = {}, False
    if not (asked or suite.is_own):
        warn(f"the hub was not asked or did not answer: this is what this disk has of {suite.repo}")
    commits = {name: one.commit for name, one in found.items()} | hub.cache.refs(suite.repo)
    here, losses = suite.here(), suite.losses()

    def weights(step: int) -> str:
        if step in here:
            return "here"
        if suite.is_own:
            return "not made"
        if not asked:
            return "not known"
        return "on the hub" if found.get(revision(step)) else "missing on the hub"

    return [
        Checkpoint(
            step,
            revision(step),
            commit := commits.get(revision(step), ""),
            weights(step),
            results[suite.repo, commit],
            losses.get(step),
        )
        for step in suite.steps
    ]


def _show_all(listed: list[Listed], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(one) for one in listed])
        return
    print_table(
        (
            "suite",
            "what it is",
            "steps",
            "weights here",
            "results stored",
            "on this disk",
            "to fetch a step",
        ),
        [
            (
                one.name,
                one.title + " (*)" * bool(one.caution),
                f"{len(one.steps)}, {one.steps[0]} to {one.steps[-1]}",
                _of(one.here, one.steps),
                _of(one.stored, one.steps),
                in_words(one.size) if one.size else "",
                in_words(one.checkpoint_bytes) if one.checkpoint_bytes else "",
            )
            for one in listed
        ],
    )
    print_lines("(*) Read `coupling suite list SUITE` before it is fetched or trusted.")


def _of(some: tuple[int, ...], every: tuple[int, ...]) -> str:
    if len(some) in (0, len(every)):
        return "all" if some else "none"
    return f"{len(some)} of {len(every)}"


def _show_one(suite: Listed, checkpoints: list[Checkpoint], *, as_json: bool) -> None:
    if as_json:
        steps = [asdict(one) for one in checkpoints]
        print_json(asdict(suite) | {"checkpoints": steps})
        return
    print_lines(f"{suite.title}: --suite {suite.name}, or --model {suite.repo} --revision STEP")
    if suite.caution:
        warn(suite.caution)
    print_table(
        ("step", "revision", "commit", "weights", "results stored", "held-out loss"),
        [
            (
                str(one.step),
                one.revision,
                one.commit[:12],
                one.weights,
                str(one.results or ""),
                "" if one.held_out is None else f"{one.held_out:.3f}",
            )
            for one in checkpoints
        ],
    )
    if any(one.weights == "not made" for one in checkpoints):
        print_lines(f"Not on this disk: {hub.cache.whence(suite.repo)}.")
