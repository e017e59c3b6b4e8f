"""`coupling suite train` and `coupling suite new`: make the checkpoints of a suite."""

from typing import TYPE_CHECKING, Annotated

import typer

from coupling_core.cli import options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import print_lines, progress_bar, say
from coupling_core.experiments.own.plans import (
    BLOCKS,
    DROPPED,
    RATES,
    WIDTHS,
    OwnPlan,
    goal_of,
)
from coupling_core.experiments.pretraining.plans import find_plan
from coupling_core.sources import hub
from coupling_core.sources.suites import find_suite

if TYPE_CHECKING:
    from coupling_core.experiments.own.training import Standing
    from coupling_core.experiments.pretraining.training import Trained


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
    with stopping(stopped), progress_bar(stays=True) as bar:

        def show(at: "Trained") -> None:
            pace = f"{at.tokens_per_second:,.0f} tokens/s"
            bar.show(at.step, at.steps, f"loss {at.loss:.3f}, held out {at.held_out:.3f}, {pace}")

        training.train(plan, text, folder, show, device)
    print_lines(f"{name} is ready in {folder}")


def new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="What to call it: small letters, digits, hyphens."),
    ],
    n_blocks: Annotated[
        int, typer.Option(help=f"How many blocks, {BLOCKS[0]} to {BLOCKS[-1]}.")
    ] = OwnPlan.blocks,
    width: Annotated[
        int, typer.Option(help=f"Width of the residual stream: {', '.join(map(str, WIDTHS))}.")
    ] = OwnPlan.width,
    learning_rate: Annotated[
        float, typer.Option(help=f"The highest learning rate, {RATES[0]:g} to {RATES[1]:g}.")
    ] = OwnPlan.learning_rate,
    drop: Annotated[
        float,
        typer.Option(
            help=f"With which probability a text skips the last block, 0 to {DROPPED:g}: "
            "stochastic depth."
        ),
    ] = OwnPlan.drop_path,
    goal: Annotated[
        str,
        typer.Option(
            help="What a penalty does to coupling: raise, lower, or a value from -1 to 1 to hold "
            "it at; none by default."
        ),
    ] = "",
    weight: Annotated[
        float, typer.Option(help="Weight of the penalty in the loss.")
    ] = OwnPlan.weight,
    seed: Annotated[int, typer.Option(help="Random seed.")] = OwnPlan.seed,
    threads: options.Threads = None,
    device: options.Device = None,
) -> None:
    """Train a small language model of your own, in a minute or two; it becomes a suite."""
    plan = OwnPlan(
        name,
        blocks=n_blocks,
        width=width,
        learning_rate=learning_rate,
        drop_path=drop,
        goal=goal_of(goal),
        weight=weight,
        seed=seed,
    )
    import torch

    from coupling_core.experiments.own import training

    if threads is not None:
        torch.set_num_threads(threads)
    with stopping("stopped; nothing is kept of it"), progress_bar(stays=True) as bar:

        def show(at: "Standing") -> None:
            done, corrected = at.trained, at.look.numbers["corrected"]
            words = (
                f"loss {done.loss:.3f}, held out {done.held_out:.3f}, coupling {corrected:.3f} "
                f"at step {at.look.step}"
            )
            bar.show(done.step, done.steps, words)

        folder = training.train(plan, show, device)
    print_lines(
        f"{plan.title}: ready in {folder}",
        f"`coupling training --suite {name}` measures it step by step; pages know it as {name}",
    )
