"""Many prompts: each measured (a stored one is only read), told as it goes, stopped in order."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.analysis.exports import ENDINGS, written
from coupling_core.analysis.exports.naming import facts
from coupling_core.analysis.scores import MIN_PROMPTS, Interval, known_interval
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import AnyView, Request
from coupling_core.base.results import Progress, Result
from coupling_core.cli import files
from coupling_core.cli.course import Course
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import print_json, print_lines, print_table, warn
from coupling_core.measuring.many import Answers
from coupling_core.sources.prompts import Prompt, own_cells, own_columns, repeated
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

FORMATS = ENDINGS


@dataclass(frozen=True)
class Row:
    """One prompt's part in a table.

    Args:
        prompt: as it stands in its file.
        key: of its result in the store.
        stored: whether it was there before.
        seconds: of computing; 0 where it was stored.
        load_seconds: of loading the model; 0 where it was in memory already.
        mean: its numbers, by name.
        whose: which model, what was measured, and how that is looked at.
    """

    prompt: Prompt
    key: str
    stored: bool
    seconds: float
    load_seconds: float
    mean: dict[str, float]
    whose: dict[str, str | float]

    @classmethod
    def of(
        cls,
        prompt: Prompt,
        result: Result,
        mean: dict[str, float],
        view: AnyView | None,
        *,
        stored: bool,
    ) -> "Row":
        """What a result says of its prompt, where it has been looked at so."""
        seconds, load_seconds = (
            0.0 if stored else float(result.provenance[name])
            for name in ("seconds", "load_seconds")
        )
        whose = facts(result, view)
        del whose["prompt"]
        return cls(prompt, result.key, stored, seconds, load_seconds, mean, whose)


Failed = dict[int, InputError | ComputeError]
"""Errors by the line of the prompt."""


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
            _leave_out(prompt, error, failed)
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
                _leave_out(prompt, answer.error, failed)
            course.end(answers.crew.processes, computed=not answer.stored)
            if answer.result:
                take(prompt, answer.result, answer.stored)
    if len(failed) == len(prompts):
        first = next(iter(failed.values()))
        failure = InputError if isinstance(first, InputError) else ComputeError
        raise failure(f"every prompt failed, the first with: {first}")


def _leave_out(prompt: Prompt, error: InputError | ComputeError, failed: Failed) -> None:
    failed[prompt.row] = error
    warn(f"line {prompt.row} is left out: {error}")


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
    together: Callable[[], tuple[dict[str, Any], Callable[[], None]]] | None = None,
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
        together: what there is to say of all results together, once all were told to `row_of`: for
            JSON, and printed.

    Raises:
        InputError, ComputeError, Cancelled: as `each`; or where the file cannot be written.
    """
    rows, failed = [], Failed()

    def take(prompt: Prompt, result: Result, stored: bool) -> None:
        rows.append(Row.of(prompt, result, row_of(result), view_of(result), stored=stored))

    each(ask, prompts, store, failed, device=device, fast=fast, blocks=blocks, take=take)
    rows.sort(key=lambda row: row.prompt.row)
    if out is not None:
        named = partial(_arrays, rows)
        axes = dict.fromkeys(("line", "prompt", *rows[0].mean), ("prompt",))
        content = written(files.ending(out), partial(frame, rows), named, axes, alike(rows))
        if content is not None:  # `require_writable` has refused other endings
            files.write(out, content)
    more, show = together() if together else ({}, lambda: None)
    _report(rows, failed, more, as_json=as_json, out=out)
    if not as_json:
        show()


