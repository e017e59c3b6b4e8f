"""`coupling sweep`: many models with many prompts, on one machine or on many."""

import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupling_core.analysis.exports.naming import file_part
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Measure, Method, ModelSubset, Performance
from coupling_core.base.units import counted
from coupling_core.cli import files, options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import (
    CountingBar,
    print_json,
    print_lines,
    print_table,
    warn,
)
from coupling_core.store.disk import Store

if TYPE_CHECKING:
    from dask.distributed import Client
    from pandas import DataFrame

    from coupling_core.analysis.findings import Findings
    from coupling_core.experiments.sweeps import Plan, State, Status
    from coupling_core.experiments.sweeps.journal import Failure
    from coupling_core.experiments.sweeps.running import Report

app = typer.Typer(help="Measure many models with many prompts.", no_args_is_help=True)

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A TOML file, such as sweeps/mini.toml. It can do what a script can: its table slurm "
        "has commands, and any file can be named. Run none that you would not run as a script.",
    ),
]
BEGINNING = Path(__file__).with_name("sweep_to_begin_with.toml")
"""What a new sweep's file says."""
TABLES = (".csv", ".parquet")
"""Endings of a table of scores."""
TOLD = 5
"""Reasons of failures that are told."""


@app.command()
def new(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file: a .toml.")],
) -> None:
    """Write a sweep to begin with: what it measures, and in comments what else it may say."""
    if out.suffix != ".toml":
        raise InputError(f"a sweep is a .toml file, and {out.name!r} came")
    if out.exists():
        raise InputError(f"{out} is there already: give another name, or remove it first")
    files.require_writable(out, (".toml",))
    name = file_part(out.stem) or "mine"
    files.write(out, BEGINNING.read_text().replace("NAME", name).encode())
    measures = f"`coupling sweep run {shlex.quote(str(out))}` measures it"
    print_lines(f"written     {out}", f"            {measures}")


