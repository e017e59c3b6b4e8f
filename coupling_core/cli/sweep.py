"""`coupling sweep`: many models with many prompts, on one machine or on many."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    fact_lines,
    print_facts,
    print_frame,
    print_lines,
    print_records,
    progress_bar,
    warn,
)
from coupling_core.store.disk import Store

if TYPE_CHECKING:
    from pandas import DataFrame

    from coupling_core.analysis.findings import Findings as Found
    from coupling_core.experiments.sweeps import Failure, Journal, Plan, State, Status

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


class Table(options.Output):
    """The file of a table."""

    formats = TABLES


class Findings(options.Output):
    """The file of a report, or of a table."""

    formats = (".html", *TABLES)


@dataclass(frozen=True)
class Place:
    """Where a sweep is measured."""

    workers: options.Workers = None
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running one: tcp://host:8786.")
    ] = None
    slurm: Annotated[bool, typer.Option("--slurm", help="In jobs of Slurm, one a worker.")] = False
    jobs: Annotated[int | None, typer.Option(min=1, help="How many jobs of Slurm.")] = None

    def __post_init__(self) -> None:
        places = bool(self.workers) + bool(self.scheduler) + self.slurm
        if places > 1 or (self.jobs and not self.slurm):
            raise InputError(
                "a sweep runs in one place: give one of --workers, --scheduler and --slurm, and "
                "--jobs with --slurm alone"
            )

    def client(self, plan: "Plan", journal: "Journal") -> Any:
        """A client of the workers, which begin with its `with` block."""
        from coupling_core.experiments.sweeps import clusters

        if self.slurm:
            return clusters.slurm(plan.sweep.slurm, journal.folder, self.jobs)
        return clusters.running(self.scheduler) if self.scheduler else clusters.local(self.workers)


@app.command()
def new(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file: a .toml.")],
) -> None:
    """Write a sweep to begin with: what it measures, and in comments what else it may say."""
    if out.exists():
        raise InputError(f"{out} is there already: give another name, or remove it first")
    files.require_writable(out, (".toml",))
    name = file_part(out.stem) or "mine"
    files.write(out, BEGINNING.read_text().replace("NAME", name).encode())
    print_facts(written=out)
    print_lines(f"            `coupling sweep run {shlex.quote(str(out))}` measures it")


@app.command()
def run(
    *,
    file: File,
    place: Place,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be measured.")
    ] = False,
    output: Table,
) -> None:
    """Measure what the store lacks of a sweep; if stopped, run it again to go on."""
    output.require_writable()
    from coupling_core.experiments import sweeps

    plan, shelf = sweeps.make(sweeps.read(file), noted=False), output.shelf
    if dry_run:
        found = sweeps.status(plan, shelf)
        numbers = plan.described | _numbers(found, "id", "stored", "missing")
        output.tell(lambda: numbers, lambda: _show_counted(plan, found))
        if lost := sum(bool(weights.problem) for weights in plan.weights):
            of = counted(len(plan.weights), "model")
            warn(f"{lost} of {of} cannot be measured as things are: see above why")
        return
    journal = sweeps.Journal.of(shelf, plan.id)
    state = _measured(plan, shelf, place, journal)
    table, left_out = sweeps.make_table(plan, shelf)
    sweeps.write_sealed(journal.table, table)
    if output.out is not None:
        _write_table(output.out, table)
    output.tell(
        lambda: _ended(plan, state, len(table), journal),
        lambda: _show_ended(plan, state, len(table), journal),
    )
    if left_out:
        keys, why = " ".join(left_out), next(iter(left_out.values()))
        warn(
            f"{counted(len(left_out), 'result')} cannot be used ({why}): run `coupling runs rm "
            f"{keys}`, and then the sweep again"
        )
    # The journal has the reasons of the first thousand; the state counts them all.
    if evicted := max(0, len(plan.missing(shelf)) - state.failed):
        warn(
            f"{counted(evicted, 'result')} went again, since the store may be no larger: raise "
            "COUPLING_STORE_BYTES, and run the sweep again"
        )
    if lacking := state.failed + evicted + len(left_out):
        of = counted(len(plan), "measurement")
        raise ComputeError(
            f"{lacking} of {of} missing: `coupling sweep status {file}` has the reasons, and "
            "running it again tries them again"
        )


def _numbers(found: "Status", *names: str) -> dict[str, Any]:
    """How far a sweep is, ready for JSON."""
    return {name: getattr(found, name) for name in (*names, "models")}


def _measured(plan: "Plan", shelf: Store, place: Place, journal: "Journal") -> "State":
    """Measure what is missing, with a bar; without workers where nothing is."""
    from coupling_core.experiments import sweeps

    if sweeps.nothing_to_do(plan, shelf):
        return sweeps.run(plan, shelf, report=lambda _: None)

    def stopped() -> str:
        done = len(plan) - len(plan.missing(shelf))
        return f"stopped: {done} of {len(plan)} stored, the same command goes on"

    with stopping(stopped), sweeps.watched(plan, progress_bar(stays=True)) as report:
        with place.client(plan, journal) as client:
            return sweeps.run(plan, shelf, client, report)


@app.command()
def status(file: File, report: options.Report) -> None:
    """Tell what is stored of a sweep, what is missing, and what failed."""
    from coupling_core.experiments import sweeps

    plan = sweeps.make(sweeps.read(file), told=False, noted=report.store)
    found = sweeps.status(plan, report.shelf)
    numbers = _numbers(found, "id", "total", "stored", "runs", "state")
    numbers |= {"failed": found.failures}
    report.tell(lambda: numbers, lambda: _show_status(plan, found))
    if found.missing:
        raise ComputeError(_missing(found.missing, found.total, file))


def _missing(n: int, total: int, file: Path) -> str:
    return f"{n} of {counted(total, 'measurement')} missing: `coupling sweep run {file}`"


@app.command("report")
def report_(
    *,
    file: File,
    k: Annotated[
        float | None,
        typer.Option(help="Singular triplets counted.", show_default="the sweep's smallest"),
    ] = None,
    measure: Annotated[Measure, typer.Option(help="Coupling metric.")] = "corrected",
    against: Annotated[
        Performance | None, typer.Option(help="Performance metric; by default one that is known.")
    ] = None,
    subset: Annotated[ModelSubset, typer.Option(help="Which models.")] = "all",
    method: Annotated[Method, typer.Option(help="Which correlation.")] = "pearson",
    output: Findings,
) -> None:
    """Write what a sweep says of coupling and performance, with figures; or its table of scores.

    It is NAME.html in this folder, by the sweep's name, where --out is not given. The table has
    every K that the sweep has, or the one that is asked for.
    """
    from coupling_core.experiments import sweeps

    sweep = sweeps.read(file)
    out = output.out or Path(f"{sweep.name}.html")
    output = replace(output, out=out)
    output.require_writable()
    from coupling_core.analysis.findings import Question, find, first_question
    from coupling_core.analysis.statistics import at_k
    from coupling_core.experiments.sweeps.report import report as make_report

    plan = sweeps.make(sweep, told=False, noted=output.store)
    table, _ = sweeps.make_table(plan, output.shelf)
    if missing := len(plan) - table["key"].nunique():
        warn(_missing(missing, len(plan), file))
    if files.ending(out) in TABLES:
        only = None if k is None else int(k) if k.is_integer() else k
        _write_table(out, table if only is None else at_k(table, only))
        if not output.as_json and "depth" not in plan.sweep.kinds:
            print_facts(written=out)
            return
    first = first_question(table, plan.sweep.k)
    question = Question(
        first.k if k is None else k, measure, against or first.against, subset, method
    )
    found = find(table, question)
    if out.suffix == ".html":
        files.write(out, make_report(plan.described, table, question))
    output.tell(lambda: _answer(found, missing), lambda: _show_findings(plan, found))


def _write_table(out: Path, table: "DataFrame") -> None:
    from coupling_core.experiments import sweeps

    if out == files.STDOUT:
        files.write(out, sweeps.table_csv(table))
    else:
        sweeps.write_table(out, table)


def _answer(found: "Found", missing: int) -> dict[str, Any]:
    """Every number of a report, ready for JSON."""
    families, partial = found.families, found.partial
    return {
        "question": found.question,
        "missing": missing,
        "n": len(found.points),
        "correlations": found.correlations,
        "fits": found.fits,
        "without": families.without,
        "within": families.within,
        "partial": vars(partial.partial) | {"given": partial.given},
        "shows": found.shows,
        "does_not_show": found.does_not_show,
        "models": found.means.rows.to_dict("records"),
    }


def _show_findings(plan: "Plan", found: "Found") -> None:
    """What the sweep shows, and the coupling of each model, the highest first."""
    sweep = plan.sweep
    print_facts(
        sweep=_title(plan),
        score=f"{sweep.definition}, role {sweep.role}, final norm {sweep.final_norm}d",
        shows=found.shows,
        but=found.does_not_show,
    )
    print_lines("")
    rows = found.means.rows.sort_values("coupling", ascending=False)
    shown = rows[["model", "coupling", "low", "high", "prompts"]]
    print_frame(shown.rename(columns={"coupling": found.measure}))
    print_lines("", *fact_lines(note=found.doubts({})))  # what is missing is told above


def _title(plan: "Plan") -> str:
    return f"{plan.sweep.title or plan.sweep.name} ({plan.id})"


def _show_counted(plan: "Plan", found: "Status") -> None:
    of = f"{counted(len(plan.weights), 'model')}, {counted(len(plan.prompts), 'prompt')}"
    print_facts(
        sweep=_title(plan),
        measures=f"{of}, {', '.join(plan.sweep.kinds)}; K = {', '.join(map(str, plan.sweep.k))}",
        stored=f"{found.stored} of {found.total}",
    )
    print_lines("")
    print_records(found.models)


def _ended(plan: "Plan", state: "State", rows: int, journal: "Journal") -> dict[str, Any]:
    return {
        "id": plan.id,
        "total": len(plan),
        "stored": state.stored,
        "done": state.done,
        "failed": journal.failures(),
        "seconds": state.seconds,
        "busy_seconds": state.busy,
        "wall_seconds": state.updated - state.started,
        "rows": rows,
    }


def _show_ended(plan: "Plan", state: "State", rows: int, journal: "Journal") -> None:
    whole = state.total == state.stored
    print_facts(
        sweep=_title(plan),
        measured=f"all {len(plan)} were stored" if whole else state.told,
        table=f"{counted(rows, 'row')} in {journal.table}",
    )
    _show_failures(journal.failures())


def _show_status(plan: "Plan", found: "Status") -> None:
    _show_counted(plan, found)
    if found.last_run:
        print_lines("", *fact_lines(last_run=found.last_run))
    _show_failures(found.failures, traces=True)


def _show_failures(failures: Sequence["Failure"], *, traces: bool = False) -> None:
    from coupling_core.experiments.sweeps.journal import by_reason, told_failure

    reasons = by_reason(failures)
    for failure, n in reasons[:TOLD]:
        print_lines("", f"failed      {told_failure(failure, n)}")
        if traces and failure.trace:
            print_lines(failure.trace.rstrip())
    if more := sum(n for _, n in reasons[TOLD:]):
        print_lines("", f"and {more} more failed for other reasons (--json has them all)")
