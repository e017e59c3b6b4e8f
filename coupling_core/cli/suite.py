"""`coupling suite`: training runs whose checkpoints can be measured, and small ones of your own."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupling_core.base.errors import ComputeError
from coupling_core.base.records import Goal
from coupling_core.base.units import size as in_words
from coupling_core.cli import completing, options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import print_lines, print_records, progress_bar, warn
from coupling_core.experiments.own.plans import (
    BLOCKS,
    DROPPED,
    RATES,
    WIDTHS,
    OwnPlan,
    goal_of,
)
from coupling_core.sources import hub
from coupling_core.sources.suites import Suite, find_suite, revision, suites

if TYPE_CHECKING:  # torch
    from coupling_core.experiments.own.training import Standing

app = typer.Typer(help="List suites of checkpoints, and train small ones.", no_args_is_help=True)

Counts = Counter[tuple[str, str]]
"""How many results there are of each hub id and commit."""


@app.command("list")
def list_(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            help="A suite, to list its steps; all suites by default.",
            autocompletion=completing.runs,
        ),
    ] = None,
    report: options.Report,
) -> None:
    """List the suites, or the steps of one: what is here, what is stored, what is missing."""
    identities = (entry.identity for entry in report.shelf.entries())
    results = Counter((str(of.get("id", "")), str(of.get("digest", ""))) for of in identities)
    if name is None:
        every = [_listed(suite, results) for suite in suites().values()]
        report.tell(lambda: every, lambda: _show_all(every))
    else:
        suite = find_suite(name)
        one = _listed(suite, results) | {"checkpoints": _checkpoints(suite, results)}
        report.tell(lambda: one, lambda: _show_one(one))


def _listed(suite: Suite, results: Counts) -> dict[str, Any]:
    """A suite, and what there is of it: steps with weights here, steps with results, bytes."""
    commits = hub.cache.refs(suite.repo)
    names = ("name", "repo", "title", "steps", "checkpoint_bytes", "caution")
    return {
        **{name: getattr(suite, name) for name in names},
        "here": suite.here(),
        "stored": [s for s in suite.known() if results[suite.repo, commits[revision(s)]]],
        "size": hub.cache.size(suite.repo),
    }


def _checkpoints(suite: Suite, results: Counts) -> list[dict[str, Any]]:
    """The steps of a suite, with where the weights of each are and how many results."""
    try:
        found = {one.name: one for one in hub.revisions(suite.repo)}
    except ComputeError:
        found = {}
    asked = any(one.upstream for one in found.values())
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
        {
            "step": step,
            "revision": revision(step),
            "commit": (commit := commits.get(revision(step), "")),
            "weights": weights(step),
            "results": results[suite.repo, commit],
            "held_out": losses.get(step),
        }
        for step in suite.steps
    ]


def _show_all(every: Sequence[dict[str, Any]]) -> None:
    print_records(
        {
            "suite": one["name"],
            "what it is": one["title"] + " (*)" * bool(one["caution"]),
            "steps": len(one["steps"]),
            "to": one["steps"][-1],
            "weights here": len(one["here"]),
            "results stored": len(one["stored"]),
            "on this disk": in_words(one["size"]),
            "to fetch a step": in_words(one["checkpoint_bytes"]),
        }
        for one in every
    )
    print_lines("(*) Read `coupling suite list SUITE` before it is fetched or trusted.")


def _show_one(one: dict[str, Any]) -> None:
    repo, checkpoints = one["repo"], one["checkpoints"]
    print_lines(f"{one['title']}: --suite {one['name']}, or --model {repo} --revision STEP")
    if one["caution"]:
        warn(one["caution"])
    print_records(checkpoints)
    if any(of["weights"] == "not made" for of in checkpoints):
        print_lines(f"Not on this disk: {hub.cache.whence(repo)}.")


if TYPE_CHECKING:
    _Goal = Goal
else:  # typer takes no union
    _Goal = str


@dataclass(frozen=True)
class NewRun(OwnPlan):
    """A run that somebody asks for, its fields as options."""

    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="What to call it: small letters, digits, hyphens."),
    ]
    blocks: Annotated[
        int, typer.Option("--n-blocks", help=f"How many blocks, {BLOCKS[0]} to {BLOCKS[-1]}.")
    ] = OwnPlan.blocks
    width: Annotated[
        int, typer.Option(help=f"Width of the residual stream: {', '.join(map(str, WIDTHS))}.")
    ] = OwnPlan.width
    learning_rate: Annotated[
        float, typer.Option(help=f"The highest learning rate, {RATES[0]:g} to {RATES[1]:g}.")
    ] = OwnPlan.learning_rate
    drop_path: Annotated[
        float,
        typer.Option(
            "--drop",
            help=f"With which probability a text skips the last block, 0 to {DROPPED:g}: "
            "stochastic depth.",
        ),
    ] = OwnPlan.drop_path
    goal: Annotated[
        _Goal | None,
        typer.Option(
            parser=goal_of,
            metavar="TEXT",
            help="What a penalty does to coupling: raise, lower, or a value from -1 to 1 to hold "
            "it at; none by default.",
        ),
    ] = OwnPlan.goal
    weight: Annotated[float, typer.Option(help="Weight of the penalty in the loss.")] = (
        OwnPlan.weight
    )
    seed: Annotated[int, typer.Option(help="Random seed.")] = OwnPlan.seed


@app.command()
def new(plan: NewRun, threads: options.Threads = None, device: options.Device = None) -> None:
    """Train a small language model of your own, in a minute or two; it becomes a suite."""
    import torch

    from coupling_core.experiments.own import training

    if threads is not None:
        torch.set_num_threads(threads)
    with stopping("stopped; nothing is kept of it"), progress_bar(stays=True) as bar:

        def show(at: "Standing") -> None:
            done, corrected = at.trained, at.look.numbers["corrected"]
            words = (
                f"loss {done.loss:.3f}, held out {done.held_out:.3f}, coupling {corrected:.3f} "
                f"at step {at.look.step}"
            )
            bar.show(done.step, done.steps, words)

        folder = training.train(plan, show, device)
    print_lines(
        f"{plan.title}: ready in {folder}",
        f"`coupling training --suite {plan.name}` measures it step by step; pages know it as "
        f"{plan.name}",
    )