@app.command()
def run(
    file: File,
    workers: options.Workers = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running one: tcp://host:8786.")
    ] = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="In jobs of Slurm, one a worker.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many of them.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be measured.")
    ] = False,
    out: Annotated[Path | None, options.written_as(TABLES)] = None,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Measure what the store lacks of a sweep; if stopped, run it again to go on."""
    _require_one_place(workers, scheduler, slurm, jobs)
    files.require_writable(out, TABLES, as_json=as_json)
    from coupling_core.experiments import sweeps

    plan, shelf = sweeps.make(sweeps.read(file), noted=False), Store(store)
    if dry_run:
        _show_plan(plan, shelf, as_json=as_json)
        if lost := sum(bool(weights.problem) for weights in plan.weights):
            models = counted(len(plan.weights), "model")
            warn(f"{lost} of {models} cannot be measured as things are: see above why")
        return
    journal = sweeps.Journal.of(shelf, plan.id)
    if sweeps.nothing_to_do(plan, shelf):
        state = sweeps.run(plan, shelf, report=lambda _: None)
    else:
        from coupling_core.experiments.sweeps import clusters

        place: AbstractContextManager[Client]
        if slurm:
            place = clusters.slurm(plan.sweep.slurm, journal.folder, jobs)
        elif scheduler:
            place = clusters.running(scheduler)
        else:
            place = clusters.local(workers)

        def stopped() -> str:
            done = len(plan) - len(plan.missing(shelf))
            return f"stopped: {done} of {len(plan)} stored, the same command goes on"

        with stopping(stopped), CountingBar(len(plan), "starting workers") as bar, place as client:
            state = sweeps.run(plan, shelf, client, _teller(bar))
    table, left_out = sweeps.make_table(plan, shelf)
    sweeps.write_sealed(journal.table, table)
    if out is not None:
        _write_table(out, table)
    for key, why in left_out.items():
        warn(
            f"the result {key} cannot be used ({why}): run `coupling runs rm {key}`, and then the "
            "sweep again"
        )
    failures = journal.failures()
    if as_json:
        print_json(_ended(plan, state, table, failures))
    else:
        _show_ended(plan, state, len(table), failures, out or journal.table)
    # The journal has the reasons of the first thousand; the state counts them all.
    evicted = max(0, len(plan.missing(shelf)) - state.failed)
    if evicted:
        warn(
            f"{counted(evicted, 'result')} went again, since the store may be no larger: raise "
            "COUPLING_STORE_BYTES, and run the sweep again"
        )
    if lacking := state.failed + evicted:
        raise ComputeError(
            f"{lacking} of {counted(len(plan), 'measurement')} missing: "
            f"`coupling sweep status {file}` has the reasons, and running it again tries them again"
        )
    if left_out:
        raise ComputeError(
            f"{len(left_out)} of {counted(len(plan), 'result')} cannot be used: remove them as "
            "told above, and run the sweep again"
        )


@app.command()
def status(file: File, as_json: options.Json = False, store: options.StoreFolder = None) -> None:
    """Tell what is stored of a sweep, what is missing, and what failed."""
    from coupling_core.experiments import sweeps

    plan, shelf = sweeps.make(sweeps.read(file), told=False, noted=store), Store(store)
    found = sweeps.status(plan, shelf)
    if as_json:
        print_json(
            {
                "id": found.id,
                "total": found.total,
                "stored": found.stored,
                "runs": found.runs,
                "state": found.state and asdict(found.state),
                "models": [asdict(model) for model in found.models],
                "failed": [asdict(failure) for failure in found.failures],
            }
        )
    else:
        _show_counted(plan, found)
        if found.last_run:
            print_lines("", f"last run    {found.last_run}")
        _show_failures(found.failures, traces=True)
    if found.missing:
        raise ComputeError(
            f"{found.missing} of {counted(found.total, 'measurement')} missing: "
            f"`coupling sweep run {file}`"
        )


@app.command()
def report(
    file: File,
    out: Annotated[Path | None, options.written_as((".html", *TABLES))] = None,
    k: Annotated[
        float | None,
        typer.Option(help="Singular triplets counted.", show_default="the sweep's smallest"),
    ] = None,
    measure: Annotated[Measure, typer.Option(help="Of coupling.")] = "corrected",
    against: Annotated[
        Performance | None, typer.Option(help="Which performance; one that is known by default.")
    ] = None,
    subset: Annotated[ModelSubset, typer.Option(help="Of the models.")] = "all",
    method: Annotated[Method, typer.Option(help="Of correlation.")] = "pearson",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Write what a sweep says of coupling and performance, with figures; or its table of scores.

    It is NAME.html in this folder, by the sweep's name, where --out is not given. The table has
    every K that the sweep has, or the one that is asked for.
    """
    from coupling_core.experiments import sweeps

    sweep = sweeps.read(file)
    out = out or Path(f"{sweep.name}.html")
    files.require_writable(out, (".html", *TABLES), as_json=as_json)
    from coupling_core.analysis.findings import Question, find, first_question
    from coupling_core.analysis.statistics import at_k
    from coupling_core.experiments.sweeps.report import report as make_report

    plan, shelf = sweeps.make(sweep, told=False, noted=store), Store(store)
    table, _ = sweeps.make_table(plan, shelf)
    missing = len(plan) - table["key"].nunique()
    if missing:
        warn(
            f"{missing} of {counted(len(plan), 'measurement')} missing: `coupling sweep run {file}`"
        )
    if files.ending(out) in TABLES:
        only = None if k is None else int(k) if k.is_integer() else k
        _write_table(out, table if only is None else at_k(table, only))
        if not as_json and "depth" not in plan.sweep.kinds:
            print_lines(f"written     {out}")
            return
    first = first_question(table, plan.sweep.k)
    question = Question(
        first.k if k is None else k, measure, against or first.against, subset, method
    )
    found = find(table, question)
    if out.suffix == ".html":
        files.write(out, make_report(plan.described, table, question))
    if as_json:
        print_json(_answer(found, missing))
    else:
        print_lines(
            f"sweep       {plan.sweep.title or plan.sweep.name} ({plan.id})",
            f"score       {plan.sweep.definition}, role {plan.sweep.role}, final norm "
            f"{plan.sweep.final_norm}d",
            *(f"shows       {line}" for line in found.shows if line),
            *(f"but         {line}" for line in found.does_not_show if line),
            "",
        )
        _show_means(found)
        for doubt in found.doubts({}):  # what is missing is told above
            print_lines("", f"note        {doubt}")
        print_lines("", f"written     {out}")


def _show_means(found: "Findings") -> None:
    """The coupling of each model, the highest first."""
    rows = found.means.rows.sort_values("coupling", ascending=False)
    each = rows[["model", "coupling", "low", "high", "prompts"]].itertuples(index=False)
    print_table(
        ("model", found.measure, "95 % interval", "prompts"),
        [
            (
                name,
                f"{mean:z.4f}" if mean == mean else "",
                f"{low:z.4f} to {high:z.4f}" if low == low else "",
                str(n),
            )
            for name, mean, low, high, n in each
        ],
    )


