"""`coupling training`: one prompt over the checkpoints of training runs."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from coupling_core.analysis.by_step import (
    Course,
    doubt,
    numbers,
    step_figures,
)
from coupling_core.analysis.step_tables import steps_arrays, steps_frame
from coupling_core.base.bars import Bar
from coupling_core.base.errors import InputError
from coupling_core.base.figure_names import StepCurve
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import Request, View
from coupling_core.base.results import Result
from coupling_core.base.units import counted
from coupling_core.cli import completing, files, options, reports
from coupling_core.cli.terminal import (
    print_facts,
    print_frame,
    print_lines,
    progress_bar,
    say,
    warn,
)
from coupling_core.measuring.borrowing import Borrower
from coupling_core.measuring.filling import fill
from coupling_core.measuring.measure import measure
from coupling_core.measuring.stored_steps import collect
from coupling_core.sources import hub
from coupling_core.sources.suites import DEFAULT_SUITE, Suite, find_suite, require_steps


def training(
    *,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="The text to measure.",
            show_default="the first that a watched run was measured with",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            help=f"See `coupling suite list`; repeat it for several; {DEFAULT_SUITE} by default.",
            autocompletion=completing.runs,
        ),
    ] = None,
    steps: Annotated[str, typer.Option(help="Such as 0,16,512; or all.")] = "all",
    token: options.Token = None,
    scoring: options.SuiteScoring,
    final_norm: options.Norm = "include",
    spectra: Annotated[
        bool, typer.Option("--spectra", help="Measure the spectra of the blocks too.")
    ] = False,
    dtype: options.Rounded = "float32",
    device: options.Device = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the weights that are fetched from the hub.")
    ] = False,
    figure: Annotated[StepCurve, typer.Option(help="Which figure --out draws.")] = "corrected",
    output: options.Numbers,
) -> None:
    """Measure one prompt at every checkpoint of training runs; what is stored is only read.

    Many prompts at many checkpoints are many measurements: a sweep of the suite does them.
    """
    suites = [find_suite(name) for name in dict.fromkeys(names or [DEFAULT_SUITE])]
    view = scoring.view(suites[0].usual_k)
    spectra = spectra or figure in step_figures("spectrum")
    said = _probe(suites) if prompt is None else prompt
    request = Request(
        said, token=options.token_of(token, said), k=view.k, final_norm=final_norm, dtype=dtype
    )
    wanted = [_steps(suite, steps) for suite in suites]
    output.require_writable()
    for suite in suites:
        if suite.caution:
            warn(f"{suite.name}: {suite.caution}")
    courses: list[Course] = []
    computed: list[Result] = []
    with Borrower() as borrower:
        for suite, its in zip(suites, wanted, strict=True):
            course, results = fill(
                collect(suite, request, output.shelf, its, spectra=spectra),
                output.shelf,
                measure if keep else borrower,
                device,
                watching=partial(_bar, suite),
                warn=warn,
            )
            courses.append(course)
            computed += results
            if why := doubt(course):
                warn(f"{suite.name}: {why}")
    if output.out is not None:
        told = _facts(courses, view)
        files.write_numbers(
            output.out,
            lambda: steps_frame(courses, view).assign(**told),
            lambda: steps_arrays(courses, view),
            told,
            lambda ending: _drawn(courses, view, figure, ending),
        )
    output.tell(lambda: _summary(courses, view, computed), lambda: _show(courses, view, computed))


def _steps(suite: Suite, text: str) -> tuple[int, ...]:
    """Steps of a suite as they are typed: "all", or "0,16,512"."""
    if text.strip() == "all":
        return suite.steps
    return require_steps(suite, set(options.numbers(text, int, "--steps", "all, or 0,16,512")))


def _bar(suite: Suite, step: int) -> Bar:
    return progress_bar(f"{suite.name} step {step}")


def _probe(suites: Sequence[Suite]) -> Any:
    """The first prompt that training runs were watched with, and a word on the others."""
    probes = [suite.probes() for suite in suites]
    if not all(probes) or len({of[0] for of in probes}) > 1:
        raise InputError("a prompt is needed: give --prompt, of a run that was watched with none")
    first, *others = probes[0]
    if others:
        say(
            f"watched with {len(others) + 1} prompts, of which this is the first; the others: "
            + ", ".join(map(hub.cache.probe_told, others))
        )
    return first


def _drawn(courses: Sequence[Course], view: View, figure: str, ending: str) -> bytes:
    from coupling_core import figures  # plotly

    runs = {course.suite.title: numbers(course, view) for course in courses}
    source = figures.training_source(courses, view)
    drawn = figures.by_step(runs, figure, view, source=source)
    return figures.render(drawn, ending, _results(courses)[-1], view)


def _facts(courses: Sequence[Course], view: View) -> dict[str, str | float]:
    """Whose the numbers of training runs are, and how their scores are looked at."""
    of, how = courses[0].request, reports.how_scored(view)
    return {"prompt": of.prompt_words, "K": how.pop("k"), **how, "final_norm": of.final_norm}


def _results(courses: Sequence[Course]) -> list[Result]:
    return [
        result
        for course in courses
        for part in (course.depth, course.paths, course.spectra or {})
        for result in part.values()
    ]


def _summary(courses: Sequence[Course], view: View, computed: Sequence[Result]) -> dict[str, Any]:
    """Every number, ready for JSON."""
    request = vars(courses[0].request)
    return {
        "stored": not computed,
        **_cost(computed),
        "key": [result.key for result in _results(courses)],
        # Of which model and revision, each suite says.
        "request": {name: of for name, of in request.items() if name not in ("model", "revision")},
        **reports.how_scored(view),
        "suites": [
            {
                "name": course.suite.name,
                "title": course.suite.title,
                "model": course.suite.repo,
                "missing": course.missing,
                "steps": [found.to_dict() for found in numbers(course, view)],
            }
            for course in courses
        ],
    }


def _cost(computed: Sequence[Result]) -> dict[str, float]:
    """Seconds of what was computed now."""
    names = ("seconds", "load_seconds")
    return {name: sum(result.provenance[name] for result in computed) for name in names}


def _show(courses: Sequence[Course], view: View, computed: Sequence[Result]) -> None:
    every = _results(courses)
    token = next((r.token_words(r.token) for c in courses for r in c.depth.values()), "none")
    print_facts(
        prompt=repr(every[-1].prompt_text),
        token=token,
        score=f"{reports.scored(view)}, means over l != l'",
        blocks=every[-1].final_norm_words,
    )
    verdict = kind_of("depth").part("views").course_verdict
    for course in courses:
        print_lines("", f"suite       {course.suite.title}. {verdict(course, view)}", "")
        print_frame(course.to_pandas(view))
    svds = [certificate.certified for result in every for certificate in result.svds]
    cost = _cost(computed)
    took = f"{cost['seconds']:.1f} s after {cost['load_seconds']:.1f} s of loading"
    of = f"{len(computed)} of {counted(len(every), 'result')}"
    print_lines("")
    print_facts(
        SVDs=f"{sum(svds)} of {len(svds)} certified",
        origin=f"{of} computed in {took}" if computed else "from the store",
    )
