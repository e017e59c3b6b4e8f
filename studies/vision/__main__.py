"""Train vision transformers by their rate of stochastic depth."""

from typing import Annotated

import typer

from coupling_core.cli import options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import print_records, progress_bar, say
from coupling_core.experiments.vision import VisionRun
from studies.command import run
from studies.vision.grid import train_all
from studies.vision.plans import DATA, DEFAULT_PRESET, PRESETS, plan_runs


def vision(
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
    stopped = "stopped; the same command goes on from the last whole epochs"
    total = sum(plan.epochs for plan in plans)
    with stopping(stopped), progress_bar(stays=True) as bar:

        def show(done: int, what: str) -> None:
            bar.show(done, total, what)

        train_all(plans, show, say, device, threads, workers)
    print_records(VisionRun(plan.repo, plan.drop_path, plan.seed).noted() for plan in plans)


if __name__ == "__main__":
    run(vision)