def _arrays(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    return {
        "line": np.array([row.prompt.row for row in rows]),
        "prompt": np.array([row.prompt.words for row in rows]),
        **{name: np.array([row.mean[name] for row in rows]) for name in rows[0].mean},
    }


def _report(
    rows: Sequence[Row], failed: Failed, more: dict[str, Any], *, as_json: bool, out: Path | None
) -> None:
    over = _over(rows)
    if len(rows) < MIN_PROMPTS:
        warn(f"{len(rows)} prompts are fewer than {MIN_PROMPTS}: this is no claim about the model")
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
        *([f"written     {out}"] if out else []),
        "",
    )
    print_table(
        ("", "mean", "median", "95 % interval"),
        [
            (
                name + f" (of {one.n})" * (one.n < len(rows)),
                f"{one.mean:z.4f}",
                f"{one.median:z.4f}",
                _interval(one),
            )
            for name, one in over.items()
        ],
    )
    show_categories(rows)


def show_categories(rows: Sequence[Row]) -> None:
    """Print the means over the prompts of each category, where their file names several."""
    found = by_category(rows)
    if not found:
        return
    print_lines("")
    print_table(
        ("category", "", "prompts", "mean", "95 % interval"),
        [
            (category, name, str(one.n), f"{one.mean:z.4f}", _interval(one))
            for category, means in found.items()
            for name, one in means.items()
        ],
    )


def by_category(rows: Sequence[Row]) -> dict[str, dict[str, Interval]]:
    """The mean of each number over the prompts of each category, where there are several.

    Args:
        rows: of prompts; the ones without a category are left out.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.prompt.category:
            found.setdefault(row.prompt.category, []).append(row)
    return {category: _over(of) for category, of in found.items()} if len(found) > 1 else {}


def _over(rows: Sequence[Row]) -> dict[str, Interval]:
    """The mean of each number over prompts, with its interval."""
    return {
        name: known_interval(np.array([row.mean[name] for row in rows])) for name in rows[0].mean
    }


def _interval(one: Interval) -> str:
    return "none of one prompt" if one.n < 2 else f"{one.low:z.4f} to {one.high:z.4f}"


def summary(rows: Sequence[Row], failed: Failed) -> dict[str, Any]:
    """What was measured and what was not, ready for JSON."""
    return {
        "n": len(rows),
        "measured": alike(rows),
        "seconds": sum(row.seconds for row in rows),
        "load_seconds": sum(row.load_seconds for row in rows),
        "stored": all(row.stored for row in rows),
        "key": [row.key for row in rows],
        "prompts": [
            {
                "line": row.prompt.row,
                "prompt": row.prompt.words,
                "key": row.key,
                "stored": row.stored,
                "mean": row.mean,
                **({"fields": own} if (own := _fields(row.prompt)) else {}),
            }
            for row in rows
        ],
        "failed": [{"line": line, "error": str(error)} for line, error in sorted(failed.items())],
        "by_category": {
            category: {name: vars(one) for name, one in means.items()}
            for category, means in by_category(rows).items()
        },
    }


def alike(rows: Sequence[Row]) -> dict[str, str | float]:
    """Which model, what was measured and how that is looked at: what is the same of all prompts."""
    first, others = rows[0].whose, [row.whose for row in rows[1:]]
    return {name: one for name, one in first.items() if all(of.get(name) == one for of in others)}


def frame(rows: Sequence[Row]) -> "DataFrame":
    """A row a prompt: its line and text, the columns of its file, its means, whose they are.

    A column of the file that is named as one of ours has `prompt_` before it.
    """
    from pandas import DataFrame

    ours = ("line", "prompt", *rows[0].mean, *rows[0].whose, "key")
    own = own_columns([_fields(row.prompt) for row in rows], ours)
    return DataFrame(
        [
            {"line": row.prompt.row, "prompt": row.prompt.words}
            | {name: _cell(value) for name, value in own_cells(_fields(row.prompt), own).items()}
            | row.mean
            | row.whose
            | {"key": row.key}
            for row in rows
        ]
    )


def _fields(prompt: Prompt) -> dict[str, Any]:
    """What the prompt's file says of it beside its text."""
    known = {"category": prompt.category or None, "difficulty": prompt.difficulty}
    return {name: value for name, value in known.items() if value is not None} | dict(prompt.fields)


def _cell(value: Any) -> Any:
    """A value as a cell: what JSON nests, as its text."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
