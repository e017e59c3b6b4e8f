"""Many prompts: each measured (a stored one is only read), told as it goes, stopped in order."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coupling_core.analysis.exports import written
from coupling_core.analysis.over_prompts import few_words
from coupling_core.analysis.scores import MIN_NUMBERS, MIN_PROMPTS, OF_FEW, Interval
from coupling_core.base.errors import InputError, by_reason, every_prompt_failed
from coupling_core.base.records import AnyView, Request
from coupling_core.base.results import Progress, Result
from coupling_core.base.units import counted, decimals, ranges
from coupling_core.cli import files
from coupling_core.cli.course import Course
from coupling_core.cli.many_drawn import DrawMany, looked_at
from coupling_core.cli.rows import (
    Axes,
    Failed,
    Row,
    alike,
    arrays,
    by_category,
    frame,
    mean_of_each,
    over_prompts,
    summary,
)
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import complain, print_json, print_lines, print_table, warn
from coupling_core.measuring.many import Answers
from coupling_core.sources.prompts import Prompt, repeated
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

DIGITS = 4
"""Decimals of a number that is printed."""
_THEIR_OWN: Mapping[str, str] = {}
"""Numbers that are called by their names."""


def each(
    ask: Callable[[str], Request],
    prompts: Sequence[Prompt],
    store: Store,
    failed: Failed,
    *,
    device: str | None = None,
    fast: bool = True,
    blocks: str | None = None,
    take: Callable[[Prompt, Result, bool], None],
) -> None:
    """Measure each prompt; one that fails does not lose the others.

    Args:
        ask: makes the request of a prompt.
        prompts: of a file; their rows are its lines.
        store: answers what it holds, and keeps the rest.
        failed: is given the errors.
        device: where to compute.
        fast: as `measure` has it.
        blocks: the blocks shown, as they were typed.
        take: is given each prompt with its result, and whether that was stored before. It is called
            from here, so that Ctrl-C is told alike in its midst.

    Raises:
        InputError, ComputeError: where the model itself is out of reach, or all prompts fail.
        Cancelled: at Ctrl-C, with how many are stored.
    """
    resolve(ask("-"))  # one complaint about the model, not one a prompt
    if told := repeated([prompt.words for prompt in prompts]):
        warn(told)
    requests = {}
    for number, prompt in enumerate(prompts):
        try:
            requests[number] = ask(prompt.text)
        except InputError as error:
            failed[prompt.row] = error
    course = Course(len(prompts), len(failed), blocks)

    def report(_: int, progress: Progress) -> None:
        course.report(progress, answers.crew.processes)

    answers = Answers(requests, store, device=device, fast=fast, report=report)

    def stopped() -> str:
        return f"stopped: {answers.stored} of {len(prompts)} stored, the same command goes on"

    with stopping(stopped), course, answers:
        for answer in answers:
            prompt = prompts[answer.number]
            if answer.error:
                failed[prompt.row] = answer.error
            computed = answer.result is not None and not answer.stored  # what fails takes no time
            course.end(answers.crew.processes, computed=computed)
            if answer.result:
                take(prompt, answer.result, answer.stored)
    if len(failed) == len(prompts):
        raise every_prompt_failed([*failed.values()])
    for reason, lines in by_reason(dict(sorted(failed.items()))).items():
        named = "line {} is" if len(lines) == 1 else "lines {} are"
        complain(f"{named.format(ranges(lines))} left out: {reason}")


def table_of_means(
    ask: Callable[[str], Request],
    prompts: Sequence[Prompt],
    row_of: Callable[[Result], dict[str, float]],
    store: Store,
    *,
    view_of: Callable[[Result], AnyView | None] = lambda _: None,
    blocks: str | None = None,
    device: str | None,
    fast: bool,
    out: Path | None,
    as_json: bool,
    drawing: DrawMany,
    chosen: Mapping[str, str | float] | None = None,
    together: Callable[[Sequence[Row]], tuple[dict[str, Any], Callable[[], None]]] | None = None,
    further: Callable[[Sequence[Row]], Mapping[str, tuple[Axes, np.ndarray]]] = lambda _: {},
) -> None:
    """Measure prompts, write a row of numbers each, and print their means over the prompts.

    Args:
        ask: makes the request of a prompt.
        prompts: of a file.
        row_of: the numbers of a result, by name; of every result the same ones.
        store: answers what it holds, and keeps the rest.
        view_of: how a result is looked at, where there is something to choose.
        blocks: the blocks shown, as they were typed.
        device: where to compute.
        fast: as `measure` has it.
        out: the file to write; None writes none.
        as_json: whether JSON is printed.
        drawing: draws the figure of all, where one is written.
        chosen: what else was chosen of how the numbers are taken, by name.
        together: what there is to say of all results together, once all were told to `row_of`: for
            JSON, and printed.
        further: arrays of all beside their numbers, with the names of their axes.

    Raises:
        InputError, ComputeError, Cancelled: as `each`; or where the file cannot be written.
    """
    rows, failed = [], Failed()

    def take(prompt: Prompt, result: Result, stored: bool) -> None:
        rows.append(
            Row.of(prompt, result, row_of(result), view_of(result), stored=stored, chosen=chosen)
        )

    each(ask, prompts, store, failed, device=device, fast=fast, blocks=blocks, take=take)
    rows.sort(key=lambda row: row.prompt.row)
    if out is not None:
        more = further(rows)
        named = partial(arrays, rows, {name: values for name, (_, values) in more.items()})
        axes: dict[str, Axes] = dict.fromkeys(
            ("line", "prompt", "category", *rows[0].mean), ("prompt",)
        )
        axes |= {name: of for name, (of, _) in more.items()}
        content = written(files.ending(out), partial(frame, rows), named, axes, alike(rows))
        files.write(out, content if content is not None else drawn(drawing, rows, out.suffix))
    also, show = together(rows) if together else ({}, lambda: None)
    _report(rows, failed, also, as_json=as_json, out=out)
    if not as_json:
        show()


def drawn(drawing: DrawMany, rows: Sequence[Row], ending: str) -> bytes:
    """The figure of many prompts, as the content of a file with this ending."""
    from coupling_core import figures  # plotly

    figure = drawing(rows)
    few = few_words(len(rows), of_coupling="corrected" in rows[0].mean)
    figure.layout.meta["caption"] += f" {few}" * bool(few)
    return figures.render(figure, ending)


def _report(
    rows: Sequence[Row], failed: Failed, more: dict[str, Any], *, as_json: bool, out: Path | None
) -> None:
    over = over_prompts(rows)
    if len(rows) < MIN_PROMPTS:
        warn(f"{fewer(len(rows))}: this is no claim about the model")
    if told := mean_of_each(over):
        warn(told)
    warn_of_uncertified(rows)
    warn_of_few(rows)
    if as_json:
        print_json(
            summary(rows, failed)
            | {"over_prompts": {name: vars(interval) for name, interval in over.items()}}
            | more
        )
        return
    print_lines(
        f"prompts     {len(rows)} measured, {sum(row.stored for row in rows)} of them from the "
        "store" + f", {len(failed)} left out" * bool(failed),
        f"of          {' · '.join(looked_at(rows))}",
        *([f"written     {out}"] if out else []),
        "",
    )
    digits = _digits(rows)
    print_table(
        ("", "mean", "median", "95 % interval"),
        [
            (
                name + f" (of {one.n})" * (one.n < len(rows)),
                f"{one.mean:z.{digits[name]}f}",
                f"{one.median:z.{digits[name]}f}",
                interval(one, digits[name]),
            )
            for name, one in over.items()
        ],
    )
    show_categories(rows)


def _digits(rows: Sequence[Row]) -> dict[str, int]:
    """Decimals of each number: four, or more where the prompts are that close together."""
    return {name: decimals((row.mean[name] for row in rows), DIGITS) for name in rows[0].mean}


def show_categories(rows: Sequence[Row], titles: Mapping[str, str] = _THEIR_OWN) -> None:
    """Print the means over the prompts of each category, where their file names several.

    Args:
        rows: of the prompts.
        titles: what numbers are called, by name, where not so.
    """
    found = by_category(rows)
    if not found:
        return
    digits = _digits(rows)
    print_lines("")
    print_table(
        ("category", "", "prompts", "mean", "95 % interval"),
        [
            (
                category,
                titles.get(name, name),
                str(one.n),
                f"{one.mean:z.{digits[name]}f}",
                interval(one, digits[name]),
            )
            for category, means in found.items()
            for name, one in means.items()
        ],
    )


def fewer(n: int) -> str:
    """That so many prompts are too few for a claim."""
    return f"{n} {'prompt is' if n == 1 else 'prompts are'} fewer than {MIN_PROMPTS}"


def warn_of_few(rows: Sequence[Row]) -> None:
    """Say that an interval of fewer than five numbers is wide, where one is told."""
    groups = [over_prompts(rows), *by_category(rows).values()]
    counts = {one.n for means in groups for one in means.values()}
    if any(1 < n < MIN_NUMBERS for n in counts):
        warn(OF_FEW)


def warn_of_uncertified(rows: Sequence[Row]) -> None:
    """Say of how many prompts an SVD did not pass its checks."""
    if n := sum(row.certified is False for row in rows):
        told = "is not certified" if n == 1 else "are not certified"
        warn(f"{n} of {counted(len(rows), 'prompt')} {told}: an SVD did not pass its checks")


def interval(one: Interval, digits: int = DIGITS) -> str:
    """Its ends in words."""
    if not one.n:
        return "none"
    return "none of one prompt" if one.n < 2 else f"{one.low:z.{digits}f} to {one.high:z.{digits}f}"
