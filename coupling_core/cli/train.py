"""`coupling suite train`: make the checkpoints of a suite."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from coupling_core import hub
from coupling_core.cli import options
from coupling_core.cli.terminal import print_lines, say
from coupling_core.errors import ComputeError
from coupling_core.recipe.plans import Plan, find_plan
from coupling_core.suites import find_suite

if TYPE_CHECKING:
    from coupling_core.recipe.training import Report, Trained


def train(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as mini-128.")],
    threads: Annotated[
        int | None, typer.Option(min=1, help="Of the processor; as many, and the losses are alike.")
    ] = None,
    device: options.Device = None,
) -> None:
    """Train a suite's checkpoints, or go on with a run that was stopped."""
    plan = find_plan(name)
    folder = hub.cache.trained_here(find_suite(name).repo)
    import torch

    from coupling_core.recipe import corpus, training

    if threads is not None:
        torch.set_num_threads(threads)
    text = corpus.corpus(say)
    try:
        with _bar(plan) as report:
            training.train(plan, text, folder, report, device)
    except KeyboardInterrupt:
        raise ComputeError("stopped; the same command goes on from where it was saved") from None
    print_lines(f"{name} is ready in {folder}")


@contextmanager
def _bar(plan: Plan) -> Iterator["Report"]:
    """A bar on stderr that tells step, losses, speed and the time that is left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), Left())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=plan.steps[-1])

        def report(at: "Trained") -> None:
            text = (
                f"loss {at.loss:.3f}, held out {at.held_out:.3f}, "
                f"{at.tokens_per_second:,.0f} tokens/s"
            )
            bar.update(task, completed=at.step, description=text)
            if at.step in plan.steps and bar.disable:
                say(f"step {at.step} of {plan.steps[-1]}: {text}")

        yield report
