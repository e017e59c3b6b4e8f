"""`coupling jobs`: what running apps measure at this moment, and a way to end it."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from coupling_core.base.errors import InputError
from coupling_core.base.units import duration
from coupling_core.cli import options
from coupling_core.cli.terminal import print_json, print_lines, print_table
from coupling_core.serving import desk
from coupling_core.store.disk import Store


def jobs(
    *,
    end: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A job to end, named by the first letters of its key."),
    ] = None,
    report: options.Report,
) -> None:
    """List the jobs of the apps that run with this store, or end some of them."""
    root = Store(report.store).root
    found = desk.jobs(root)
    if end:
        for key in [_resolve(found, text) for text in end]:
            desk.end(root, key)
            print_lines(f"{key}  ended")
    elif report.as_json:
        print_json(found)
    elif found:
        print_table(("key", "state", "for", "done", "model", "kind", "whose"), map(_row, found))
    else:
        print_lines("nothing is being measured")


def _resolve(found: list[Mapping[str, Any]], text: str) -> str:
    """The one key that begins so."""
    keys = sorted({row["key"] for row in found if row["key"].startswith(text)})
    if len(keys) != 1:
        what = f"begins {len(keys)} keys: give more letters" if keys else "is not a job under way"
        raise InputError(f"{text!r} {what}; `coupling jobs` lists all jobs")
    return str(keys[0])


def _row(job: Mapping[str, Any]) -> tuple[str, ...]:
    revision = f"@{job['revision']}" if job["revision"] else ""
    is_queued = job["state"] == "queued"
    return (
        job["key"],
        f"queued, {job['place']}" if is_queued else job["state"],
        "" if is_queued else duration(job["seconds"]),
        f"{job['stage']} {job['done']}/{job['total']}" if job["total"] else job["stage"],
        job["model"] + revision,
        job["kind"],
        " ".join(job["whose"]),
    )
