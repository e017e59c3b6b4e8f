"""What all commands that measure do: one prompt is measured and reported, many are averaged.

Of many each is measured (a stored one is only read), told as it goes, and stopped in order.
"""

import logging
from collections.abc import Callable, Sequence

from coupling_core.analysis.over_prompts import few_words
from coupling_core.analysis.scores import MIN_NUMBERS, OF_FEW
from coupling_core.base.bars import Pace
from coupling_core.base.errors import InputError, by_reason, every_prompt_failed
from coupling_core.base.records import Request, parse_blocks
from coupling_core.base.results import BEGINNING, Progress, Result
from coupling_core.base.units import counted, duration, ranges
from coupling_core.cli import files, reports, rows
from coupling_core.cli.options import Measuring, Output
from coupling_core.cli.rows import Failed, Row
from coupling_core.cli.shown import Shown, looked_at
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import (
    Told,
    print_facts,
    print_json,
    print_lines,
    print_records,
    progress_bar,
    say,
    warn,
)
from coupling_core.measuring.many import Answers
from coupling_core.measuring.measure import find_stored
from coupling_core.sources.prompts import Prompt, repeated
from coupling_core.sources.resolved import Resolved, resolve

SHORT = 20.0
"""Seconds that need no word."""

Ask = Callable[[str], Request]
"""Makes the request of a prompt."""


def answer(asked: Measuring, ask: Ask, shown: Shown, output: Output) -> None:
    """Measure one prompt, or each of a file, write what --out names, and report."""
    output.require_writable(asked.many)
    if asked.many is not None:
        table_of_means(asked, ask, shown, output)
        return
    (prompt,) = asked.listed()
    request = ask(prompt.text)
    if request.is_mean:
        _forewarn(resolve(request), output)
    found: list[tuple[Result, bool]] = []

    def take(_: Prompt, result: Result, stored: bool) -> None:
        found.append((result, stored))

    each(asked, ask, [prompt], output, blocks=shown.blocks, take=take)
    ((result, stored),) = found
    view = shown.view(result)
    if output.out is not None:
        shown.write(output.out, result, view, request.k_view)
    more = shown.more(result)
    reports.tell(result, view, output, stored=stored, more=more, report=shown.report)


def _forewarn(asked: Resolved, output: Output) -> None:
    """Say about how long the mean over all pairs of blocks takes a processor."""
    if find_stored(asked, output.shelf):
        return
    from coupling_core.measuring.cost import machine_rates, predict_seconds  # torch
    from coupling_core.measuring.probe import probe

    found = probe(asked)
    if found.refusal or not found.blocks:
        return
    seconds = predict_seconds(asked.request, found, asked.n_tokens, machine_rates())
    if seconds is not None and seconds > SHORT:
        say(
            f"all pairs of {found.blocks} blocks and of {asked.n_tokens} tokens take "
            f"about {duration(seconds)} on this processor, more with the square of both; --block "
            "takes one pair of blocks"
        )


