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
from coupling_core.vision.plans import DEFAULT_PRESET, PRESETS, plan_runs
from coupling_core.vision.suite import VISION_SUITES, VisionRun

app = typer.Typer(help="Train and list vision transformers.", no_args_is_help=True)


@dataclass(frozen=True)
class Listed:
    """A run, and what there is of it.

    Args:
        suite: that it belongs to.
        repo: what `--model` takes.
        rate: of stochastic depth.
        seed: of all that was drawn.
        accuracy: on what was held out; None where that was not recorded.
        learned_accuracy: on what was learned; likewise.
        weights: whether they are on this disk.
    """

    suite: str
    repo: str
    rate: float
    seed: int
    accuracy: float | None
    learned_accuracy: float | None
    weights: bool


@app.command()
def train(
    preset: Annotated[
        str, typer.Option(help=f"What the rest is of: {', '.join(PRESETS)}.")
    ] = DEFAULT_PRESET,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="digits, fashion-mnist, cifar10, cifar100, or a folder of classes of images.",
        ),
    ] = None,
    rate: Annotated[
        list[float] | None, typer.Option(help="Of stochastic depth; more than once for more runs.")
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, help="Each rate has each of them.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Of each run.")] = None,
    weight_decay: Annotated[float | None, typer.Option(min=0, help="Of matrices.")] = None,
    blocks: Annotated[int | None, typer.Option(min=1, help="L; the papers have 12 and 24.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Of the processor, a run; as many, and all is alike.")
    ] = None,
    device: options.Device = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; one a device unless told.")
    ] = None,
) -> None:
    """Train a preset's runs, or what is left of them."""
    plans = plan_runs(preset, data, rate or (), seed or (), epochs, weight_decay, blocks)
    from coupling_core.vision.grid import train_all

    stopped = "stopped; the same command goes on from the last whole epochs"
    total = sum(plan.epochs for plan in plans)
    with stopping(stopped), CountingBar(total, "starting") as bar:

        def report(done: int, told: str) -> None:
            bar(done, told, f"{done} of {total} {told}")

        train_all(plans, report, say, device, threads, workers)
    runs = [VisionRun(plan.repo, plan.drop_path, plan.seed) for plan in plans]
    _show([_listed("", run) for run in runs])


@app.command("list")
def list_(as_json: options.Json = False) -> None:
    """List the runs that come with the program, with their accuracies."""
    listed = [_listed(suite.name, run) for suite in VISION_SUITES.values() for run in suite.runs]
    if as_json:
        print_json([asdict(one) for one in listed])
        return
    print_lines(*(f"{suite.name}: {suite.title}" for suite in VISION_SUITES.values()))
    _show(listed)


def _listed(suite: str, run: VisionRun) -> Listed:
    return Listed(
        suite, run.repo, run.rate, run.seed, run.accuracy(), run.learned_accuracy(), run.here()
    )


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