def _write_table(out: Path, table: "DataFrame") -> None:
    from coupling_core.experiments import sweeps

    if out == files.STDOUT:
        files.write(out, sweeps.table_csv(table))
    else:
        sweeps.write_table(out, table)


def _answer(found: "Findings", missing: int) -> dict[str, Any]:
    """Every number of a report, ready for JSON."""
    return {
        "question": asdict(found.question),
        "missing": missing,
        "n": len(found.points),
        "correlations": {name: asdict(one) for name, one in found.correlations.items()},
        "fits": [asdict(one) for one in found.fits],
        "without": {name: asdict(one) for name, one in found.families.without.items()},
        "within": asdict(found.families.within)
        | {"over_clusters": asdict(found.families.within_families)},
        "partial": asdict(found.partial.partial)
        | {"given": found.partial.given, "over_clusters": asdict(found.partial.over_clusters)},
        "shows": found.shows,
        "does_not_show": found.does_not_show,
        "models": found.means.rows.to_dict("records"),
    }


def _require_one_place(
    workers: int | None, scheduler: str | None, slurm: bool, jobs: int | None
) -> None:
    places = {"--workers": workers, "--scheduler": scheduler, "--slurm": slurm}
    named = [name for name, value in places.items() if value]
    if len(named) > 1:
        raise InputError(f"a sweep runs in one place, and {' and '.join(named)} came: give one")
    if jobs and not slurm:
        raise InputError("--jobs are Slurm's: give --slurm too, or --workers for this machine")


def _show_plan(plan: "Plan", store: Store, *, as_json: bool) -> None:
    from coupling_core.experiments import sweeps

    found = sweeps.status(plan, store)
    if as_json:
        counts = {"id": found.id, "stored": found.stored, "missing": found.missing}
        models = [asdict(model) for model in found.models]
        print_json(plan.described | counts | {"models": models})
        return
    _show_counted(plan, found)


def _show_counted(plan: "Plan", found: "Status") -> None:
    of = f"{counted(len(plan.weights), 'model')}, {counted(len(plan.prompts), 'prompt')}"
    print_lines(
        f"sweep       {plan.sweep.title or plan.sweep.name} ({plan.id})",
        f"measures    {of}, {', '.join(plan.sweep.kinds)}; K = {', '.join(map(str, plan.sweep.k))}",
        f"stored      {found.stored} of {found.total}",
        "",
    )
    print_table(
        ("model", "stored", "of", ""),
        [(one.model, str(one.stored), str(one.total), one.problem) for one in found.models],
    )


def _ended(plan: "Plan", state: "State", table: Any, failures: list[Any]) -> dict[str, Any]:
    return {
        "id": plan.id,
        "total": len(plan),
        "stored": state.stored,
        "done": state.done,
        "failed": [asdict(failure) for failure in failures],
        "seconds": state.seconds,
        "busy_seconds": state.busy,
        "wall_seconds": state.updated - state.started,
        "rows": len(table),
    }


def _show_ended(
    plan: "Plan", state: "State", rows: int, failures: list[Any], written: Path
) -> None:
    missing = state.total - state.stored
    print_lines(
        f"sweep       {plan.sweep.title or plan.sweep.name} ({plan.id})",
        f"measured    {state.told if missing else f'all {len(plan)} were stored'}",
        f"table       {counted(rows, 'row')} in {written}",
    )
    _show_failures(failures)


def _show_failures(failures: Sequence["Failure"], *, traces: bool = False) -> None:
    from coupling_core.experiments.sweeps.journal import by_reason, told_failure

    reasons = by_reason(failures)
    for failure, n in reasons[:TOLD]:
        print_lines("", f"failed      {told_failure(failure, n)}")
        if traces and failure.trace:
            print_lines(failure.trace.rstrip())
    if more := sum(n for _, n in reasons[TOLD:]):
        print_lines("", f"and {more} more failed for other reasons (--json has them all)")


def _teller(bar: CountingBar) -> "Report":
    """What tells how many measurements are done, and of which models the next are."""

    def report(state: "State") -> None:
        ended = state.stored + state.done + state.failed
        failed = f", {state.failed} failed" * bool(state.failed)
        waiting = "waiting for workers" if ended < state.total else "done"
        at = ", ".join(state.working[:2]) or waiting
        bar(
            ended,
            f"{counted(state.workers, 'worker')}{failed}: {at}",
            f"{ended} of {state.total}{failed}; {counted(state.workers, 'worker')}: {at}",
        )

    return report