def each(
    asked: Measuring,
    ask: Ask,
    prompts: Sequence[Prompt],
    output: Output,
    *,
    blocks: str | None = None,
    take: Callable[[Prompt, Result, bool], None],
) -> Failed:
    """Measure each prompt; one that fails does not lose the others.

    `take` is given each prompt with its result, and whether that was stored before. It is called
    from here, so that Ctrl-C is told alike in its midst.
    """
    if len(prompts) > 1:
        resolve(ask("-"))  # one complaint about the model, not one a prompt
    if told := repeated([prompt.words for prompt in prompts]):
        warn(told)
    requests: dict[int, Request] = {}
    failed: Failed = {}
    for number, prompt in enumerate(prompts):
        try:
            requests[number] = ask(prompt.text)
        except InputError as error:
            failed[prompt.row] = error
    pace, bar = Pace(len(prompts), len(failed)), progress_bar()

    def show(stage: str = "") -> None:
        words = pace.words(answers.crew.processes - 1)
        bar.show(pace.done, pace.total, f"{words} {stage}", words)

    def report(_: int, progress: Progress) -> None:
        if progress.stage not in BEGINNING:
            pace.begin()
        if progress.stage == "blocks" and progress.total:
            parse_blocks(blocks, progress.total)  # refused as soon as the model lacks them
        if len(prompts) == 1:
            bar(progress)
            return
        is_alone = answers.crew.processes == 1
        show(f"{progress.stage} {progress.done} of {progress.total}" if is_alone else "")
        if progress.note:
            bar.note(progress.note)

    answers = Answers(requests, output.shelf, device=asked.device, fast=asked.fast, report=report)

    def stopped() -> str:
        return f"stopped: {answers.stored} of {len(prompts)} stored, the same command goes on"

    with stopping(stopped), bar, answers:
        for answer in answers:
            prompt = prompts[answer.number]
            if answer.error:
                failed[prompt.row] = answer.error
            # What fails takes no time.
            pace.step(computed=answer.result is not None and not answer.stored)
            if bar.used and len(prompts) > 1:
                show()
            if answer.result:
                take(prompt, answer.result, answer.stored)
    if len(failed) == len(prompts):
        raise every_prompt_failed([*failed.values()])
    for reason, lines in by_reason(dict(sorted(failed.items()))).items():
        named = "line {} is" if len(lines) == 1 else "lines {} are"
        say(f"{named.format(ranges(lines))} left out: {reason}", logging.ERROR)
    return failed


def table_of_means(asked: Measuring, ask: Ask, shown: Shown, output: Output) -> None:
    """Measure prompts, write a row of numbers each, and print their means over the prompts."""
    done: list[Row] = []

    def take(prompt: Prompt, result: Result, stored: bool) -> None:
        view = shown.view(result)
        mean = shown.row(result, view)
        done.append(Row.of(prompt, result, mean, view, stored=stored, chosen=shown.chosen))

    failed = each(asked, ask, asked.listed(), output, blocks=shown.blocks, take=take)
    done.sort(key=lambda row: row.prompt.row)
    if output.out is not None:
        named = rows.arrays(done) | dict(shown.arrays(done))
        files.write_numbers(
            output.out,
            lambda: rows.frame(done),
            lambda: named,
            rows.alike(done),
            lambda ending: _drawn(shown, done, ending),
        )
    _report(done, failed, shown.told(done), output)


def _drawn(shown: Shown, done: Sequence[Row], ending: str) -> bytes:
    """The figure of many prompts, as the content of a file with this ending."""
    from coupling_core import figures  # plotly

    figure = shown.draw(done)
    if few := _few(done):
        figure.layout.meta["caption"] += f" {few}"
    return figures.render(figure, ending)


def _few(done: Sequence[Row]) -> str:
    return few_words(len(done), of_coupling="corrected" in done[0].mean)


def _report(done: Sequence[Row], failed: Failed, together: Told, output: Output) -> None:
    over, categories = rows.over_prompts(done), rows.by_category(done)
    counts = {one.n for of in (over, *categories.values()) for one in of.values()}
    uncertified = sum(row.certified is False for row in done)
    for doubt in (
        _few(done),
        rows.mean_of_each(over),
        f"an SVD did not pass its checks: {uncertified} of {counted(len(done), 'prompt')} "
        f"{'is' if uncertified == 1 else 'are'} not certified"
        if uncertified
        else "",
        OF_FEW if any(1 < n < MIN_NUMBERS for n in counts) else "",
    ):
        if doubt:
            warn(doubt)
    more, show = together
    if output.as_json:
        print_json(rows.summary(done, failed) | more)
        return
    stored = sum(row.stored for row in done)
    left_out = f", {len(failed)} left out" * bool(failed)
    print_facts(
        prompts=f"{len(done)} measured, {stored} of them from the store{left_out}",
        of=" · ".join(looked_at(done)),
        written=output.out,
    )
    print_lines("")
    print_records(
        ({"category": category} if categories else {})
        | {"number": name, "prompts": one.n, "mean": one.mean, "median": one.median}
        | {"95 % from": one.low, "to": one.high}
        for category, of in ({"all": over} | categories).items()
        for name, one in of.items()
    )
    show()
