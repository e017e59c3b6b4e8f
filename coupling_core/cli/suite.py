"""`coupling suite`: the training runs whose checkpoints can be measured."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from coupling_core.base.errors import ComputeError
from coupling_core.base.units import size as in_words
from coupling_core.cli import completing, options
from coupling_core.cli.terminal import print_lines, print_table, warn
from coupling_core.cli.train import new, train
from coupling_core.sources import hub
from coupling_core.sources.suites import Suite, find_suite, revision, suites
from coupling_core.store.disk import Store

app = typer.Typer(help="List and make suites of checkpoints.", no_args_is_help=True)
app.command()(train)
app.command()(new)

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
    identities = (entry.identity for entry in Store(report.store).entries())
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
    names = ("name", "repo", "title", "steps")
    return {
        **{name: getattr(suite, name) for name in names},
        "here": suite.here(),
        "stored": [s for s in suite.known() if results[suite.repo, commits[revision(s)]]],
        "size": hub.cache.size(suite.repo),
        "checkpoint_bytes": suite.checkpoint_bytes,
        "caution": suite.caution,
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
    first = ("suite", "what it is", "steps", "weights here")
    rows = [
        (
            one["name"],
            one["title"] + " (*)" * bool(one["caution"]),
            f"{len(steps := one['steps'])}, {steps[0]} to {steps[-1]}",
            *(_of(one[some], steps) for some in ("here", "stored")),
            *(in_words(one[of]) if one[of] else "" for of in ("size", "checkpoint_bytes")),
        )
        for one in every
    ]
    print_table((*first, "results stored", "on this disk", "to fetch a step"), rows)
    print_lines("(*) Read `coupling suite list SUITE` before it is fetched or trusted.")


def _of(some: Sequence[int], every: Sequence[int]) -> str:
    if len(some) in (0, len(every)):
        return "all" if some else "none"
    return f"{len(some)} of {len(every)}"


def _show_one(one: dict[str, Any]) -> None:
    repo, checkpoints = one["repo"], one["checkpoints"]
    print_lines(f"{one['title']}: --suite {one['name']}, or --model {repo} --revision STEP")
    if one["caution"]:
        warn(one["caution"])
    titles = dict.fromkeys(("step", "revision", "commit", "weights", "results stored"), "")
    shorter = ({"commit": of["commit"][:12], "results": of["results"] or ""} for of in checkpoints)
    rows = [[*(of | short).values()] for of, short in zip(checkpoints, shorter, strict=True)]
    print_table(titles | {"held-out loss": ".3f"}, rows)
    if any(of["weights"] == "not made" for of in checkpoints):
        print_lines(f"Not on this disk: {hub.cache.whence(repo)}.")
