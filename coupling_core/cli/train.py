"""`coupling suite train`: make the checkpoints of a suite."""

from typing import TYPE_CHECKING, Annotated

import typer

from coupling_core.cli import options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import CountingBar, print_lines, say
from coupling_core.experiments.pretraining.plans import find_plan
from coupling_core.sources import hub
from coupling_core.sources.suites import find_suite

if TYPE_CHECKING:
    from coupling_core.experiments.pretraining.training import Report, Trained


def train(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as mini-128.")],
    threads: options.Threads = None,
    device: options.Device = None,
) -> None:
    """Train a suite's checkpoints, or go on with a run that was stopped."""
    plan = find_plan(name)
    folder = hub.cache.trained_here(find_suite(name).repo)
    import torch

    from coupling_core.experiments.pretraining import corpus, training

    if threads is not None:
        torch.set_num_threads(threads)
    text = corpus.corpus(say)
    stopped = "stopped; the same command goes on from where it was saved"
    with stopping(stopped), CountingBar(plan.steps[-1]) as bar:
        training.train(plan, text, folder, _teller(bar), device)
    print_lines(f"{name} is ready in {folder}")


def _teller(bar: CountingBar) -> "Report":
    """What tells step, losses and speed."""

    def report(at: "Trained") -> None:
        told = (
            f"loss {at.loss:.3f}, held out {at.held_out:.3f}, {at.tokens_per_second:,.0f} tokens/s"
        )
        bar(at.step, told, f"step {at.step} of {at.steps}: {told}")

    return report
