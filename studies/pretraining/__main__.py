"""Train a mini-Pythia suite's checkpoints."""

from typing import Annotated

import torch
import typer

from coupling_core.cli import options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import print_lines, progress_bar, say
from coupling_core.experiments.pretraining import training
from coupling_core.sources import hub
from coupling_core.sources.suites import find_suite
from studies.command import run
from studies.pretraining import corpus
from studies.pretraining.plans import find_plan


def pretraining(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as mini-128.")],
    threads: options.Threads = None,
    device: options.Device = None,
) -> None:
    """Train a suite's checkpoints, or go on with a run that was stopped."""
    plan = find_plan(name)
    folder = hub.cache.trained_here(find_suite(name).repo)
    if threads is not None:
        torch.set_num_threads(threads)
    text = corpus.corpus(say)
    stopped = "stopped; the same command goes on from where it was saved"
    with stopping(stopped), progress_bar(stays=True) as bar:

        def show(at: training.Trained) -> None:
            pace = f"{at.tokens_per_second:,.0f} tokens/s"
            bar.show(at.step, at.steps, f"loss {at.loss:.3f}, held out {at.held_out:.3f}, {pace}")

        training.train(plan, text, folder, show, device)
    print_lines(f"{name} is ready in {folder}")


if __name__ == "__main__":
    run(pretraining)
