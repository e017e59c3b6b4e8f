"""`coupling models`: which models and revisions are at hand, and converting one ahead of time."""

from dataclasses import dataclass
from typing import Annotated

import typer

from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.units import size as in_words
from coupling_core.cli import completing, options
from coupling_core.cli.terminal import print_lines, print_records, say, warn
from coupling_core.sources import hub
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.hub.nearest import told
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import suites


@dataclass(frozen=True)
class Listed:
    """A model that `--model` takes, with its bytes on this disk and the revisions that are here."""

    model: str
    name: str
    state: str
    size: int
    remedy: str = ""
    revisions: tuple[str, ...] = ()

    @property
    def row(self) -> dict[str, object]:
        """Its line in the table."""
        return vars(self) | {"size": in_words(self.size), "revisions": told(self.revisions)}


def models(
    *,
    prepare: Annotated[
        str | None,
        typer.Option(metavar="ALIAS", help="Convert its weights now, once, for fast loads."),
    ] = None,
    revisions: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="List the revisions of a hub model instead."),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Say what a model is, before any weight is loaded."),
    ] = None,
    revision: options.Revision = None,
    report: options.Printing,
) -> None:
    """List the models that are at hand."""
    if probe is not None:
        _probe(Request("-", model=probe, revision=revision), report)
    elif revision is not None:
        raise InputError("--revision goes with --probe MODEL: give both, or neither")
    elif revisions is not None:
        _list_revisions(revisions, report)
    elif prepare is not None:
        _prepare(prepare)
    else:
        every = [_alias(name) if name in ALIASES else _kept(name) for name in completing.models()]
        report.tell(lambda: every, lambda: print_records(one.row for one in every))
        if not report.as_json:
            print_lines(
                "Any hub id, folder with config.json and safetensors, or .gguf file works too.",
                "Steps of training runs: coupling suite list.",
            )


def _prepare(model: str) -> None:
    source = locate(Request("-", model=model))
    if source.kind != "gguf":
        print_lines(f"{source.name} needs no conversion")
        return
    from coupling_core.engine.loading import prepare  # torch

    print_lines(f"{source.name} is ready in {prepare(model, lambda progress: say(progress.note))}")
    if model in ALIASES and (terms := ALIASES[model].terms):
        print_lines(f"Its use is subject to the {terms}.")


def _probe(request: Request, report: options.Printing) -> None:
    from coupling_core.measuring.probe import probe  # torch

    found = probe(resolve(request))
    width = max(len(name) for name, _ in found.facts())
    lines = [found.name, *(f"{name:{width}}  {text}" for name, text in found.facts())]
    report.tell(lambda: found, lambda: print_lines(*lines))


def _list_revisions(repo: str, report: options.Printing) -> None:
    found = hub.revisions(repo)
    if not hub.cache.is_own(repo) and not any(revision.upstream for revision in found):
        warn(f"the hub was not asked or did not answer: these are the cached revisions of {repo}")
    report.tell(lambda: found, lambda: print_records(found))


def _alias(alias: str) -> Listed:
    source, shipped = locate(Request("-", model=alias)), ALIASES[alias]
    if not shipped.is_installed:
        return Listed(alias, source.name, "not installed", 0, shipped.install)
    folder = source.kind == "folder"
    files = shipped.place.glob("*.safetensors") if folder else shipped.files
    size = sum(file.stat().st_size for file in files)
    if source.is_converted:
        return Listed(alias, source.name, "ready", size)
    remedy = f"at first use, or by coupling models --prepare {alias}"
    return Listed(alias, source.name, "not converted", size, remedy)


def _kept(repo: str) -> Listed:
    """A repository of the hub's cache, or a training run of this disk."""
    here, size = tuple(hub.cached(repo)), hub.cache.size(repo)
    if not hub.cache.is_own(repo):
        return Listed(repo, repo.rpartition("/")[2], "in the hub cache", size, revisions=here)
    (suite,) = (suite for suite in suites().values() if suite.repo == repo)
    if here:
        return Listed(repo, suite.title, "on this disk", size, revisions=here)
    remedy = "" if suite.is_watched else hub.cache.made_by(repo)
    return Listed(repo, suite.title, "not made", size, remedy)
