"""`coupling vision`: vision transformers by their rate of stochastic depth."""

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from coupling_core.cli import options
from coupling_core.cli.terminal import (
    CountingBar,
    print_json,
    print_lines,
    print_table,
    say,
    stopping,
)
from coupling_core.experiments.vision.plans import DATA, DEFAULT_PRESET, PRESETS, plan_runs
from coupling_core.experiments.vision.suite import SUITE, VisionRun

app = typer.Typer(help="Train and list vision transformers.", no_args_is_help=True)


@dataclass(frozen=True)
class Listed:
    """A run, and what there is of it.

    Args:
        repo: what `--model` takes.
        rate: of stochastic depth.
        seed: of all that was drawn.
        accuracy: on what was held out; None where that was not recorded.
        learned_accuracy: on what was learned; likewise.
        weights: whether they are on this disk.
    """

    repo: str
    rate: float
    seed: int
    accuracy: float | None
    learned_accuracy: float | None
    weights: bool


@app.command()
def train(
    preset: Annotated[
        str, typer.Option(help=f"A plan, with its rates and seeds: {', '.join(PRESETS)}.")
    ] = DEFAULT_PRESET,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help=f"{', '.join(DATA)}, or a folder with a folder of images for each class.",
        ),
    ] = None,
    rate: Annotated[
        list[float] | None,
        typer.Option(help="Of stochastic depth, in place of those; more than once for more."),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, help="In place of those; each rate has each of them.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Of each run.")] = None,
    weight_decay: Annotated[float | None, typer.Option(min=0, help="Of matrices.")] = None,
    blocks: Annotated[int | None, typer.Option(min=1, help="L; the papers have 12 and 24.")] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Of the processor, a run; others give other last digits."),
    ] = None,
    device: options.Device = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; one a device unless told.")
    ] = None,
) -> None:
    """Train a preset's runs, or what is left of them."""
    plans = plan_runs(preset, data, rate or (), seed or (), epochs, weight_decay, blocks)
    from coupling_core.experiments.vision.grid import train_all

    stopped = "stopped; the same command goes on from the last whole epochs"
    total = sum(plan.epochs for plan in plans)
    with stopping(stopped), CountingBar(total, "starting") as bar:

        def report(done: int, told: str) -> None:
            bar(done, told, f"{done} of {total} {told}")

        train_all(plans, report, say, device, threads, workers)
    _show([_listed(VisionRun(plan.repo, plan.drop_path, plan.seed)) for plan in plans])


@app.command("list")
def list_(as_json: options.Json = False) -> None:
    """List the runs that come with the program, with their accuracies."""
    listed = [_listed(run) for run in SUITE.runs]
    if as_json:
        print_json([asdict(one) for one in listed])
        return
    print_lines(f"{SUITE.name}: {SUITE.title}")
    _show(listed)


def _listed(run: VisionRun) -> Listed:
    return Listed(run.repo, run.rate, run.seed, run.accuracy(), run.learned_accuracy(), run.here())


def _show(listed: list[Listed]) -> None:
    print_table(
        ("model", "rate", "seed", "accuracy", "on what was learned", "weights"),
        [
            (
                one.repo,
                f"{one.rate:g}",
                str(one.seed),
                _percent(one.accuracy),
                _percent(one.learned_accuracy),
                "here" if one.weights else "not here",
            )
            for one in listed
        ],
    )


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.2f} %"
