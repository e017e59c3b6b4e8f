"""`coupling vision`: vision transformers by their rate of stochastic depth."""

from collections.abc import Sequence
from typing import Annotated

import typer

from coupling_core.cli import options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import print_lines, print_table, progress_bar, say
from coupling_core.experiments.vision.plans import DATA, DEFAULT_PRESET, PRESETS, plan_runs
from coupling_core.experiments.vision.suite import SUITE, VisionRun

app = typer.Typer(help="Train and list vision transformers.", no_args_is_help=True)


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
        typer.Option(
            help="Rate of stochastic depth, instead of the plan's; repeat it for several."
        ),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Seed, instead of the plan's; each rate has each of them."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs of each run.")] = None,
    weight_decay: Annotated[
        float | None, typer.Option(min=0, help="Weight decay of matrices.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Blocks of each model; the papers have 12 and 24.")
    ] = None,
    threads: options.Threads = None,
    device: options.Device = None,
    workers: options.Workers = None,
) -> None:
    """Train a preset's runs, or what is left of them."""
    plans = plan_runs(preset, data, rate or (), seed or (), epochs, weight_decay, depth)
    from coupling_core.experiments.vision.grid import train_all

    stopped = "stopped; the same command goes on from the last whole epochs"
    total = sum(plan.epochs for plan in plans)
    with stopping(stopped), progress_bar(stays=True) as bar:

        def show(done: int, what: str) -> None:
            bar.show(done, total, what)

        train_all(plans, show, say, device, threads, workers)
    _show([VisionRun(plan.repo, plan.drop_path, plan.seed) for plan in plans])


@app.command("list")
def list_(report: options.Printing) -> None:
    """List the runs that come with the program, with their accuracies."""

    def show() -> None:
        print_lines(f"{SUITE.name}: {SUITE.title}")
        _show(SUITE.runs)

    report.tell(lambda: [vars(run) | _noted(run) for run in SUITE.runs], show)


def _noted(run: VisionRun) -> dict[str, float | None]:
    """What this disk has of a run: its accuracies, None where not recorded; and its weights?"""
    learned = run.learned_accuracy()
    return {"accuracy": run.accuracy(), "learned_accuracy": learned, "weights": run.here()}


def _show(runs: Sequence[VisionRun]) -> None:
    titles = {"model": "", "rate": "g", "seed": "", "accuracy": ".2%", "on what was learned": ".2%"}
    rows = []
    for run in runs:
        accuracy, learned, is_here = _noted(run).values()
        weights = "here" if is_here else "not here"
        rows.append((run.repo, run.rate, run.seed, accuracy, learned, weights))
    print_table(titles | {"weights": ""}, rows)
